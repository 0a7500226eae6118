"""What the published code gets wrong or leaves out, bug by bug; some have their tests elsewhere.

1 only some numbers of ranks and blocks, and 3 results that depend on the schedule:
  test_same_weights. 6 profiles on zeros: test_profiling. 7 no validation: test_validation.
"""

from __future__ import annotations

import pytest
import torch
from mpi4py import MPI
from torch.utils._python_dispatch import TorchDispatchMode

from hpc.comm.buffers import Transport
from hpc.pipebd.data import ImageBatches
from hpc.pipebd.execution import NoHooks, execute
from hpc.pipebd.names import choose
from hpc.pipebd.pipeline import Pipeline
from hpc.pipebd.recorder import NullRecorder
from hpc.pipebd.reducer import Alone
from hpc.pipebd.rounds import run_rounds, training_steps
from hpc.pipebd.work import Round
from tests.pipebd.small_program import SmallProgram, SmallWork
from tests.pipebd.small_runs import NAS, VGG, job_of, opened_program, write_images


def test_2_architecture_gradients_reach_every_block_of_a_rank(tmp_path):
    path = write_images(tmp_path / "x.h5", n_train=16, side=16)
    with opened_program(path, NAS, torch.float32, 4) as (program, _):
        pipeline = Pipeline(
            MPI.COMM_SELF, choose("0-5@0", 6, 1, 4).schedule, program, Transport(), NullRecorder()
        )
        pipeline.run([turn for turn in program.epochs[1] if turn.architecture][:1])
        moved = [work.pair.student.alpha.abs().max().item() for work in pipeline.works]
        pipeline.free()
    assert min(moved) > 0


def test_3_teachers_stay_in_eval_mode(tmp_path):
    path = write_images(tmp_path / "x.h5", n_train=16)
    with opened_program(path, VGG, torch.float32, 4, max_steps=2) as (program, _):
        before = [dict(pair.teacher.state_dict()) for pair in program.pairs]
        execute(job_of(MPI.COMM_SELF, program, "ir"), NoHooks())
        for pair, state in zip(program.pairs, before, strict=True):
            assert not any(module.training for module in pair.teacher.modules())
            after = pair.teacher.state_dict()
            assert all(torch.equal(after[key], value) for key, value in state.items())


class Counting(SmallWork):
    """Notes how many samples each teacher and student sees."""

    def __init__(self, *args):
        super().__init__(*args)
        self.taught, self.trained = [], []

    def teacher(self, x):
        self.taught.append(len(x))
        return super().teacher(x)

    def student(self, x, target):
        self.trained.append(len(x))
        return super().student(x, target)


@pytest.mark.mpi
@pytest.mark.parametrize("batch", [4, 8, 13])
def test_4_no_sample_is_dropped_by_a_split(comm, batch):
    for asked in ("ir", f"0@0-{comm.size - 2} 1-2@{comm.size - 1}" if comm.size > 1 else "0-2@0"):
        schedule = choose(asked, 3, comm.size, batch).schedule
        program = SmallProgram(batch, Counting)
        pipeline = Pipeline(comm, schedule, program, Transport(), NullRecorder())
        pipeline.run([Round(number, 0, number) for number in range(2)])
        seen = comm.allreduce([(w.index, w.taught, w.trained) for w in pipeline.works])
        pipeline.free()
        for block in range(3):
            for place in (1, 2):
                shares = [counts[place] for counts in seen if counts[0] == block]
                assert [sum(step) for step in zip(*shares, strict=True)] == [batch, batch]


def test_5_step_counts_are_one_list_that_all_ranks_share():
    epochs = run_rounds(3, 4, lambda epoch, step, epochs: epoch > 0 and step % 2 == 1)
    assert [turn.number for epoch in epochs for turn in epoch] == list(range(16))
    assert [len(epoch) for epoch in epochs] == [4, 6, 6]
    assert [(t.epoch, t.step) for t in epochs[1] if t.architecture] == [(1, 1), (1, 3)]
    assert training_steps(epochs) == 12
    cut = run_rounds(3, 4, max_steps=6)
    assert [len(epoch) for epoch in cut] == [4, 2]
    assert cut[1][1].progress == 5 / 6
    with_progress = [turn.progress for epoch in epochs for turn in epoch if not turn.architecture]
    assert with_progress == pytest.approx([step / 12 for step in range(12)])


@pytest.mark.mpi
def test_5_every_epoch_has_its_order_and_only_the_first_group_loads(comm, shared_tmp, monkeypatch):
    loaded = []
    load = ImageBatches.load

    def noted(self, epoch, step):
        batch = load(self, epoch, step)
        loaded.append((epoch, step, batch.labels.tolist()))
        return batch

    monkeypatch.setattr(ImageBatches, "load", noted)
    if comm.rank == 0:
        write_images(shared_tmp / "x.h5", n_train=9)
    comm.Barrier()
    with opened_program(shared_tmp / "x.h5", VGG, torch.float32, 4, max_steps=6) as (program, _):
        asked = f"0-5@0-{comm.size - 2} 6-12@{comm.size - 1}" if comm.size > 1 else "0-12@0"
        execute(job_of(comm, program, asked), NoHooks())
    everybodys = comm.allgather(loaded)
    firsts = max(1, comm.size - 1)
    assert not any(everybodys[firsts:])
    for rank in range(firsts):
        assert [key[:2] for key in everybodys[rank]] == [(e, s) for e in range(3) for s in (0, 1)]
    orders = [
        [label for s in (0, 1) for rank in everybodys[:firsts] for label in rank[2 * e + s][2]]
        for e in range(3)
    ]
    assert len(set(map(tuple, orders))) == 3


class Reads(TorchDispatchMode):
    """Counts how often a number is read from the device."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function is torch.ops.aten._local_scalar_dense.default
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("architecture", [False, True])
def test_8_a_round_reads_no_number_from_the_device(tmp_path, architecture):
    path = write_images(tmp_path / "x.h5", n_train=16, side=16)
    with opened_program(path, NAS, torch.float32, 4) as (program, _):
        x = next(program.feed(range(4)).inputs(program.epochs[0]))
        work = program.work(0, Alone())
        work.begin(Round(0, 0, 0))
        reads = Reads()
        for number in range(2):
            with reads:
                work.begin(Round(number, 0, number, 0.0, architecture))
                work.student(x, work.teacher(x))
            work.update()  # Adam counts its steps on the host
        assert reads.count == 0


def test_8_the_count_counts():
    with Reads() as reads:
        torch.ones(()).item()
    assert reads.count == 1
