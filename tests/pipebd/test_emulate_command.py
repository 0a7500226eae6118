"""Emulated runs: the order of events in their traces, and the sizes of the messages."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from hpc.comm.buffers import Transport
from hpc.comm.waiting import Sleeping
from hpc.command_line import build_parser
from hpc.io.errors import InputError
from hpc.pipebd.emulation import EmulatedProgram
from hpc.pipebd.names import choose
from hpc.pipebd.pipeline import Pipeline
from hpc.pipebd.recorder import NullRecorder
from hpc.pipebd.work import Round
from hpc.report.trace import read_trace
from tests.launching import run_ranks
from tests.pipebd.profile_cases import FOLDER, SHIPPED, plain, profile_of

STEPS = 4


@pytest.fixture(scope="module", params=["ahd", "tr"])
def emulated(request, tmp_path_factory):
    """Return schedule, trace and figures of a run on 4 ranks that sleep."""
    folder = tmp_path_factory.mktemp("emulated")
    done = run_ranks(
        4, "-m", "hpc", "pipebd", "train", "--emulate", FOLDER / "a6000.json", "--schedule",
        request.param, "--steps", STEPS, "--trace", folder / "t.json", "--json", folder / "f.json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "predicted" in done.stdout
    figures = json.loads((folder / "f.json").read_text())
    return request.param, read_trace(folder / "t.json"), figures


def spans_of(trace, **wanted):
    return [s for s in trace.spans if all(getattr(s, k) == v for k, v in wanted.items())]


def test_the_schedule_is_the_predicted_one(emulated):
    name, trace, figures = emulated
    if name == "ahd":
        assert figures["schedule"] == SHIPPED["a6000"]
        assert figures["predicted_step_s"] == pytest.approx(0.0377)
        assert figures["compute_s"] == pytest.approx(0.0375)
    assert figures["steps"] == STEPS
    assert trace.about["schedule"] == figures["schedule"]


def test_a_rank_does_teachers_then_students_of_all_its_blocks(emulated):
    _, trace, _ = emulated
    for rank in range(4):
        blocks = sorted({s.block for s in spans_of(trace, rank=rank, kind="teacher")})
        for step in range(STEPS):
            mine = spans_of(trace, rank=rank, step=step)
            order = [(s.kind, s.block) for s in mine if s.kind in ("teacher", "student")]
            assert order == [(k, b) for k in ("teacher", "student") for b in blocks]


def test_input_arrives_after_the_teachers_before_have_made_it(emulated):
    _, trace, _ = emulated
    received = [s for s in trace.spans if s.kind == "receive"]
    assert len(received) >= STEPS
    for span in received:
        for made in spans_of(trace, kind="teacher", step=span.step, block=span.block - 1):
            assert made.end_s <= span.end_s


def test_with_a_barrier_nobody_updates_before_all_students_are_done(emulated):
    name, trace, _ = emulated
    assert bool(spans_of(trace, kind="barrier")) == (name == "tr")
    if name == "tr":
        for step in range(STEPS):
            done = max(s.end_s for s in spans_of(trace, kind="student", step=step))
            assert all(s.start_s >= done for s in spans_of(trace, kind="update", step=step))


def test_without_a_barrier_an_update_follows_its_own_student_at_once(emulated):
    name, trace, _ = emulated
    if name == "ahd":
        for rank in range(4):
            kinds = [s.kind for s in spans_of(trace, rank=rank)]
            after = [b for a, b in pairwise(kinds) if a == ("student" if rank == 3 else "reduce")]
            assert set(after) == {"update"}


def test_groups_reduce_and_single_ranks_do_not(emulated):
    name, trace, _ = emulated
    reducing = {s.rank for s in spans_of(trace, kind="reduce")}
    assert reducing == ({0, 1, 2} if name == "ahd" else set())


class CountingTransport(Transport):
    """Notes the size of every message sent."""

    def __init__(self):
        super().__init__("host", waiting=Sleeping())
        self.sent = []

    def sender(self, *args, **options):
        link = super().sender(*args, **options)
        send = link.send

        def counted(buffer):
            self.sent.append(buffer.nbytes)
            send(buffer)

        link.send = counted
        return link


@pytest.mark.mpi
def test_what_is_relayed_has_the_profiled_size(comm):
    data = plain(n_blocks=4, n_ranks=comm.size)
    for block, size in zip(data["blocks"], (1200, 2400, 12, 36), strict=True):
        block["output_bytes"] = size
    data["blocks"][0]["load_s"] = 0
    profile = profile_of(data | {"allreduce_s": {"2": [0] * 4}}).for_ranks(comm.size)
    schedule = choose("tr+dpu", 4, comm.size, profile.batch).schedule
    transport = CountingTransport()
    program = EmulatedProgram(profile, comm.rank, transport.poll)
    pipeline = Pipeline(comm, schedule, program, transport, NullRecorder())
    pipeline.run([Round(number, 0, number) for number in range(3)])
    pipeline.free()
    last = schedule.groups[comm.rank].blocks.stop - 1
    expected = [] if last == 3 else [data["blocks"][last]["output_bytes"]] * 3
    assert transport.sent == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "x.pt"], "leave out --out"),
        (["--data", "x.h5", "--teacher", "t.pt"], "leave out --data, --teacher"),
        (["--steps", "0"], "--steps 0"),
        (["--schedule", "0-5@0 3@1"], "schedule"),
        (["vgg16-dsconv"], "profile of workload 'mobilenetv2-proxyless', not 'vgg16-dsconv'"),
    ],
)
def test_bad_input(options, message):
    mpi = pytest.importorskip("mpi4py.MPI")
    args = build_parser().parse_args(
        ["pipebd", "train", "--emulate", str(FOLDER / "a6000.json"), *options]
    )
    with pytest.raises(InputError, match=message):
        args.run(args, mpi.COMM_SELF)
