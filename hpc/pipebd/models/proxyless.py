"""The ProxylessNAS supernet, block by block, and the networks that are derived from it.

A cell has up to seven candidates: inverted bottlenecks of kernel 3, 5, 7 and expansion 3,
6, and Zero, which leaves only the residual. Source: Cai et al. 2019 (ProxylessNAS).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from hpc.pipebd.models.mobilenetv2 import N_BLOCKS, Cell, cells_of, input_side, mbconv, stem, tail
from hpc.pipebd.option_values import Shape

CELLS = (2, 4, 4, 4, 4, 1)
KINDS = tuple((kernel, expansion) for kernel in (3, 5, 7) for expansion in (3, 6))
"""(kernel, expansion) of the candidates that compute something."""
ZERO = len(KINDS)
"""The candidate that computes nothing, allowed where a cell has a residual."""
NAMES = (*(f"k{kernel}e{expansion}" for kernel, expansion in KINDS), "zero")
EPS = 1e-3


def allowed_in(cell: Cell) -> list[bool]:
    """Return for every candidate whether a cell may take it.

    Parameters
    ----------
    cell : Cell
        Zero is for cells with a residual.

    Returns
    -------
    list of bool
        (7,), in the order of `NAMES`.
    """
    return [True] * ZERO + [cell.residual]


class MixedCell(nn.Module):
    """All candidates of a cell; runs the one that the path says.

    Parameters
    ----------
    cell : Cell
        Channels and stride.

    Attributes
    ----------
    candidates : nn.ModuleList
        Of KINDS, in this order.
    residual : bool
        Whether its input is added to its output.
    """

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.residual = cell.residual
        self.candidates = nn.ModuleList(mbconv(cell, *kind, EPS) for kind in KINDS)

    def forward(
        self, x: torch.Tensor, chosen: int, probabilities: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return the cell's output with one candidate.

        Parameters
        ----------
        x : (n, c_in, height, width) tensor
            Of the cell before.
        chosen : int
            Number of the candidate, see `NAMES`.
        probabilities : (7,) tensor, optional
            Of the candidates, in an architecture round: they get the gates' gradients.

        Returns
        -------
        (n, c_out, height / stride, width / stride) tensor
            `x` itself for Zero outside architecture rounds.
        """
        if probabilities is not None:
            y = _Gates.apply(x, probabilities, self.candidates, chosen)
        elif chosen == ZERO:
            return x
        else:
            y = self.candidates[chosen](x)
        return x + y if self.residual else y


class _Gates(torch.autograd.Function):
    """The chosen candidate's output, whose backward gives the gradient of every gate.

    g_k = Σ out_k · grad_out. The other candidates are run one by one in the backward pass, so
    that only the chosen one's activations are kept, as in a weight round.
    Returned as the gradient of the probabilities p, it makes autograd's softmax give
    ∂α_i = Σ_j g_j p_j (δ_ij − p_i). Source: ProxylessNAS, its equation 4.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        probabilities: torch.Tensor,
        candidates: nn.ModuleList,
        chosen: int,
    ) -> torch.Tensor:
        ctx.candidates, ctx.chosen = candidates, chosen
        ctx.x = x.detach().requires_grad_(ctx.needs_input_grad[0])
        if chosen == ZERO:
            ctx.y = torch.zeros_like(x)
        else:
            with torch.enable_grad():
                ctx.y = candidates[chosen](ctx.x)
        return ctx.y.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        gates = grad.new_zeros(len(NAMES))
        for k, candidate in enumerate(ctx.candidates):
            with torch.no_grad():
                y = ctx.y if k == ctx.chosen else candidate(ctx.x)
                gates[k] = (y * grad).sum()
        grad_x = None
        if ctx.needs_input_grad[0] and ctx.chosen != ZERO:
            (grad_x,) = torch.autograd.grad(ctx.y, ctx.x, grad)
        del ctx.x, ctx.y
        return grad_x, gates, None, None


class SupernetBlock(nn.Module):
    """One block of the supernet.

    Training it runs `path`, one candidate a cell; in eval mode the most probable path.

    Parameters
    ----------
    index : int
        Of the block, 0..5; the first has the stem, the last the classifier.
    shape : str
        'cifar' or 'imagenet'.
    width : float
        Factor on all channels but the image's, > 0.
    n_classes : int
        Logits of block 5.

    Attributes
    ----------
    alpha : (cells, 7) nn.Parameter
        The architecture parameters; those not allowed are never chosen.
    path : tuple of int
        Candidate of every cell, see `NAMES`.
    searching : bool
        An architecture round, in which alpha gets gradients.
    flops : (cells, 7) float64 tensor
        Multiply-adds of the candidates for one image.
    """

    def __init__(self, index: int, shape: Shape, width: float, n_classes: int) -> None:
        super().__init__()
        cells = cells_of(index, CELLS[index], shape, width)
        self.stem, self.tail = _ends(index, shape, width, n_classes)
        self.cells = nn.ModuleList(map(MixedCell, cells))
        self.alpha = nn.Parameter(torch.zeros(len(cells), len(NAMES)))
        self.register_buffer("allowed", torch.tensor(list(map(allowed_in, cells))), False)
        self.flops = torch.tensor(_flops(cells, input_side(index, shape)), dtype=torch.float64)
        self.searching = False
        self._known: tuple[Any, list[list[float]], tuple[int, ...]] | None = None
        self.path = self.best_path()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run the path.

        Parameters
        ----------
        x : (n, channels, height, width) tensor
            Of the teacher block before, or images.

        Returns
        -------
        (n, channels, height, width) tensor
            Of the teacher block's shape; block 5 gives (n, n_classes) logits.
        """
        path = self.path if self.training else self.best_path()
        gates: Sequence[torch.Tensor | None] = [None] * len(path)
        if self.searching and self.training:
            gates = list(self.probabilities())
        x = self.stem(x)
        for cell, chosen, gate in zip(self.cells, path, gates, strict=True):
            x = cell(x, chosen, gate)
        return self.tail(x)

    def probabilities(self) -> torch.Tensor:
        """Return softmax(alpha) over the allowed candidates, differentiable.

        Returns
        -------
        (cells, 7) tensor
            0 where a candidate is not allowed.
        """
        return self.alpha.masked_fill(~self.allowed, -torch.inf).softmax(1)

    def host_probabilities(self) -> list[list[float]]:
        """Return the probabilities as numbers; read from the device only when alpha has changed.

        Returns
        -------
        list of list of float
            (cells, 7), worked out in float64.
        """
        return self._on_host()[0]

    def best_path(self) -> tuple[int, ...]:
        """Return the most probable candidate of every cell.

        Returns
        -------
        tuple of int
            Numbers of `NAMES`; of equal ones the first.
        """
        return self._on_host()[1]

    def _on_host(self) -> tuple[list[list[float]], tuple[int, ...]]:
        state = (id(self.alpha), self.alpha._version)
        if self._known is None or self._known[0] != state:
            alpha = self.alpha.detach().double().cpu()
            masked = alpha.masked_fill(~self.allowed.cpu(), -torch.inf)
            self._known = (state, masked.softmax(1).tolist(), tuple(masked.argmax(1).tolist()))
        return self._known[1:]

    def path_parameters(self) -> list[nn.Parameter]:
        """Return the weights that `path` runs: of the chosen candidates and both ends.

        Returns
        -------
        list of nn.Parameter
            Empty where every cell takes Zero and the block has no ends.
        """
        chosen = [
            cell.candidates[kind]
            for cell, kind in zip(self.cells, self.path, strict=True)
            if kind != ZERO
        ]
        return [p for part in (self.stem, *chosen, self.tail) for p in part.parameters()]


