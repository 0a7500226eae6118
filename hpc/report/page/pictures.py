"""All pictures of a run, in the order of the page."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hpc.io.errors import FormatError, InputError
from hpc.report.page.charts import Picture
from hpc.report.page.of_ranks import rank_pictures
from hpc.report.page.of_traffic import traffic_pictures
from hpc.report.page.of_training import training_pictures
from hpc.report.page.run_data import RunData

DAMAGE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What is raised where numbers are other ones than a run writes."""


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


@contextlib.contextmanager
def of_a_run(where: str) -> Iterator[None]:
    """Draw the numbers of a run, which others may have touched since.

    Parameters
    ----------
    where : str
        Begins the message.

    Yields
    ------
    None
        While the block draws.

    Raises
    ------
    FormatError : they are not what a run writes.
    """
    try:
        yield
    except InputError:
        raise
    except DAMAGE as error:
        what = f"{type(error).__name__}: {error}"
        raise FormatError(f"{where}: figures damaged or of another program ({what})") from error
