"""What the ranks of a cut send each other, for a run's folder: forward, per input, as planned."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.io.halo import Traffic
from hpc.io.shard import Shard
from hpc.report.record import Record
from hpc.report.run_folder import TRAFFIC
from hpc.spdnn.load import Loaded

Longs = npt.NDArray[np.int64]


def keep_traffic(comm: MPI.Comm, args: argparse.Namespace, loaded: Loaded, record: Record) -> None:
    """Keep the traffic of a run in its folder; nothing where it has none. Collective.

    The replicas have the same traffic: it is that of the first.

    Parameters
    ----------
    comm : MPI.Comm
        All ranks of the run, the first replica first.
    args : argparse.Namespace
        For `run_folder`.
    loaded : Loaded
        This rank's share, and what the plan said when it was read.
    record : Record
        Written on rank 0 only.
    """
    if args.run_folder is None:
        return
    shard = loaded.shard
    sent = comm.gather(sent_by(shard) if comm.rank < shard.size else None)
    if sent is not None:
        ours = [one for one in sent if one is not None]
        record.put(TRAFFIC, traffic_figures(ours, loaded.random_traffic))


class Sent(NamedTuple):
    """What a rank sends: words to each rank (P,), words and messages in each layer (L,), int64."""

    to: Longs
    words: Longs
    messages: Longs


def sent_by(shard: Shard) -> Sent:
    """Return what a rank sends. Pure.

    Parameters
    ----------
    shard : Shard
        A rank's share.

    Returns
    -------
    Sent
        Forward, for one input.
    """
    n_layers = len(shard.layers)
    found = Sent(np.zeros(shard.size, np.int64), *np.zeros((2, n_layers), np.int64))
    for k, layer in enumerate(shard.layers):
        for destination, rows in layer.sends:
            found.to[destination] += len(rows)
            found.words[k] += len(rows)
            found.messages[k] += len(rows) > 0
    return found


def traffic_figures(sent: Sequence[Sent], random: Traffic | None) -> dict[str, Any]:
    """Return the figures. Pure.

    Parameters
    ----------
    sent : sequence of Sent
        By rank, of one replica.
    random : Traffic or None
        Of a random plan, where it is known.

    Returns
    -------
    dict
        pairs : words by sender and receiver, all layers. layers : by layer, words and messages of
        all ranks together, the most words that a rank sends, and words and messages of the random
        plan.
    """
    words = np.stack([one.words for one in sent])
    layers: dict[str, Any] = {
        "words": words.sum(axis=0).tolist(),
        "most_words": words.max(axis=0).tolist(),
        "messages": np.stack([one.messages for one in sent]).sum(axis=0).tolist(),
    }
    if random is not None:
        layers["random_words"] = random.words.sum(axis=1).tolist()
        layers["random_messages"] = random.messages.sum(axis=1).tolist()
    return {
        "unit": "words per input",
        "pairs": [one.to.tolist() for one in sent],
        "layers": layers,
    }
