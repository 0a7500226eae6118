"""A plan that is built while a line says how far it is."""

from __future__ import annotations

from hpc.io.network import NetworkFile
from hpc.report.progress import progress
from partition.asked import Asked
from partition.build import Built, build_plan, steps


def build_watched(network: NetworkFile, asked: Asked, what: str, show: bool) -> Built:
    """Build a plan and show progress.

    Parameters
    ----------
    network : open network file.
    asked : what is wanted of the plan.
    what : begins the line.
    show : whether there is one.

    Returns
    -------
    The plan, and what it misses.

    Raises
    ------
    InputError : see `build_plan`.
    """
    with progress(what, steps(network.header.n_layers, asked), show) as step:
        return build_plan(network, asked, lambda: step(1, ""))
