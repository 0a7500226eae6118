"""Class folders of image files, SPLIT/CLASS/NAME.jpg, in a folder or in a tar archive."""

from __future__ import annotations

import contextlib
import lzma
import tarfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from hpc.io.errors import FormatError, InputError

ENDINGS = frozenset({".jpg", ".jpeg"})


@dataclass(frozen=True)
class ImageEntry:
    """One image file: its path below the source, its split ('' without), its class."""

    path: str
    split: str
    label: str


class ImageTree(Protocol):
    """An open source of image files."""

    def paths(self) -> list[str]:
        """Return the paths of all files, below the source, in the order best read.

        Returns
        -------
        list of str
            With slashes; a compressed archive can only be read forwards.
        """
        ...

    def read(self, path: str) -> bytes:
        """Return a file's content.

        Parameters
        ----------
        path : str
            One of `paths`.

        Returns
        -------
        bytes
            All of it.

        Raises
        ------
        FormatError : it cannot be read.
        """
        ...


@contextlib.contextmanager
def open_tree(source: str) -> Iterator[ImageTree]:
    """Open a folder or a tar archive (compressed or not).

    Parameters
    ----------
    source : str
        Folder or archive.

    Yields
    ------
    ImageTree
        As long as the block runs.

    Raises
    ------
    FormatError : neither, or a damaged archive (also while it is read).
    """
    if Path(source).is_dir():
        yield _Folder(Path(source))
        return
    if not Path(source).is_file():
        raise FormatError(f"{source}: no such folder or archive")
    try:
        with tarfile.open(source) as archive:
            yield _Archive(archive)
    except InputError:
        raise
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise FormatError(f"{source}: not a tar archive, or a damaged one ({error})") from error


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def paths(self) -> list[str]:
        files = (path for path in self._root.rglob("*") if path.is_file())
        return sorted(path.relative_to(self._root).as_posix() for path in files)

    def read(self, path: str) -> bytes:
        try:
            return (self._root / path).read_bytes()
        except OSError as error:
            raise FormatError(f"{self._root / path}: {error.strerror}") from error


class _Archive:
    """Paths come in the archive's order: a compressed one can only be read forwards."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._members = {
            str(PurePosixPath(member.name)): member
            for member in archive.getmembers()
            if member.isfile()
        }
        _check_end(archive)

    def paths(self) -> list[str]:
        return list(self._members)

    def read(self, path: str) -> bytes:
        file = self._archive.extractfile(self._members[path])
        assert file is not None, "only files are members"
        return file.read()


def _check_end(archive: tarfile.TarFile) -> None:
    """Raise tarfile.ReadError where the list of files has not come to the archive's end.

    tarfile takes a damaged header for the end. What follows is read for the checksum of a
    compressed archive.
    """
    file = archive.fileobj
    assert file is not None, "it is open"
    file.seek(archive.offset)
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError(f"at byte {archive.offset:,} is neither a file nor the end")
    while file.read(tarfile.RECORDSIZE):
        pass


def entries(paths: Sequence[str], source: str) -> list[ImageEntry]:
    """Return the images among `paths`, split and class by their last folders.

    Parameters
    ----------
    paths : sequence of str
        Of all files, below the source.
    source : str
        Begins the message.

    Returns
    -------
    list of ImageEntry
        In the order of the paths; files with a dot in front are none.

    Raises
    ------
    InputError : no images; images that do not lie in [SPLIT/]CLASS/.
    """
    found = []
    for path in paths:
        parts = PurePosixPath(path).parts
        if PurePosixPath(path).suffix.lower() not in ENDINGS or parts[-1].startswith("."):
            continue
        if len(parts) not in (2, 3):
            raise InputError(f"{source}: {path} does not lie in CLASS/ or SPLIT/CLASS/")
        found.append(ImageEntry(path, parts[0] if len(parts) == 3 else "", parts[-2]))
    if not found:
        raise InputError(f"{source}: has no images (.jpg, .jpeg) in [SPLIT/]CLASS/")
    return found


def by_split(
    found: Sequence[ImageEntry], train: str, tests: Sequence[str], source: str
) -> dict[str, list[ImageEntry]]:
    """Return the images of 'train' and, where there are any, 'test'.

    Parameters
    ----------
    found : sequence of ImageEntry
        From `entries`.
    train : str
        Folder of the training images; a tree without splits is all training.
    tests : sequence of str
        Folders that may hold the test images; the first that exists does.
    source : str
        Begins the message.

    Returns
    -------
    dict of str to list of ImageEntry
        'train', and 'test' if there is such a folder.

    Raises
    ------
    InputError : no training images; a test class that training has not.
    """
    folders: dict[str, list[ImageEntry]] = defaultdict(list)
    for entry in found:
        folders[entry.split].append(entry)
    if set(folders) == {""}:
        return {"train": folders[""]}
    if train not in folders:
        raise InputError(f"{source}: has {', '.join(sorted(folders))}; expected a folder '{train}'")
    chosen = {"train": folders[train]}
    for name in tests:
        if name in folders:
            chosen["test"] = folders[name]
            break
    unknown = {e.label for e in chosen.get("test", [])} - {e.label for e in chosen["train"]}
    if unknown:
        raise InputError(f"{source}: test class {min(unknown)} has no training images")
    return chosen
