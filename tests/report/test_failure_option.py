"""`--on-failure`."""

from __future__ import annotations

from argparse import ArgumentError, ArgumentParser, Namespace

import pytest

from hpc.io.errors import InputError
from hpc.report.failure_option import add_on_failure, can_shrink, fewer_options, shrinks


def parsed(*words, **defaults):
    parser = ArgumentParser(exit_on_error=False)
    add_on_failure(parser, lambda args, ranks: Namespace(**vars(args) | {"ranks": ranks}))
    parser.set_defaults(**{"checkpoint": "c", "fresh": False} | defaults)
    return parser.parse_args(words)


def test_what_has_the_option():
    assert can_shrink(parsed())
    assert not can_shrink(Namespace())
    with pytest.raises(ArgumentError, match="invalid choice: 'retry'"):
        parsed("--on-failure", "retry")


def test_whether_it_shrinks():
    assert not shrinks(parsed(checkpoint=None), 3)
    assert shrinks(parsed("--on-failure", "shrink"), 3)
    with pytest.raises(InputError, match="is for runs with --checkpoint DIR"):
        shrinks(parsed("--on-failure", "shrink", checkpoint=None), 3)
    with pytest.raises(InputError, match="--spare-plan: is for runs with --on-failure shrink"):
        shrinks(parsed(spare_plan=["p.h5"]), 3)


def test_what_fewer_ranks_cannot_do_is_known_at_the_start():
    def refuse(args, ranks):
        raise InputError(f"not on {ranks}")

    with pytest.raises(InputError, match="not on 2"):
        shrinks(parsed("--on-failure", "shrink", fewer=refuse), 3)


@pytest.mark.parametrize("fresh", [False, True])
def test_those_that_are_left_never_begin_anew(fresh):
    """With --fresh they go on from what this run has kept, and from nothing older."""
    found = fewer_options(parsed(fresh=fresh), 2, after=7)
    assert (found.ranks, found.fresh, found.checkpoint_after) == (2, False, 7 if fresh else 0)
