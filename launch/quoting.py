"""Words of a user's in bash and in ``#SBATCH`` lines. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from hpc.io.errors import InputError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def quoted(word: str) -> str:
    """Return a word as bash reads it back, on one line whatever it holds.

    Control characters are escaped: sbatch refuses scripts in which it sees some of them.

    Parameters
    ----------
    word : str
        Any, but without NUL.

    Returns
    -------
    str
        ``$'...'`` where there are control characters.
    """
    if not _CONTROL.search(word):
        return shlex.quote(word)
    plain = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(lambda found: f"\\{ord(found[0]):03o}", plain) + "'"


def quoted_words(words: Iterable[str]) -> str:
    """Return words as bash reads them back.

    Parameters
    ----------
    words : iterable of str
        Each as `quoted` takes it.

    Returns
    -------
    str
        One line, a space between two words.
    """
    return " ".join(map(quoted, words))


def sbatch_value(text: str) -> str:
    """Return the value of an option in an ``#SBATCH`` line, as sbatch reads it back.

    Parameters
    ----------
    text : str
        One line; see `check_line`.

    Returns
    -------
    str
        In double quotes, unless it is of plain characters.
    """
    if re.fullmatch(r"[\w.,:@%+=/-]+", text, re.ASCII):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def check_line(what: str, text: str) -> str:
    """Return text that is one line of printable characters, and not empty.

    Parameters
    ----------
    what : str
        Names the text in a message.
    text : str
        What the user wrote.

    Returns
    -------
    str
        The text.

    Raises
    ------
    InputError : it is empty, or has other characters.
    """
    if not text or _CONTROL.search(text) or not text.isprintable():
        raise InputError(f"{what} {text!r}: expected one line of printable characters")
    return text


def check_name(what: str, text: str) -> str:
    """Return a name as SLURM knows them: letters, digits and . _ + @ , - but no - first.

    Parameters
    ----------
    what : str
        Names the name in a message.
    text : str
        What the user wrote.

    Returns
    -------
    str
        The name.

    Raises
    ------
    InputError : anything else.
    """
    if not re.fullmatch(r"[\w.+@,][\w.+@,-]*", text):
        raise InputError(
            f"{what} {text!r}: expected letters, digits and any of . _ + @ , - (- not first)"
        )
    return text
