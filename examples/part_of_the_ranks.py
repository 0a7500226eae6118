"""The engine on some of your ranks only: `mpirun -n 3 python examples/part_of_the_ranks.py`.

The last rank does something else meanwhile. What is wrong is raised on all ranks that take part.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

import hpc.spdnn

world = MPI.COMM_WORLD
works = world.rank < max(1, world.size - 1)
part = world.Split(0 if works else 1)
if works:
    network = [(np.eye(8, dtype=np.float32), -0.5, "relu")] * 3
    x = np.eye(8, dtype=np.float32) * np.arange(8, dtype=np.float32)
    answer = hpc.spdnn.infer(part, network, x)
    try:
        hpc.spdnn.infer(part, network, x[:, :5])
    except ValueError as error:
        if part.rank == 0:
            print(f"on {part.size} rank(s) alive: {answer.categories.tolist()}")
            print(f"refused: {error}")
part.Free()