class DerivedBlock(nn.Sequential):
    """One block of the network that a search has found: one candidate a cell.

    Parameters
    ----------
    index : int
        Of the block, 0..5.
    names : sequence of str
        Of its cells' candidates, see `NAMES`; a cell that takes Zero is left out.
    shape : str
        'cifar' or 'imagenet'.
    width : float
        Factor on all channels but the image's, > 0.
    n_classes : int
        Logits of block 5.
    """

    def __init__(
        self, index: int, names: Sequence[str], shape: Shape, width: float, n_classes: int
    ) -> None:
        cells = cells_of(index, CELLS[index], shape, width)
        first, last = _ends(index, shape, width, n_classes)
        chosen = [
            DerivedCell(cell, NAMES.index(name))
            for cell, name in zip(cells, names, strict=True)
            if name != NAMES[ZERO]
        ]
        super().__init__(first, nn.Sequential(*chosen), last)


class DerivedCell(nn.Module):
    """A cell of a derived network.

    Parameters
    ----------
    cell : Cell
        Channels and stride.
    kind : int
        Of `KINDS`.
    """

    def __init__(self, cell: Cell, kind: int) -> None:
        super().__init__()
        self.candidate = mbconv(cell, *KINDS[kind], EPS)
        self.residual = cell.residual

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the cell's output.

        Parameters
        ----------
        x : (n, c_in, height, width) tensor
            Of the cell before.

        Returns
        -------
        (n, c_out, height / stride, width / stride) tensor
            Rounded up.
        """
        return x + self.candidate(x) if self.residual else self.candidate(x)


def inherit(derived: DerivedBlock, supernet: SupernetBlock, names: Sequence[str]) -> None:
    """Give a derived block the supernet's weights.

    Parameters
    ----------
    derived : DerivedBlock
        Of these candidates; its weights and buffers are replaced.
    supernet : SupernetBlock
        The block with the same index and sizes.
    names : sequence of str
        Of its cells' candidates.
    """
    first, cells, last = derived
    first.load_state_dict(supernet.stem.state_dict())
    last.load_state_dict(supernet.tail.state_dict())
    sources = [
        cell.candidates[NAMES.index(name)]
        for cell, name in zip(supernet.cells, names, strict=True)
        if name != NAMES[ZERO]
    ]
    for cell, source in zip(cells, sources, strict=True):
        cell.candidate.load_state_dict(source.state_dict())


def _ends(
    index: int, shape: Shape, width: float, n_classes: int
) -> tuple[nn.Sequential, nn.Sequential]:
    """Return what precedes and what follows the cells of a block: nothing in the middle."""
    first, last = nn.Sequential(), nn.Sequential()
    if index == 0:
        conv, cell = stem(shape, width, EPS)
        first = nn.Sequential(conv, mbconv(cell, 3, 1, EPS))
    if index == N_BLOCKS - 1:
        last = nn.Sequential(tail(width, n_classes, EPS))
    return first, last


def _flops(cells: Sequence[Cell], side: int) -> list[list[float]]:
    """Return the multiply-adds of every candidate of every cell; `side` of the block's input."""
    table = []
    for cell in cells:
        out = -(-side // cell.stride)
        row = []
        for kernel, expansion in KINDS:
            hidden = cell.c_in * expansion
            spatial = kernel**2 * hidden + hidden * cell.c_out
            row.append(float(cell.c_in * hidden * side**2 + spatial * out**2))
        table.append([*row, 0.0])
        side = out
    return table
