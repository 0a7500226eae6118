"""`spdnn train`: files in, a trained network out."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from typing import Any

from mpi4py import MPI

from hpc.cli.config import with_config
from hpc.comm.checkpointing import Stopped, say_stopped
from hpc.comm.replicas import group_size
from hpc.comm.standing import Standing
from hpc.comm.surroundings import surroundings
from hpc.comm.watchdog import watched
from hpc.comm.world import owned, together
from hpc.io.outputs import check_outputs
from hpc.io.samples import open_samples
from hpc.report.checkpoint_options import checkpoint_options
from hpc.report.figures import quantity, write_json
from hpc.report.record import Record, recorded
from hpc.report.stall_option import stall_seconds
from hpc.report.watch_options import check_watching
from hpc.spdnn.first_use import TRAINING, tell_compiling
from hpc.spdnn.kernel_choice import choose_kernel
from hpc.spdnn.load import Loaded, load_shard
from hpc.spdnn.position import Epoch
from hpc.spdnn.run_figures import describe_run, per_rank, rank_table, ranks_text
from hpc.spdnn.save import save_trained
from hpc.spdnn.traffic_figures import keep_traffic
from hpc.spdnn.training import Training, TrainOptions, train

COMMAND = "spdnn train"


def run(args: argparse.Namespace, world: MPI.Comm) -> int:
    """Run the command. Collective over `world`.

    Parameters
    ----------
    args : argparse.Namespace
        The options of `spdnn train`.
    world : MPI.Comm
        All ranks of the job, duplicated here.

    Returns
    -------
    int
        Exit code, the same on all ranks: 0, or that of a run that was asked to stop.

    Raises
    ------
    AgreedError : on all ranks: options, files or a plan that cannot be used, a loss that is not
        finite.
    """
    try:
        return _run(args, world)
    except Stopped as stopped:
        return say_stopped(world, stopped)


def _run(args: argparse.Namespace, world: MPI.Comm) -> int:
    options = TrainOptions(
        args.epochs,
        args.batch,
        args.lr,
        args.loss,
        args.optimizer,
        args.gradient,
        args.validation,
        args.seed,
    )
    with owned(world) as comm:
        with together(comm):
            options.check()
            group_size(comm.size, args.replicas)
            checkpoint = checkpoint_options(args)
            stall_s = stall_seconds(args)
            steps = _check(args, comm.rank)
            if comm.rank == 0:
                check_watching(args, COMMAND)
        local = choose_kernel(comm, args.kernel, args.device, args.threads)
        loaded = load_shard(comm, args.network, args.plan, args.dtype, args.replicas)
        if comm.rank == 0 and not args.quiet:
            tell_compiling(local, loaded.shard.dtype, TRAINING)
        first, standing = comm.rank == 0, Standing()
        with recorded(args, COMMAND, surroundings(comm), first) as record:
            with (
                record.watch("train", steps, "inputs", args.batch) as advance,
                watched(comm, standing, stall_s),
            ):
                result = train(
                    comm,
                    loaded.shard,
                    args.inputs,
                    options,
                    test=args.test,
                    kernel=local,
                    replicas=args.replicas,
                    checkpoint=checkpoint,
                    on_epoch=partial(_tell_epoch, record) if first else lambda epoch: None,
                    progress=advance,
                    standing=standing,
                    gauges=record.gauges,
                )
            if args.out:
                save_trained(
                    comm, args.out, loaded.shard, result.values, result.biases, args.replicas
                )
            described = describe_run(comm, args, local, loaded.shard)
            keep_traffic(comm, args, loaded, record)
            _report(args, comm, loaded, result, described, record)
    return 0


def _check(args: argparse.Namespace, rank: int) -> int:
    """Find what is wrong before any work; return the number of steps."""
    if rank == 0:
        check_outputs(vars(args), ["out", "json"])
    return int(args.epochs * -(-_n_training(args) // args.batch))


def _n_training(args: argparse.Namespace) -> int:
    with open_samples(args.inputs) as samples:
        n_samples = samples.header.n_samples
    return n_samples - round(n_samples * args.validation)


def _tell_epoch(record: Record, epoch: Epoch) -> None:
    _say_epoch(epoch)
    values = asdict(epoch)
    record.epoch(values.pop("epoch"), **values)


def _say_epoch(epoch: Epoch) -> None:
    held_out = ""
    if epoch.validation_loss is not None:
        held_out = (
            f"   validation loss {epoch.validation_loss:.4f}"
            f"  accuracy {100 * (epoch.validation_accuracy or 0):5.2f} %"
        )
    print(
        f"epoch {epoch.epoch:3d}  loss {epoch.loss:.4f}  accuracy {100 * epoch.accuracy:5.2f} %"
        f"{held_out}  {epoch.seconds:.2f} s",
        flush=True,
    )


def _report(
    args: argparse.Namespace,
    comm: MPI.Comm,
    loaded: Loaded,
    result: Training,
    described: dict[str, Any],
    record: Record,
) -> None:
    ranks = per_rank(comm, loaded, result.clock)
    if ranks is None:
        return
    trained = args.epochs * _n_training(args)
    figures = {
        "command": COMMAND, **described, **_figures(result, described, trained), **ranks,
    }  # fmt: skip
    if result.test_accuracy is not None:
        print(f"test accuracy {100 * result.test_accuracy:.2f} %")
    rate = quantity(figures["edges_per_s"], "edges/s")
    print(f"{result.steps} steps on {ranks_text(figures)}, {figures['seconds']:.3f} s, {rate}")
    print(rank_table(figures))
    figures = with_config(args, figures)
    record.figures(figures)
    if args.json:
        write_json(args.json, figures)


def _figures(result: Training, described: dict[str, Any], trained: int) -> dict[str, Any]:
    """Edges per second count each weight once per input and step, forward and backward together.

    trained : inputs, over all epochs.
    """
    seconds = sum(epoch.seconds for epoch in result.history)
    return {
        "steps": result.steps,
        "steps_before": result.steps_before,
        "seconds": seconds,
        "edges_per_s": described["edges"] * trained / seconds,
        "history": [asdict(epoch) for epoch in result.history],
        "test_accuracy": result.test_accuracy,
        "volume_words": result.forward.words_sent / max(1, result.forwarded),
        "messages": result.forward.messages_sent / max(1, result.passes),
        "checkpoints": result.checkpoints,
        "words_sent": result.forward.words_sent + result.backward.words_sent,
        "messages_sent": result.forward.messages_sent + result.backward.messages_sent,
    }
