"""`spdnn infer`: files in, categories or scores out."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.cli.config import with_config
from hpc.comm.replicas import group_size
from hpc.comm.standing import Standing
from hpc.comm.surroundings import surroundings
from hpc.comm.watchdog import watched
from hpc.comm.world import owned, together
from hpc.io.aside import written_aside
from hpc.io.categories import read_categories, write_categories
from hpc.io.errors import InputError
from hpc.io.outputs import check_outputs
from hpc.io.samples import open_samples
from hpc.report.figures import quantity, write_json
from hpc.report.record import Record, recorded
from hpc.report.stall_option import stall_seconds
from hpc.report.watch_options import check_watching
from hpc.spdnn.first_use import INFERENCE, tell_compiling
from hpc.spdnn.inference import Inference, infer
from hpc.spdnn.kernel_choice import choose_kernel
from hpc.spdnn.load import Loaded, load_shard
from hpc.spdnn.run_figures import describe_run, per_rank, rank_table, ranks_text
from hpc.spdnn.scores import ScoreSink
from hpc.spdnn.traffic_figures import keep_traffic

Longs = npt.NDArray[np.int64]
COMMAND = "spdnn infer"


def run(args: argparse.Namespace, world: MPI.Comm) -> int:
    """Run the command. Collective over `world`.

    Parameters
    ----------
    args : argparse.Namespace
        The options of `spdnn infer`.
    world : MPI.Comm
        All ranks of the job, duplicated here.

    Returns
    -------
    int
        Exit code, the same on all ranks: 0, or 1 if the categories differ from those given.

    Raises
    ------
    AgreedError : on all ranks: options, files or a plan that cannot be used.
    """
    with owned(world) as comm:
        with together(comm):
            group_size(comm.size, args.replicas)
            n_samples, truth = _check(args, comm.rank)
            stall_s = stall_seconds(args)
            if comm.rank == 0:
                check_watching(args, COMMAND)
        local = choose_kernel(comm, args.kernel, args.device, args.threads)
        loaded = load_shard(comm, args.network, args.plan, args.dtype, args.replicas)
        if comm.rank == 0 and not args.quiet:
            tell_compiling(local, loaded.shard.dtype, INFERENCE)
        standing = Standing("input")
        with recorded(args, COMMAND, surroundings(comm), comm.rank == 0) as record:
            with (
                record.watch("infer", n_samples, "inputs") as advance,
                _score_sink(args, comm) as sink,
                watched(comm, standing, stall_s),
            ):
                result = infer(
                    comm,
                    loaded.shard,
                    args.inputs,
                    batch=args.batch,
                    scores=sink,
                    kernel=local,
                    merge=not args.no_merge,
                    replicas=args.replicas,
                    waves=args.waves,
                    progress=advance,
                    standing=standing,
                    gauges=record.gauges,
                )
            described = describe_run(comm, args, local, loaded.shard)
            keep_traffic(comm, args, loaded, record)
            return _report(args, comm, loaded, result, truth, described, record)


def _check(args: argparse.Namespace, rank: int) -> tuple[int, Longs | None]:
    """Find what is wrong before any work; return the samples' number and the truth."""
    if args.scores and not args.out:
        raise InputError("--scores needs --out FILE")
    if rank == 0:
        check_outputs(vars(args), ["out", "json"])
    with open_samples(args.inputs) as samples:
        n_samples = samples.header.n_samples
        if args.categories == "kept":
            return n_samples, samples.categories()
    if args.categories is None:
        return n_samples, None
    truth = read_categories(args.categories)
    return n_samples, truth[truth <= n_samples]


@contextlib.contextmanager
def _score_sink(args: argparse.Namespace, comm: MPI.Comm) -> Iterator[ScoreSink | None]:
    """Yield what writes scores to --out on rank 0, batch by batch; None where not asked for."""
    if not args.scores:
        yield None
    elif comm.rank:
        yield lambda start, values: None
    else:
        with written_aside(args.out) as partial, open(partial, "w", encoding="ascii") as file:
            yield lambda start, values: _write_scores(file, start, values)


def _write_scores(file: TextIO, start: int, values: npt.NDArray[np.floating]) -> None:
    digits = 9 if values.dtype == np.float32 else 17
    for number, row in enumerate(values.tolist(), start + 1):
        file.write("\t".join([str(number), *(f"{value:.{digits}g}" for value in row)]) + "\n")


def _report(
    args: argparse.Namespace,
    comm: MPI.Comm,
    loaded: Loaded,
    result: Inference,
    truth: Longs | None,
    described: dict[str, Any],
    record: Record,
) -> int:
    ranks = per_rank(comm, loaded, result.clock)
    differ = truth is not None and not np.array_equal(truth, result.categories)
    if ranks is not None:
        figures = {"command": COMMAND, **described, **_figures(result, described), **ranks}
        if args.out and not args.scores:
            write_categories(args.out, result.categories.tolist())
        if truth is not None:
            figures["categories_agree"] = not differ
        _say(figures, truth, result.categories)
        figures = with_config(args, figures)
        record.figures(figures)
        if args.json:
            write_json(args.json, figures)
    return int(differ)


def _figures(result: Inference, described: dict[str, Any]) -> dict[str, Any]:
    """Volume is forward, per input (those that fill a last panel among them), messages per pass.

    columns : that went through each layer; computed : their share of all. Where every column
    is computed, in one wave, volume and messages are those of `partition stats`. Where equal
    ones are merged, the volume is the plan's words of each layer times its columns, over the
    images; each wave sends the plan's messages.
    """
    counted, layers, inputs = result.counted, len(result.columns), int(result.columns[0])
    return {
        "images": result.n_samples,
        "seconds": result.seconds,
        "edges_per_s": described["edges"] * result.n_samples / result.seconds,
        "categories": len(result.categories),
        "volume_words": counted.words_sent / inputs,
        "messages": counted.messages_sent / result.passes,
        "columns": result.columns.tolist(),
        "computed": float(result.columns.sum() / (inputs * layers)),
        "words_sent": counted.words_sent,
        "words_received": counted.words_received,
        "messages_sent": counted.messages_sent,
    }


def _say(figures: dict[str, Any], truth: Longs | None, found: Longs) -> None:
    print(
        f"{figures['images']} images on {ranks_text(figures)}: "
        f"{figures['categories']} categories, {figures['seconds']:.3f} s, "
        f"{quantity(figures['edges_per_s'], 'edges/s')}"
    )
    if figures["computed"] < 1:
        print(
            f"computed {100 * figures['computed']:.2g} % of all columns: equal ones once "
            "(--no-merge computes all); edges/s counts all"
        )
    print(
        f"sent {figures['volume_words']:,.0f} words per image, "
        f"{figures['messages']:,.4g} messages per batch"
    )
    print(rank_table(figures))
    if truth is not None:
        missing, extra = np.setdiff1d(truth, found), np.setdiff1d(found, truth)
        same = "as given" if not len(missing) + len(extra) else "DIFFERENT from those given"
        print(f"categories {same}: {len(missing)} missing, {len(extra)} unexpected")
