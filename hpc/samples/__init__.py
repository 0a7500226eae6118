"""Small real inputs that come with the package, for a first run and for the tests.

- ``challenge-1024.h5``: the first 2,000 inputs of the Sparse DNN Graph
  Challenge for N = 1024, bit-packed, with the official categories among them
  (73 of the 1,812 of L = 120).
- ``digits.h5``: the first 2,000 training digits of MNIST, 28 × 28, with labels.

Made from MNIST's files in DIR and the Challenge's answer by::

    python -m datasets graph-challenge --neurons 1024 --images-from DIR --first 2000 \\
        --categories neuron1024-l120-categories.tsv --compress \\
        --out hpc/samples/challenge-1024.h5
    python -m datasets mnist --source DIR --first 2000 --compress --out hpc/samples/digits.h5
"""

from __future__ import annotations

from pathlib import Path

from hpc.io.errors import InputError


def sample_path(name: str) -> Path:
    """Return the file of a sample.

    Parameters
    ----------
    name : {'challenge-1024', 'digits'}
        Of the sample.

    Returns
    -------
    Path
        Of the HDF5 file, in this package.

    Raises
    ------
    InputError : there is no such sample.
    """
    folder = Path(__file__).parent
    path = folder / f"{name}.h5"
    if not path.is_file():
        names = ", ".join(sorted(found.stem for found in folder.glob("*.h5")))
        raise InputError(f"no sample '{name}': expected one of {names}")
    return path
