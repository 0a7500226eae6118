"""`python -m hpc.pipebd.cuda_probe DEVICE`: does MPI send from and receive into device memory?

Ends with code 0 if it does. Run it in a process of its own: MPI may crash.
"""

from __future__ import annotations

import sys

import torch
from mpi4py import MPI

SIZES = (64, 1 << 20)
"""Numbers a message: one that is sent at once, one that waits for its receiver."""


def main(index: int) -> None:
    """Send to this process itself, from and into device memory.

    Parameters
    ----------
    index : int
        Of the device.

    Raises
    ------
    RuntimeError : something else arrives.
    """
    torch.cuda.set_device(index)
    for size in SIZES:
        sent = torch.arange(size, dtype=torch.float32, device="cuda")
        found = torch.zeros_like(sent)
        torch.cuda.synchronize()
        receive = MPI.COMM_SELF.Irecv(found, 0)
        MPI.COMM_SELF.Send(sent, 0)
        receive.Wait()
        if not torch.equal(sent, found):
            raise RuntimeError(f"a message of {size} numbers did not arrive as it was sent")


if __name__ == "__main__":
    main(int(sys.argv[1]))
