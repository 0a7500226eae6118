"""Relaycut: deep networks cut across MPI ranks (engines: spdnn, pipebd)."""

import sys

__version__ = "0.1.0"

if sys.version_info < (3, 11):  # noqa: UP036 - before modules that an older one cannot read
    sys.stderr.write(
        f"relaycut: error: needs Python 3.11 or newer, and this is {sys.version_info[0]}."
        f"{sys.version_info[1]} ({sys.executable}): make the environment with a newer one, such "
        "as 'make venv PYTHON=python3.11'\n"
    )
    raise SystemExit(2)
