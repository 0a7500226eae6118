"""Teacher files: torchvision's keys, whole or by block, and the files that are refused."""

from __future__ import annotations

import pytest
import torch

from hpc.io.errors import FormatError, InputError
from hpc.pipebd.teacher import load_teacher, teacher_state
from hpc.pipebd.workloads import workload

VGG16_CONVS = (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)
VGG16_BN_CONVS = (0, 3, 7, 10, 14, 17, 20, 24, 27, 30, 34, 37, 40)


def modules(built):
    return [*(pair.teacher for pair in built.pairs), built.head]


def small(seed=0, **options):
    return workload("vgg16-dsconv", width=1 / 16, seed=seed, **options)


@pytest.fixture
def teacher_file(tmp_path):
    path = tmp_path / "teacher.pt"
    torch.save(teacher_state(modules(small(seed=1))), path)
    return path


@pytest.mark.parametrize(("batch_norm", "convs"), [(False, VGG16_CONVS), (True, VGG16_BN_CONVS)])
def test_keys_are_those_of_torchvision(batch_norm, convs):
    built = workload("vgg16-dsconv", "imagenet", 1 / 64, 10, batch_norm=batch_norm)
    keys = {key for key in teacher_state(modules(built)) if key.endswith("bias")}
    norms = [n + 1 for n in convs] if batch_norm else []
    assert keys == {
        *(f"features.{n}.bias" for n in [*convs, *norms]),
        *(f"classifier.{n}.bias" for n in (0, 3, 6)),
    }


def test_load_gives_the_saved_weights_whole_and_by_block(teacher_file):
    saved, built, one = small(seed=1), small(seed=2), small(seed=2)
    load_teacher(teacher_file, modules(built))
    load_teacher(teacher_file, [one.pairs[5].teacher], whole=False)
    x = torch.randn(2, 3, 32, 32)
    for expected, found in zip(modules(saved), modules(built), strict=True):
        assert torch.equal(expected(x), found(x))
        x = expected(x)
    expected = saved.pairs[5].teacher.state_dict()
    assert all(torch.equal(v, expected[k]) for k, v in one.pairs[5].teacher.state_dict().items())


def test_teacher_stays_frozen(teacher_file):
    built = small()
    load_teacher(teacher_file, modules(built))
    assert not any(p.requires_grad for m in modules(built) for p in m.parameters())


def test_missing_and_unexpected_keys_are_listed(teacher_file):
    state = torch.load(teacher_file)
    state["features.99.weight"] = state.pop("features.3.weight")
    torch.save(state, teacher_file)
    words = "missing features.3.weight; unexpected features.99.weight"
    with pytest.raises(InputError, match=words):
        load_teacher(teacher_file, modules(small()))
    plain = modules(small(batch_norm=False))
    with pytest.raises(InputError, match=r"missing .* and 4 more; unexpected .* and 69 more"):
        load_teacher(teacher_file, plain)


def test_another_width_is_named_with_both_shapes(teacher_file):
    built = workload("vgg16-dsconv", width=1 / 8)
    with pytest.raises(InputError, match=r"features.0.weight has shape \(4, .*\(8, "):
        load_teacher(teacher_file, modules(built))


@pytest.mark.parametrize("content", [b"", b"not a file of torch", None])
def test_files_that_hold_no_state_dict(tmp_path, content):
    path = tmp_path / "bad.pt"
    if content is None:
        torch.save([1, 2], path)
    else:
        path.write_bytes(content)
    with pytest.raises(FormatError, match="bad"):
        load_teacher(path, modules(small()))


def test_no_such_file(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        load_teacher(tmp_path / "absent.pt", modules(small()))


def test_a_file_that_would_run_code_is_refused(tmp_path):
    torch.save({"features.0.weight": print}, tmp_path / "code.pt")
    with pytest.raises(FormatError, match="code"):
        load_teacher(tmp_path / "code.pt", modules(small()))
