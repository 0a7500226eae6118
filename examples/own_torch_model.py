"""A pruned model of torch: in, trained on the ranks, out, and back in torch.

`mpirun -n 2 python examples/own_torch_model.py`
"""

from __future__ import annotations

import numpy as np
import torch
from mpi4py import MPI
from scipy import sparse
from torch import nn
from torch.nn.utils import prune

import hpc.spdnn
from hpc.io.samples import open_samples
from hpc.samples import sample_path

comm = MPI.COMM_WORLD
torch.manual_seed(0)  # the same model on every rank
model = nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
linears = [model[0], model[2]]
for linear in linears:
    prune.l1_unstructured(linear, "weight", amount=0.9)
    prune.remove(linear, "weight")

# In: (weight, bias, activation) of each layer. Files: `datasets from-torch`.
network = [
    (sparse.csr_array(linear.weight.detach().numpy()), linear.bias.detach().numpy(), activation)
    for linear, activation in zip(linears, ("relu", "identity"), strict=True)
]
digits = sample_path("digits")
options = hpc.spdnn.TrainOptions(epochs=3, batch=50, lr=0.005, optimizer="adam")
trained = hpc.spdnn.train(comm, network, digits, options, gather=True)

# Out: every rank gets rank 0's layers. Files: `hpc spdnn export trained.h5 --to model.pt`.
layers = comm.bcast(trained.layers)
answer = hpc.spdnn.infer(comm, layers, digits, scores=True)
if answer.scores is not None:
    with torch.no_grad():
        for linear, layer in zip(linears, layers, strict=True):
            linear.weight.copy_(torch.from_numpy(layer.weight.toarray()))
            linear.bias.copy_(torch.from_numpy(layer.bias))
    with open_samples(digits) as samples:
        x = samples.inputs(0, samples.header.n_samples, np.arange(784), np.float32).T
        labels = samples.labels()
    outputs = model(torch.from_numpy(np.ascontiguousarray(x))).detach().numpy()
    kept = sum(layer.weight.nnz for layer in layers) / sum(one.weight.numel() for one in linears)
    print(f"{100 * kept:.0f} % of the weights, loss {trained.history[-1].loss:.4f}")
    print(f"{100 * (outputs.argmax(1) == labels).mean():.1f} % of the digits named rightly")
    print(f"largest difference from torch: {np.abs(outputs - answer.scores).max():.1e}")
