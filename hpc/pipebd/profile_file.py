"""The profile file: readable JSON, checked in full when read.

Core: `batch`; `ranks`, each `speed` and `memory_bytes` (or null); `blocks`, each `name`,
`teacher_s`, `student_s`, `memory_bytes` (maps from share size, as a string, to a number, or
null where infeasible), `gradient_bytes`, `output_bytes`, and block 0 `load_s`;
`allreduce_s` (map from group size to a list per block); `relay_s` (list).
Optional: `workload`, `dtype`, `machine`, `steps`, `note`, `architecture_every` and with it
`architecture_s` in every block. Fields of other names are ignored.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict
from typing import Any

from hpc.io.aside import written_aside
from hpc.io.errors import FormatError
from hpc.pipebd.profile_data import BlockProfile, Profile, RankProfile, Shares


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Return the profile in a file.

    Parameters
    ----------
    path : of `pipebd profile`.

    Returns
    -------
    The profile.

    Raises
    ------
    FormatError : missing, not JSON, a field that is missing or out of range; says which.
    """
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: not a profile: not JSON ({error})") from error
    return parse_profile(data, str(path))


def write_profile(path: str | os.PathLike[str], profile: Profile) -> None:
    """Write a profile; `read_profile` returns it unchanged.

    Parameters
    ----------
    path : file to write.
    profile : that was measured.
    """
    with written_aside(path) as partial:
        partial.write_text(json.dumps(as_json(profile), indent=1) + "\n", encoding="utf-8")


def as_json(profile: Profile) -> dict[str, Any]:
    """Return the profile as the file has it; optional fields that say nothing are left out.

    Parameters
    ----------
    profile : that was measured.

    Returns
    -------
    Plain data.
    """
    data = asdict(profile)
    load_s = data.pop("load_s")
    data = {name: value for name, value in data.items() if value not in (None, "", {})}
    data["allreduce_s"] = _string_keys(profile.allreduce_s)
    for block in data["blocks"]:
        maps = {k: _string_keys(v) for k, v in block.items() if isinstance(v, dict)}
        block.update(maps)
        if block["architecture_s"] is None:
            del block["architecture_s"]
    data["blocks"][0]["load_s"] = load_s
    return data


def _string_keys(values: Any) -> dict[str, Any]:
    return {str(size): values[size] for size in sorted(values)}


def parse_profile(data: Any, where: str) -> Profile:
    """Return the profile that `data`, decoded JSON, says. `where` begins every message.

    Parameters
    ----------
    data : decoded JSON.
    where : begins every message.

    Returns
    -------
    The profile.

    Raises
    ------
    FormatError : a field that is missing, of another type or out of range.
    """
    fields = _object(data, where)
    batch = _count(_need(fields, "batch", where), f"{where}: batch", 1)
    blocks = _list(_need(fields, "blocks", where), f"{where}: blocks")
    every = fields.get("architecture_every")
    relay_s = _need(fields, "relay_s", where)
    return Profile(
        batch=batch,
        ranks=_ranks(_need(fields, "ranks", where), f"{where}: ranks"),
        blocks=tuple(
            _block(block, f"{where}: blocks[{i}]", batch, every is not None)
            for i, block in enumerate(blocks)
        ),
        allreduce_s=_allreduce(_need(fields, "allreduce_s", where), where, len(blocks)),
        relay_s=_relay(relay_s, f"{where}: relay_s", len(blocks)),
        load_s=_number(_need(blocks[0], "load_s", f"{where}: blocks[0]"), f"{where}: load_s"),
        architecture_every=None
        if every is None
        else _count(every, f"{where}: architecture_every", 1),
        workload=_text(fields.get("workload", ""), f"{where}: workload"),
        dtype=_text(fields.get("dtype", ""), f"{where}: dtype"),
        machine=_object(fields.get("machine", {}), f"{where}: machine"),
        steps=None if fields.get("steps") is None else _count(fields["steps"], f"{where}: steps"),
        note=_text(fields.get("note", ""), f"{where}: note"),
    )


def _ranks(data: Any, where: str) -> tuple[RankProfile, ...]:
    found = []
    for i, entry in enumerate(_list(data, where)):
        rank, at = _object(entry, f"{where}[{i}]"), f"{where}[{i}]"
        speed = _number(_need(rank, "speed", at), f"{at}.speed")
        if speed == 0:
            raise FormatError(f"{at}.speed is 0; expected a number > 0")
        memory = rank.get("memory_bytes")
        found.append(
            RankProfile(speed, None if memory is None else _number(memory, f"{at}.memory_bytes"))
        )
    return tuple(found)


def _block(data: Any, where: str, batch: int, architecture: bool) -> BlockProfile:
    block = _object(data, where)

    def shares(name: str) -> Shares:
        return _shares(_need(block, name, where), f"{where}.{name}", batch)

    def count(name: str) -> int:
        return _count(_need(block, name, where), f"{where}.{name}")

    return BlockProfile(
        name=_text(_need(block, "name", where), f"{where}.name"),
        teacher_s=shares("teacher_s"),
        student_s=shares("student_s"),
        memory_bytes=shares("memory_bytes"),
        gradient_bytes=count("gradient_bytes"),
        output_bytes=count("output_bytes"),
        architecture_s=shares("architecture_s") if architecture else None,
    )


def _shares(data: Any, where: str, batch: int) -> Shares:
    values = _keyed(data, where, batch, "share size")
    return {
        share: None if value is None else _number(value, f"{where}[{str(share)!r}]")
        for share, value in values.items()
    }


def _allreduce(data: Any, where: str, n_blocks: int) -> dict[int, tuple[float, ...]]:
    at = f"{where}: allreduce_s"
    values = _keyed(data, at, None, "group size") if data else {}
    return {
        size: _numbers(times, f"{at}[{str(size)!r}]", n_blocks) for size, times in values.items()
    }


def _relay(data: Any, where: str, n_blocks: int) -> tuple[float, ...]:
    times = _numbers(data, where, n_blocks)
    if times[0] != 0:
        raise FormatError(f"{where}[0] is {times[0]}; expected 0: block 0 has load_s instead")
    return times


def _numbers(data: Any, where: str, length: int) -> tuple[float, ...]:
    values = _list(data, where)
    if len(values) != length:
        raise FormatError(f"{where} has {len(values)} entries; expected {length}, one per block")
    return tuple(_number(value, f"{where}[{i}]") for i, value in enumerate(values))


def _keyed(data: Any, where: str, most: int | None, what: str) -> dict[int, Any]:
    """Return a non-empty map whose keys are whole numbers written as strings."""
    values = {}
    for key, value in _object(data, where).items():
        if not (key.isascii() and key.isdecimal() and 1 <= int(key) <= (most or int(key))):
            span = f"1..{most}" if most else ">= 1"
            raise FormatError(f"{where} has key {key!r}; expected a {what} of {span}")
        values[int(key)] = value
    if not values:
        raise FormatError(f"{where} is empty; expected at least one {what}")
    return values


def _need(fields: Any, name: str, where: str) -> Any:
    if name not in _object(fields, where):
        raise FormatError(f"{where} has no '{name}', which a profile needs")
    return fields[name]


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{where} is {_shown(value)}; expected an object {{...}}")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise FormatError(f"{where} is {_shown(value)}; expected a list with entries")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{where} is {_shown(value)}; expected text")
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise FormatError(f"{where} is {_shown(value)}; expected a finite number >= 0")
    return value


def _count(value: Any, where: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise FormatError(f"{where} is {_shown(value)}; expected a whole number >= {least}")
    return value


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
