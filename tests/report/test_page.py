"""The page of a run: its numbers are those of the files, its script runs, it needs no network."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from hpc.io.errors import FormatError, InputError
from hpc.report.page import work_kinds
from hpc.report.page.html import page_of
from hpc.report.page.of_traffic import traffic_pictures
from hpc.report.page.of_training import readings_of
from hpc.report.page.pictures import pictures_of
from hpc.report.page.run_data import RunData, read_run
from tests.launching import run_alone
from tests.report.browser import CHROMIUM, browsed
from tests.report.page_reader import Page
from tests.report.reporting import command, figures, page


def events(folder, kind):
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def by_rank(found, kinds):
    """Return the rows that a table of times has: rank, seconds, their sum."""
    rows = zip(*(found[kind] for kind in kinds), strict=True)
    return [[rank, *row, pytest.approx(sum(row))] for rank, row in enumerate(rows)]


def test_the_numbers_of_a_training_are_those_of_the_files(trained):
    run, found, _ = trained
    tables = page(run).tables
    fields = ("epoch", "loss", "validation_loss")
    assert tables["loss"] == [[e[f] for f in fields] for e in found["history"]]
    fields = ("epoch", "accuracy", "validation_accuracy")
    assert tables["accuracy"] == [[e[f] for f in fields] for e in found["history"]]
    readings = events(run, "progress")
    for name, field in (("step-loss", "loss"), ("rate", "rate"), ("waiting", "wait")):
        assert tables[name] == [[e["step"], e[field]] for e in readings if e["step"]]
    assert tables["time"] == by_rank(found, ["compute_s", "pack_s", "wait_s", "validate_s"])
    traffic = figures(run, "traffic")
    assert tables["pairs"] == [[str(r), *row] for r, row in enumerate(traffic["pairs"])]
    for field in ("words", "messages"):
        ours, random = (traffic["layers"][f"{which}{field}"] for which in ("", "random_"))
        rows = [[k, *pair] for k, pair in enumerate(zip(ours, random, strict=True), 1)]
        assert tables[field] == [*rows, ["all", sum(ours), sum(random)]]


def test_the_numbers_of_a_relay_are_those_of_the_files(relayed):
    found, read = figures(relayed), page(relayed)
    kinds = [kind for kind in found["kinds_s"] if any(found["kinds_s"][kind])]
    shown = read.heads["time"][1:-1]
    assert sorted(head.split()[0] for head in shown) == sorted(kinds)
    assert read.tables["time"] == by_rank(found["kinds_s"], [head.split()[0] for head in shown])
    step = [1e3 * found["predicted_step_s"], 1e3 * found["step_s"]]
    assert read.tables["predicted-step"] == [["step", *step]]
    idle = zip(found["predicted_idle"], found["idle"], strict=True)
    assert read.tables["predicted-idle"] == [[rank, *pair] for rank, pair in enumerate(idle)]
    pairs = figures(relayed, "traffic")["pairs"]
    assert read.tables["pairs"] == [[str(r), *row] for r, row in enumerate(pairs)]
    assert [row[0] for row in read.tables["timeline"]] == [0, 1, 2, 3]


def test_a_batch_stands_beside_its_prediction(inferred, tmp_path):
    predicted = {
        "kind": "inference", "batch": 256, "parts": [2, 4], "batch_s": [0.006, 0.004],
        "compute_s": [0.003, 1.0], "latency_s": [0.001, 1.0], "bandwidth_s": [0.0005, 1.0],
        "imbalance_s": [0.0015, 1.0], "layer_s": [[0.003, 0.002, 0.001], [0.004, 0, 0]],
    }  # fmt: skip
    (tmp_path / "p.json").write_text(json.dumps(predicted))
    table = page(inferred, "--predicted", tmp_path / "p.json").tables["predicted-batch"]
    found, batches = figures(inferred), 8  # of 2,000 digits, 256 at a time
    rows = {row[0]: row[1:] for row in table}
    assert rows["compute"] == pytest.approx([3.0, 1e3 * sum(found["compute_s"]) / 2 / batches])
    assert rows["messages"] == [pytest.approx(1.5), None] and rows["wait"][0] is None
    assert rows["all"][0] == pytest.approx(6.0)


def test_what_is_shown_is_the_value_rounded(trained):
    read = page(trained[0])
    seen = 0
    for name, rows in read.tables.items():
        for values, texts in zip(rows, read.shown[name], strict=True):
            for value, text in zip(values, texts, strict=True):
                if isinstance(value, float):
                    share = 0.01 if text.endswith("%") else 1
                    number = float(text.replace(",", "").removesuffix("%")) * share
                    assert number == pytest.approx(value, rel=2e-2, abs=6e-4)
                    seen += 1
    assert seen > 50


def test_it_needs_no_network(trained):
    text = trained[0].with_suffix(".html")
    command(trained[0], "--html", text)
    read = Page(text.read_text(encoding="utf-8"))
    assert all(link.startswith(("#", "data:")) for link in read.links)
    assert not re.search(r"@import|url\((?!#)|https?://(?!www\.w3\.org/2000/svg)", text.read_text())
    anchors = {link[1:] for link in read.links if link.startswith("#")}
    assert anchors == set(read.tables)
    assert all(read.svgs[name] == 2 for name in anchors)  # for wide pages and for narrow ones


def test_a_run_that_was_killed_and_has_but_a_log(trained, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    about = figures(trained[0], "run") | {"status": "running"}
    (run / "run.json").write_text(json.dumps(about))
    lines = (trained[0] / "log.jsonl").read_text().splitlines()
    kept = [line for line in lines if '"event": "figures"' not in line and '"end"' not in line]
    (run / "log.jsonl").write_text("\n".join(kept) + '\n{"event": "prog')
    tables = page(run).tables
    assert set(tables) == {"loss", "accuracy", "step-loss", "rate", "waiting"}
    assert tables["loss"] == page(trained[0]).tables["loss"]
    assert "not ended, as far as is known" in run.with_suffix(".html").read_text()


def test_a_run_of_which_nothing_is_known_but_that_it_was(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text('{"format": "relaycut-run", "version": 1}')
    assert page(run).tables == {}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("run.json", None, "holds no run"),
        ("run.json", "{", "damaged, not JSON"),
        ("figures.json", "[1]", "expected a JSON object"),
        ("figures.json", '{"compute_s": [1.0, "x"]}', "figures damaged or of another"),
        ("traffic.json", '{"pairs": 3}', "figures damaged or of another"),
        (
            "traffic.json",
            '{"pairs": [[1]], "layers": {"words": [1]}}',
            "figures damaged or of another",
        ),
        ("traffic.json", '{"pairs": [[1, 2], []]}', "figures damaged or of another"),
        ("trace.json", "{}", "not a trace"),
        ("log.jsonl", "x\n{}\n", "line 1 is not JSON"),
        ("log.jsonl", "3\n", "line 1 is no JSON object"),
    ],
)
def test_bad_folders_end_with_one_message(relayed, tmp_path, name, text, says):
    run = tmp_path / "run"
    shutil.copytree(relayed, run)
    if text is None:
        (run / name).unlink()
    else:
        (run / name).write_text(text)
    ran = run_alone("-m", "hpc", "report", run, "--html", tmp_path / "out.html")
    assert ran.returncode == 2 and not (tmp_path / "out.html").exists()
    (line,) = ran.stderr.splitlines()
    assert line.startswith("hpc: error: ") and says in line


def test_bad_usage(trained, tmp_path):
    with pytest.raises(InputError, match="give --html FILE"):
        command(trained[0])
    with pytest.raises(InputError, match="does not exist"):
        command(trained[0], "--html", tmp_path / "no" / "x.html")
    with pytest.raises(FormatError, match="no such folder"):
        command(tmp_path / "nowhere", "--html", tmp_path / "x.html")
    for name in ("figures.json", "run.json"):
        with pytest.raises(InputError, match=f"would replace the file that '{name}' names"):
            command(trained[0], "--html", trained[0] / name)


def test_words_of_a_run_are_no_html(tmp_path):
    odd = "<script>alert('&')</script>"
    events = ({"event": "epoch", "epoch": 1, "loss": 1.0},)
    run = RunData({"command": odd, "line": odd, "options": {odd: odd}}, {"schedule": odd}, events)
    text = page_of(run, pictures_of(run))
    assert "alert('&')" not in text and "&lt;script&gt;alert" in text


def test_readings_that_were_thrown_away_at_a_checkpoint():
    steps = [5, 10, 15, 20, 12, 17, 22]  # stopped after 20, gone on with from 10
    log = tuple({"event": "progress", "what": "train", "step": s, "rate": 1.0} for s in steps)
    run = RunData({}, {}, ({"event": "progress", "what": "profile", "step": 1}, *log))
    assert [event["step"] for event in readings_of(run)] == [5, 10, 12, 17, 22]


def test_greys_are_the_kinds_in_which_a_rank_waits():
    from hpc.pipebd import recorder
    from hpc.spdnn.run_figures import KINDS as OF_SPARSE

    assert set(work_kinds.WAITING) == {"wait", *recorder.WAITING}
    assert {*recorder.Kind, *OF_SPARSE} == set(work_kinds.KINDS)


def test_of_many_ranks_neighbours_share_a_cell():
    pairs = [[r * 100 + c for c in range(100)] for r in range(100)]
    (picture,) = traffic_pictures(RunData({}, {}, (), {"unit": "words per input", "pairs": pairs}))
    cells = picture.chart.values
    assert picture.chart.step == 4 and len(cells) == 25 and len(cells[0]) == 25
    assert cells[1][2] == sum(pairs[r][c] for r in range(4, 8) for c in range(8, 12))
    assert sum(map(sum, cells)) == sum(map(sum, pairs))
    sent, received = ([row[i] for row in picture.table.rows] for i in (1, 2))
    assert sent == [sum(row) for row in pairs]
    assert received == [sum(row[c] for row in pairs) for c in range(100)]


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_pictures_for_papers(trained, relayed, tmp_path, kind):
    pytest.importorskip("matplotlib")
    for run in (trained[0], relayed):
        folder = tmp_path / run.parent.name
        command(run, f"--{kind}", folder)
        names = {path.stem for path in folder.iterdir()}
        assert names == {picture.name for picture in pictures_of(read_run(run))}
        begins = b"\x89PNG" if kind == "png" else b"<?xml"
        assert all(path.read_bytes().startswith(begins) for path in folder.iterdir())


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.parametrize("which", ["trained", "relayed"])
def test_the_console_has_nothing_to_say(which, request, tmp_path):
    found = request.getfixturevalue(which)
    run = found if which == "relayed" else found[0]
    out = tmp_path / "page.html"
    command(run, "--html", out)
    said, document = browsed(out, tmp_path, "--dump-dom", "--window-size=1200,900")
    assert said == []
    if which == "relayed":  # its script has drawn
        drawn = document[document.index('<section class="picture wide"') :]
        assert drawn.count('class="block student') > 10 and "rank 3" in drawn
        assert drawn.count("<button") == 6


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
@pytest.mark.parametrize(("theme", "dark"), [(0, True), (1, False)])
def test_light_and_dark(trained, tmp_path, theme, dark):
    pillow = pytest.importorskip("PIL.Image")
    out, shot = tmp_path / "page.html", tmp_path / "shot.png"
    command(trained[0], "--html", out)
    options = (f"--screenshot={shot}", f"--blink-settings=preferredColorScheme={theme}")
    said, _ = browsed(out, tmp_path, *options, "--window-size=420,900")
    assert said == []
    assert (sum(pillow.open(shot).convert("RGB").getpixel((2, 2))) < 200) is dark
