"""The options with which the ranks that are left go on."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

import pytest

from hpc.io.errors import InputError
from hpc.io.network import read_header, write_network
from hpc.io.plan import block_plan, write_plan
from hpc.spdnn.fewer_ranks import fewer, fitting_replicas
from tests.launching import run_alone
from tests.spdnn.serial import random_layers

SIZES = (8, 9, 7)


@pytest.fixture
def network(tmp_path):
    path = str(tmp_path / "net.h5")
    write_network(path, SIZES[0], random_layers(SIZES, 0.5, seed=0))
    return path


@pytest.fixture
def plan(tmp_path, network):
    fingerprint = read_header(network).fingerprint

    def made(parts, fingerprint=fingerprint):
        path = str(tmp_path / f"plan{parts}{fingerprint[:3]}.h5")
        write_plan(path, replace(block_plan(SIZES, parts), fingerprint=fingerprint))
        return path

    return made


def options(network, **given):
    return Namespace(
        **{"network": network, "plan": "p.h5", "replicas": 1, "spare_plan": []} | given
    )


@pytest.mark.parametrize(
    ("asked", "ranks", "found"), [(1, 3, 1), (2, 3, 1), (2, 6, 2), (4, 6, 3), (4, 7, 1), (8, 2, 2)]
)
def test_replicas_that_fit(asked, ranks, found):
    assert fitting_replicas(asked, ranks) == found


def test_without_a_spare_plan_the_cut_is_by_blocks(network):
    given = options(network)
    assert vars(fewer(given, 3)) == vars(options(network, plan=None))
    assert given == options(network)


def test_the_spare_plan_for_the_ranks_of_a_replica(network, plan):
    spares = [plan(2), plan(3)]
    given = options(network, replicas=2, spare_plan=spares)
    for ranks, replicas, expected in ((3, 1, spares[1]), (4, 2, spares[0]), (5, 1, None)):
        found = fewer(given, ranks)
        assert (found.replicas, found.plan) == (replicas, expected)


def test_what_cannot_be_cut_anew(network, plan, tmp_path):
    with pytest.raises(InputError, match="made for another network"):
        fewer(options(network, spare_plan=[plan(2, "other")]), 2)
    sharded = str(tmp_path / "sharded.h5")
    ran = run_alone("-m", "partition", "shard", network, plan(3), "--out", sharded)
    assert ran.returncode == 0, ran.stderr
    with pytest.raises(InputError, match="cut for one number of ranks"):
        fewer(options(sharded), 2)
