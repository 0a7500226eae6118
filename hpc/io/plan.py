"""The plan file: who owns which neuron of every level, what was asked, what was achieved.

Layout (format ``relaycut-plan``, version 1):

- ``sizes`` (L+1,) int64; ``owners`` (sum n_k,) int32: level 0 first, values 0..P-1.
  Row i of W^k belongs to the owner of neuron i of level k; level 0 says who
  holds the input vector.
- attributes ``parts`` (P), ``fingerprint`` (of the network), ``asked`` (JSON:
  method, epsilon, seed ...).
- ``traffic/{words,messages,edges}`` and ``random_traffic/...`` (L, P) int64:
  words and messages that each rank sends per layer, forward, for one input,
  and its weights; the second for a random plan of the same network.
- ``between`` (L, P) int64, where the ranks' nodes were known (``asked``): the
  words that each rank sends to other nodes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from hpc.io import container
from hpc.io.errors import FormatError, InputError
from hpc.io.halo import Traffic
from hpc.io.network import NetworkHeader
from hpc.io.ownership import block_owners

KIND = "plan"
VERSION = 1

Owners = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Plan:
    """A cut of a network for `parts` ranks.

    owners : L+1 arrays, (n_k,) int32, the owner of each neuron of level k.
    fingerprint : of the network that it cuts; "" for one made in memory.
    asked : what the partitioner was told (method, epsilon, seed ...).
    traffic, random_traffic : what it costs, and what a random plan costs; None if unknown.
    between : (L, P) words to other nodes; None unless `asked` says which ranks share a node.
    """

    parts: int
    owners: tuple[Owners, ...]
    fingerprint: str
    asked: dict[str, Any]
    traffic: Traffic | None = None
    random_traffic: Traffic | None = None
    between: npt.NDArray[np.int64] | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Neurons per level."""
        return tuple(len(level) for level in self.owners)


def block_plan(sizes: Sequence[int], parts: int, fingerprint: str = "") -> Plan:
    """Return the plan of contiguous blocks, what runs when no plan is given.

    Parameters
    ----------
    sizes : (L+1,) neurons per level.
    parts : ranks, P.
    fingerprint : of the network.

    Returns
    -------
    The plan.
    """
    owners = tuple(block_owners(n, parts) for n in sizes)
    return Plan(parts, owners, fingerprint, {"method": "block"})


def check_plan(plan: Plan, header: NetworkHeader, size: int, where: str = "plan") -> None:
    """Check that `plan` cuts the network of `header` for `size` ranks.

    Parameters
    ----------
    plan : a cut.
    header : of a network.
    size : ranks of the job.
    where : begins the message.

    Raises
    ------
    InputError : another number of ranks, another network.
    """
    if plan.parts != size:
        raise InputError(
            f"{where}: made for {plan.parts} ranks, the job has {size}; "
            f"start {plan.parts} ranks or build a plan with --parts {size}"
        )
    if plan.fingerprint != header.fingerprint or plan.sizes != header.sizes:
        raise InputError(
            f"{where}: made for another network (fingerprint {plan.fingerprint or 'none'}, "
            f"{header.path} has {header.fingerprint})"
        )


def check_parts(parts: int, header: NetworkHeader, what: str) -> None:
    """Raise InputError unless 1 <= parts <= the rows of all layers together.

    Fewer rows than parts in some layer is fine: those ranks have none of it.

    Parameters
    ----------
    parts : ranks.
    header : of the network.
    what : the word for parts in the message.
    """
    rows = sum(header.sizes[1:])
    if not 1 <= parts <= rows:
        raise InputError(
            f"{parts} {what}: {header.path} has {rows} rows in all layers, expected 1..{rows}"
        )


def write_plan(path: str | os.PathLike[str], plan: Plan) -> None:
    """Write a plan file, aside and renamed.

    Parameters
    ----------
    path : file to write.
    plan : the cut.
    """
    with container.create(path, KIND, VERSION) as file:
        container.put(file, "sizes", np.asarray(plan.sizes, np.int64))
        container.put(file, "owners", np.concatenate(plan.owners).astype(np.int32))
        file.attrs["parts"] = plan.parts
        container.put_text(file, "fingerprint", plan.fingerprint)
        container.put_text(file, "asked", json.dumps(plan.asked, sort_keys=True))
        for name in ("traffic", "random_traffic"):
            _put_traffic(file, name, getattr(plan, name))
        if plan.between is not None:
            container.put(file, "between", plan.between)


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read and check a plan file.

    Parameters
    ----------
    path : plan file.

    Returns
    -------
    The plan.

    Raises
    ------
    FormatError : see `container.opened`; owners outside 0..P-1.
    """
    with container.opened(path, KIND, VERSION) as file:
        sizes = container.dataset(file, "sizes", ("int64",), (None,))[:]
        if len(sizes) < 2 or sizes.min() < 1:
            raise FormatError(f"{path}: level sizes must be two or more positive numbers")
        parts = int(file.attrs["parts"])
        owners = container.dataset(file, "owners", ("int32",), (int(sizes.sum()),))[:]
        if parts < 1:
            raise FormatError(f"{path}: a plan for {parts} parts, expected 1 or more")
        if owners.min() < 0 or owners.max() >= parts:
            raise FormatError(
                f"{path}: owners {owners.min()}..{owners.max()}, expected 0..{parts - 1}"
            )
        return Plan(
            parts,
            tuple(np.split(owners, np.cumsum(sizes)[:-1])),
            container.text(file, "fingerprint"),
            container.mapping(file, "asked"),
            _get_traffic(file, "traffic", len(sizes) - 1, parts),
            _get_traffic(file, "random_traffic", len(sizes) - 1, parts),
            container.dataset(file, "between", ("int64",), (len(sizes) - 1, parts))[:]
            if "between" in file
            else None,
        )


def _put_traffic(file: h5py.File, name: str, traffic: Traffic | None) -> None:
    if traffic is None:
        return
    for field in ("words", "messages", "edges"):
        container.put(file, f"{name}/{field}", getattr(traffic, field))


def _get_traffic(file: h5py.File, name: str, n_layers: int, parts: int) -> Traffic | None:
    if name not in file:
        return None
    fields = [
        container.dataset(file, f"{name}/{field}", ("int64",), (n_layers, parts))[:]
        for field in ("words", "messages", "edges")
    ]
    if min(int(field.min()) for field in fields) < 0:
        raise FormatError(f"{file.filename}: '{name}' counts less than nothing")
    return Traffic(*fields)
