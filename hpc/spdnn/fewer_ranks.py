"""How a training is cut anew for the ranks that are left when others have died."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hpc.io import container, sharded
from hpc.io.errors import InputError
from hpc.io.network import read_header
from hpc.io.plan import Plan, check_plan, read_plan


def fewer(args: argparse.Namespace, ranks: int) -> argparse.Namespace:
    """Return the options for so many ranks: as many replicas as fit, a plan that fits or none.

    Parameters
    ----------
    args : argparse.Namespace
        The options of `spdnn train`; left as they are.
    ranks : int
        How many are left, at least 1.

    Returns
    -------
    argparse.Namespace
        A copy with other `replicas` and `plan`, which is None for blocks of rows.

    Raises
    ------
    InputError : the network cannot be cut anew; a spare plan is of another network.
    FormatError : a spare plan, or the network, that cannot be read.
    """
    if container.format_of(args.network) == sharded.KIND:
        raise InputError(
            f"--on-failure shrink: {args.network} is cut for one number of ranks; "
            "expected the network that it was made of"
        )
    replicas = fitting_replicas(args.replicas, ranks)
    spare = _spare_plans(args.network, args.spare_plan)
    return argparse.Namespace(
        **vars(args) | {"replicas": replicas, "plan": spare.get(ranks // replicas)}
    )


def fitting_replicas(asked: int, ranks: int) -> int:
    """Return the most replicas, not more than asked for, that ranks can be split into. Pure.

    Parameters
    ----------
    asked, ranks : int
        At least 1 each.

    Returns
    -------
    int
        The largest divisor of `ranks` up to `asked`.
    """
    return next(count for count in range(min(asked, ranks), 0, -1) if ranks % count == 0)


def _spare_plans(network: str, paths: Sequence[str]) -> dict[int, str]:
    """Return the plans by the number of their parts."""
    if not paths:
        return {}
    header, found = read_header(network), dict[int, str]()
    for path in paths:
        plan: Plan = read_plan(path)
        check_plan(plan, header, plan.parts, path)
        found[plan.parts] = path
    return found
