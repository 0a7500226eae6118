import json

import pytest
from hypothesis import given

from hpc.io.errors import FormatError
from hpc.pipebd.profile_file import as_json, parse_profile, read_profile, write_profile
from tests.pipebd.profile_cases import FOLDER, SHIPPED, plain, profile_of, profiles, shipped

OPTIONAL = {
    "workload": "vgg16-dsconv",
    "dtype": "float32",
    "machine": {"host": "node7", "cpu": "some", "torch": "2", "mpi": "MPICH"},
    "steps": 100,
    "note": "by hand",
    "architecture_every": 5,
}


def with_everything():
    data = plain() | OPTIONAL
    for block in data["blocks"]:
        block["architecture_s"] = {"6": 0.5, "12": None}
    return data


def test_every_field_is_read():
    profile = profile_of(with_everything())
    assert (profile.batch, profile.load_s, profile.steps) == (12, 0.006, 100)
    assert (profile.workload, profile.dtype, profile.note) == ("vgg16-dsconv", "float32", "by hand")
    assert profile.machine["host"] == "node7"
    assert profile.relay_s == (0, 0.003, 0.003)
    assert profile.allreduce_s[3] == (0.0005, 0.0005, 0.0005)
    block = profile.blocks[2]
    assert (block.name, block.gradient_bytes, block.output_bytes) == ("b2", 40, 48)
    assert block.student_s[4] == pytest.approx(0.009)
    assert block.architecture_s == {6: 0.5, 12: None}
    assert profile.architecture_every == 5


@given(profiles())
def test_written_json_is_the_json_that_was_read(data):
    found = json.loads(json.dumps(as_json(profile_of(data))))
    assert found == data


def test_round_trip_with_all_optional_fields(tmp_path):
    profile = profile_of(with_everything())
    write_profile(tmp_path / "p.json", profile)
    assert read_profile(tmp_path / "p.json") == profile
    assert json.loads((tmp_path / "p.json").read_text()) == with_everything()


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profiles_are_read_and_say_what_they_are(name):
    profile = read_profile(FOLDER / f"{name}.json")
    assert (profile.batch, len(profile.blocks), len(profile.ranks)) == (256, 6, 4)
    assert "Made up" in profile.note
    assert json.loads(json.dumps(as_json(profile))) == shipped(name)


def changed(path, value):
    """The plain profile with one field replaced, or removed where value is KeyError."""
    data = plain()
    spot = data
    for key in path[:-1]:
        spot = spot[key]
    if value is KeyError:
        del spot[path[-1]]
    else:
        spot[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (["batch"], KeyError, "p.json has no 'batch'"),
        (["batch"], 0, "batch is 0; expected a whole number >= 1"),
        (["batch"], 2.5, "batch is 2.5; expected a whole number"),
        (["batch"], True, "batch is true"),
        (["ranks"], [], "ranks is []; expected a list with entries"),
        (["ranks", 0, "speed"], 0, "ranks[0].speed is 0; expected a number > 0"),
        (["ranks", 1, "speed"], KeyError, "ranks[1] has no 'speed'"),
        (["ranks", 0, "memory_bytes"], -1, "ranks[0].memory_bytes is -1"),
        (["blocks"], {}, "blocks is {}; expected a list"),
        (["blocks", 1], 3, "blocks[1] is 3; expected an object"),
        (["blocks", 1, "name"], 3, "blocks[1].name is 3; expected text"),
        (["blocks", 1, "teacher_s"], KeyError, "blocks[1] has no 'teacher_s'"),
        (["blocks", 1, "teacher_s"], {}, "blocks[1].teacher_s is empty"),
        (["blocks", 1, "teacher_s", "4"], -1, "blocks[1].teacher_s['4'] is -1; expected a finite"),
        (["blocks", 1, "teacher_s", "4"], float("nan"), "blocks[1].teacher_s['4'] is NaN"),
        (["blocks", 1, "teacher_s", "4"], "1", "blocks[1].teacher_s['4'] is \"1\""),
        (["blocks", 2, "student_s", "13"], 1, "has key '13'; expected a share size of 1..12"),
        (["blocks", 2, "student_s", "0"], 1, "has key '0'; expected a share size of 1..12"),
        (["blocks", 2, "memory_bytes", "x"], 1, "has key 'x'; expected a share size"),
        (["blocks", 0, "gradient_bytes"], 1.5, "blocks[0].gradient_bytes is 1.5"),
        (["blocks", 0, "output_bytes"], KeyError, "blocks[0] has no 'output_bytes'"),
        (["blocks", 0, "load_s"], KeyError, "blocks[0] has no 'load_s'"),
        (["allreduce_s", "2"], [0.1], "allreduce_s['2'] has 1 entries; expected 3, one per block"),
        (["allreduce_s", "two"], [0, 0, 0], "allreduce_s has key 'two'; expected a group size"),
        (["allreduce_s"], [1], "allreduce_s is [1]; expected an object"),
        (["relay_s"], [0, 1], "relay_s has 2 entries; expected 3"),
        (["relay_s", 0], 0.5, "relay_s[0] is 0.5; expected 0: block 0 has load_s"),
        (["relay_s", 1], float("inf"), "relay_s[1] is Infinity"),
        (["architecture_every"], 5, "blocks[0] has no 'architecture_s'"),
        (["steps"], -1, "steps is -1"),
        (["machine"], "here", 'machine is "here"; expected an object'),
    ],
)
def test_a_wrong_field_is_named(path, value, says):
    data = changed(path, value)
    with pytest.raises(FormatError) as caught:
        parse_profile(data, "p.json")
    assert says in str(caught.value)
    assert str(caught.value).startswith("p.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "not a profile: not JSON"),
        (b"\xff\xfe", "not a profile: not JSON"),
        (b"[]", "p.json is []; expected an object"),
        (None, "cannot be read (No such file or directory)"),
    ],
)
def test_files_that_are_no_profile(tmp_path, content, says):
    path = tmp_path / "p.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_profile(path)
    assert says in str(caught.value)
