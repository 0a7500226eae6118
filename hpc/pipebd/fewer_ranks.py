"""How a distillation is scheduled anew for the ranks that are left when others have died."""

from __future__ import annotations

import argparse


def fewer(args: argparse.Namespace, ranks: int) -> argparse.Namespace:
    """Return the options for fewer ranks. Pure.

    A name finds its schedule by itself. One that was spelled out is for its number of ranks; in
    its place comes the best by the profile, or blocks dealt to ranks where none is given.

    Parameters
    ----------
    args : argparse.Namespace
        The options of `pipebd train`.
    ranks : int
        How many are left; not needed here.

    Returns
    -------
    argparse.Namespace
        `args` itself where nothing changes.
    """
    if "@" not in args.schedule:
        return args
    schedule = "tr+dpu" if args.profile is None else "ahd"
    return argparse.Namespace(**vars(args) | {"schedule": schedule})
