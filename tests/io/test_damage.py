"""A flipped byte or a cut end of any file that we read is a clear error, or changes nothing."""

import re

import h5py
import numpy as np
import pytest

from hpc.io.errors import FormatError, InputError
from hpc.io.halo import Traffic
from hpc.io.network import read_header
from hpc.io.plan import Plan, read_plan, write_plan
from tests.io.kinds import KINDS, network_file, same

FEW, MANY = (40, 10), (150, 50)
"""Flips and cuts of each kind: in every run, and by `make soak`."""


def damages(whole, flips, cuts, seed):
    """Yield what was done, and the bytes of a damaged file."""
    rng = np.random.default_rng(seed)
    for at in rng.integers(0, len(whole), flips):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(0, 8)
        yield f"flipped byte {at} to {damaged[at]}", bytes(damaged)
    for length in (0, len(whole) - 1, *rng.integers(0, len(whole), cuts)):
        yield f"cut to {length} bytes", whole[:length]


@pytest.mark.parametrize(
    ("count", "seed"), [(FEW, 7), pytest.param(MANY, 8, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_damage(tmp_path, kind, count, seed):
    """Only a text that people may edit can say something else; it is then whole and in range."""
    made = KINDS[kind]
    path = made.make(tmp_path)
    whole, expected = path.read_bytes(), made.content(path)
    noticed = 0
    for what, damaged in damages(whole, *count, seed):
        path.write_bytes(damaged)
        try:
            found = made.content(path)
        except InputError as error:
            assert str(path.parent) in str(error), what
            noticed += 1
        else:
            assert made.of_text or same(found, expected), what
            assert made.of_text or what.startswith("flipped"), what
    assert noticed > sum(count) // 8, noticed


@pytest.mark.parametrize("bit", [0, 3])
def test_the_directory_of_an_archive(tmp_path, bit):
    """Python's zipfile raises whatever comes: wrong disks, passwords, other ways to compress."""
    path = KINDS["teacher"].make(tmp_path)
    whole, expected = path.read_bytes(), KINDS["teacher"].content(path)
    for at in range(whole.index(b"PK\1\2"), len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            assert same(KINDS["teacher"].content(path), expected), at
        except FormatError as error:
            assert str(path) in str(error)


def change(path, name, value):
    """Set an attribute, or the first number of a dataset (rewritten, so that its sum is right)."""
    with h5py.File(path, "r+") as file:
        if name in file:
            data = file[name][:]
            data[0] = value
            del file[name]
            file.create_dataset(name, data=data)
        else:
            file.attrs[name] = value


@pytest.mark.parametrize(
    ("kind", "name", "value", "says"),
    [
        ("network", "clip", np.nan, "'clip' is nan in layer 1"),
        ("network", "sizes", 2**40, "expected two or more of 1..2147483647"),
        ("samples", "scale", np.nan, "attribute 'scale' is nan, expected a finite number"),
        ("plan", "parts", 0, "a plan for 0 parts, expected 1 or more"),
        ("plan", "asked", 3, "'asked' is 3, expected text"),
        ("plan", "asked", "{", "attribute 'asked' is not JSON"),
    ],
)
def test_what_no_checksum_can_tell(tmp_path, kind, name, value, says):
    path = KINDS[kind].make(tmp_path)
    change(path, name, value)
    with pytest.raises(FormatError, match=re.escape(says)):
        KINDS[kind].content(path)


def test_traffic_below_nothing(tmp_path):
    path = tmp_path / "plan.h5"
    traffic = Traffic(*(np.full((2, 2), n, np.int64) for n in (3, -1, 5)))
    owners = tuple(np.array([0, 1, 1]) for _ in range(3))
    write_plan(path, Plan(2, owners, "f", {}, traffic))
    with pytest.raises(FormatError, match="'traffic' counts less than nothing"):
        read_plan(path)


def test_how_much_is_missing_of_a_cut_file(tmp_path):
    path = network_file(tmp_path)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2])
    with pytest.raises(FormatError, match=f"truncated file of .*, expected {size:,}"):
        read_header(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="empty, expected an HDF5 file"):
        read_header(path)
