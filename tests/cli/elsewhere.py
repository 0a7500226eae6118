"""Run ``hpc`` with each rank in a folder of its own, as on nodes that see different files.

python -m tests.cli.elsewhere FOLDER spdnn infer ... : rank r runs in FOLDER/r.
"""

import os
import runpy
import sys

from hpc.comm.launcher import launched_rank

if __name__ == "__main__":
    folder, *words = sys.argv[1:]
    os.chdir(os.path.join(folder, str(launched_rank())))
    sys.argv[1:] = words
    runpy.run_module("hpc", run_name="__main__", alter_sys=True)
