"""All pictures of a run, in the order of the page."""

from __future__ import annotations

from hpc.report.page.charts import Picture
from hpc.report.page.of_ranks import rank_pictures
from hpc.report.page.of_traffic import traffic_pictures
from hpc.report.page.of_training import training_pictures
from hpc.report.page.run_data import RunData


def pictures_of(run: RunData) -> list[Picture]:
    """Return the pictures that a run has numbers for. Pure.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Returns
    -------
    list of Picture
        In the order of the page.
    """
    return [*training_pictures(run), *rank_pictures(run), *traffic_pictures(run)]
