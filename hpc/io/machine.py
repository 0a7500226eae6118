"""The machine file: what a rank's work costs here, as `hpc machine` measured it. JSON.

A pass of one layer on one rank takes, in seconds, the sum of coefficients times
what it does: see `work`. They were measured for some numbers of rows a rank and some
batches, since what fits a cache and how many inputs share a weight change them, and
lie between for what is between. Two sets: of inference and of a training step
(forward, backward and update together).
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields

import numpy as np
import numpy.typing as npt

from hpc.io.aside import written_aside
from hpc.io.errors import FormatError

FORMAT = "relaycut-machine"
VERSION = 2

MAX_S = 1e6
"""Seconds: no coefficient is as large."""
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """Seconds of a layer on a rank, per ...

    layer_s : layer. edge_column_s : weight and input. row_column_s : own row and input.
    message_s : message sent: the latency. word_s : word sent, per input: 4 bytes over
        the bandwidth.
    """

    layer_s: float
    edge_column_s: float
    row_column_s: float
    message_s: float
    word_s: float

    def array(self) -> Numbers:
        """Return the coefficients in the order of `work`.

        Returns
        -------
        (5,) float64 array
            In seconds, by the unit of each.
        """
        return np.array([getattr(self, field.name) for field in fields(self)])


@dataclass(frozen=True)
class Costs:
    """Rates measured at every pair of some numbers of rows a rank and some batches.

    rows, batches : ascending. rates : rows by batches, row after row.
    """

    rows: tuple[int, ...]
    batches: tuple[int, ...]
    rates: tuple[Rates, ...]

    def at(self, rows: float, batch: int) -> Rates:
        """Return the rates for so many rows a rank and inputs at a time.

        Between what was measured they are linear in the logarithms; beyond, the nearest.

        Parameters
        ----------
        rows : that a rank has of a layer.
        batch : inputs at a time.

        Returns
        -------
        Seconds per unit of work.
        """
        known = np.stack([one.array() for one in self.rates])
        grid = known.reshape(len(self.rows), len(self.batches), -1)
        weights = _weights(self.rows, rows), _weights(self.batches, batch)
        return Rates(*np.einsum("r,b,rbc->c", *weights, grid).tolist())


@dataclass(frozen=True)
class Machine:
    """What was measured. about : kernel, ranks, host, for people."""

    inference: Costs
    training: Costs
    about: dict[str, str]


def work(
    batch: int,
    edges: npt.ArrayLike,
    rows: npt.ArrayLike,
    messages: npt.ArrayLike,
    words: npt.ArrayLike,
) -> Numbers:
    """Return what the coefficients of `Rates` multiply: (5, ...) for arguments of shape (...).

    Parameters
    ----------
    batch : inputs at a time.
    edges, rows : weights and rows held.
    messages, words : sent, forward, words for one input.

    Returns
    -------
    (5, ...).
    """
    e, r, m, w = (np.asarray(one, np.float64) for one in (edges, rows, messages, words))
    return np.stack(np.broadcast_arrays(1.0, e * batch, r * batch, m, w * batch))


def write_machine(path: str | os.PathLike[str], machine: Machine) -> None:
    """Write a machine file, aside and renamed.

    Parameters
    ----------
    path : file to write.
    machine : what was measured.
    """
    content = {"format": FORMAT, "version": VERSION, **asdict(machine)}
    with written_aside(path) as partial:
        partial.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def read_machine(path: str | os.PathLike[str]) -> Machine:
    """Read a machine file.

    Parameters
    ----------
    path : of `hpc machine`.

    Returns
    -------
    What was measured.

    Raises
    ------
    FormatError : missing, not JSON, of another format or a newer version, a coefficient that
        is missing, negative or not finite, a grid with holes.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise FormatError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f"{path}: not a {FORMAT} file; make one with 'python -m hpc machine'")
    if content.get("version") != VERSION:
        raise FormatError(f"{path}: version {content.get('version')}, this program reads {VERSION}")
    return Machine(
        _costs(content.get("inference"), f"{path}: inference"),
        _costs(content.get("training"), f"{path}: training"),
        _about(content.get("about", {}), f"{path}: about"),
    )


def _about(found: object, where: str) -> dict[str, str]:
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise FormatError(f"{where} is {found}, expected names with texts")
    return found


def _weights(known: tuple[int, ...], value: float) -> Numbers:
    """Return how much each of the known counts: 1 in all, at most two of them."""
    at = np.interp(np.log(max(value, 1)), np.log(known), np.arange(len(known)))
    weights: Numbers = np.maximum(1 - np.abs(np.arange(len(known)) - at), 0)
    return weights


def _costs(found: object, where: str) -> Costs:
    if not isinstance(found, dict):
        raise FormatError(f"{where} is missing")
    rows, batches = (_ascending(found.get(name), f"{where}.{name}") for name in ("rows", "batches"))
    rates = found.get("rates")
    if not isinstance(rates, list) or len(rates) != len(rows) * len(batches):
        raise FormatError(f"{where}.rates: expected {len(rows) * len(batches)} entries")
    return Costs(
        rows,
        batches,
        tuple(_rates(one, f"{where}.rates[{index}]") for index, one in enumerate(rates)),
    )


def _ascending(found: object, where: str) -> tuple[int, ...]:
    numbers = found if isinstance(found, list) else []
    whole = all(type(one) is int and one > 0 for one in numbers)
    if not numbers or not whole or numbers != sorted(set(numbers)):
        raise FormatError(f"{where} is {found}, expected ascending whole numbers")
    return tuple(numbers)


def _rates(found: object, where: str) -> Rates:
    names = [field.name for field in fields(Rates)]
    if not isinstance(found, dict):
        raise FormatError(f"{where} is missing")
    for name in names:
        value = found.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_S:
            raise FormatError(f"{where}.{name} is {value}, expected a number in 0..{MAX_S:g}")
    if not any(found[name] for name in names):
        raise FormatError(f"{where}: all are 0, expected some cost")
    return Rates(**{name: float(found[name]) for name in names})
