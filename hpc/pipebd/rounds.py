"""Which rounds a run has: the same list on every rank, so that no step count is guessed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hpc.pipebd.work import Round

Epoch = tuple[Round, ...]
Due = Callable[[int, int, int], bool]
"""(epoch, step, epochs) -> whether an architecture round follows that step."""


def run_rounds(
    epochs: int, steps_per_epoch: int, due: Due | None = None, max_steps: int | None = None
) -> list[Epoch]:
    """Return the rounds of every epoch.

    Parameters
    ----------
    epochs : int
        Passes over the training images.
    steps_per_epoch : int
        Training steps of one, at least 1.
    due : callable, optional
        For a search, see `ArchitectureSettings.due`; without, there are no architecture rounds.
    max_steps : int, optional
        Ends the run after so many training steps; later epochs are left out, the last is cut.

    Returns
    -------
    list of tuple of Round
        By epoch. Numbers count on over the epochs, an architecture round after its step.
    """
    total = epochs * steps_per_epoch
    last = total if max_steps is None else min(total, max_steps)
    found: list[Epoch] = []
    number = 0
    for epoch in range(-(-last // steps_per_epoch)):
        rounds = []
        for step in range(min(steps_per_epoch, last - epoch * steps_per_epoch)):
            progress = (epoch * steps_per_epoch + step) / last
            rounds.append(Round(number, epoch, step, progress))
            number += 1
            if due is not None and due(epoch, step, epochs):
                rounds.append(Round(number, epoch, step, progress, True))
                number += 1
        found.append(tuple(rounds))
    return found


def training_steps(epochs: Sequence[Epoch], first: int = 0) -> int:
    """Return how many rounds train weights, from round number `first` on.

    Parameters
    ----------
    epochs : sequence of tuple of Round
        From `run_rounds`.
    first : int
        Number of a round, over both kinds; earlier ones were done by another run.

    Returns
    -------
    int
        Architecture rounds are not counted.
    """
    rounds = (turn for epoch in epochs for turn in epoch)
    return sum(turn.number >= first and not turn.architecture for turn in rounds)


def architecture_rounds_before(epochs: Sequence[Epoch]) -> dict[int, int]:
    """Return for each architecture round, by number, how many there were before it.

    Parameters
    ----------
    epochs : sequence of tuple of Round
        All of the run, from `run_rounds`.

    Returns
    -------
    dict of int to int
        Empty without a search.
    """
    numbers = [turn.number for epoch in epochs for turn in epoch if turn.architecture]
    return {number: place for place, number in enumerate(numbers)}
