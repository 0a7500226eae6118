"""Words that an option may be given as: a shell completes them, and the engine checks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence


class Words:
    """An argparse type that takes any text: what is no such word is refused by all ranks together.

    Parameters
    ----------
    values : the words; or what returns them, where that takes imports that only completion is
        worth.
    listed : whether several may be given with commas between them.
    """

    def __init__(
        self, values: Sequence[str] | Callable[[], Sequence[str]], listed: bool = False
    ) -> None:
        self._values, self.listed = values, listed

    def __call__(self, text: str) -> str:
        """Return the text."""
        return text

    @property
    def values(self) -> tuple[str, ...]:
        """The words."""
        return tuple(self._values() if callable(self._values) else self._values)
