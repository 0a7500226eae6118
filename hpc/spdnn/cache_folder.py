"""Where compiled code is kept."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder for compiled code: the first of `cache_folders` that can be written.

    Returns
    -------
    Path
        It exists; a fresh temporary folder where none can be written.
    """
    for folder in cache_folders():
        if usable(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="relaycut-"))


def cache_folders() -> list[Path]:
    """Return NUMBA_CACHE_DIR if that is set, the user's cache, one in /tmp; the best first.

    Returns
    -------
    list of Path
        Two or three folders, not looked at yet.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    own = Path(tempfile.gettempdir()) / f"relaycut-{os.getuid()}"
    asked = os.environ.get("NUMBA_CACHE_DIR")
    return ([Path(asked)] if asked else []) + [Path(home) / "relaycut", own]


def usable(folder: Path) -> bool:
    """Return whether files can be made in `folder`, which is made where it is missing.

    It must be the user's own: what lies there is loaded and run.

    Parameters
    ----------
    folder : Path
        Where it is missing it is made for the user alone, its parents with the usual rights.

    Returns
    -------
    bool
        False also where it belongs to somebody else.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid()
    return False
