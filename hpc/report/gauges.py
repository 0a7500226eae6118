"""What can be read off a running engine. Nobody pays for a gauge at which nobody looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Gauges:
    """Set by the engine when it begins, read by a monitor now and then.

    waited_s : this rank's seconds of waiting so far. loss : of the last step, a mean over the
        rank's samples; reading it may wait for a GPU. None: not known.
    """

    waited_s: Callable[[], float] | None = None
    loss: Callable[[], float | None] | None = None
