"""Paths, architectures and the networks derived from them."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hpc.io.errors import FormatError, InputError
from hpc.pipebd.models import proxyless
from hpc.pipebd.models.proxyless import CELLS, NAMES, ZERO, SupernetBlock, inherit
from hpc.pipebd.nas import derive, read_architecture, sample_path, write_architecture
from hpc.pipebd.workloads import workload

FOUND = tuple(("k5e6",) * n for n in CELLS)


def block(index=1, width=0.1):
    torch.manual_seed(0)
    return SupernetBlock(index, "cifar", width, 10)


def test_paths_are_drawn_as_often_as_they_are_probable():
    probabilities = [[0.1, 0.2, 0.3, 0.4, 0, 0, 0], [0.5, 0, 0, 0, 0, 0, 0.5]]
    generator = np.random.default_rng(0)
    drawn = np.array([sample_path(probabilities, generator) for _ in range(4000)])
    for cell in range(2):
        share = np.bincount(drawn[:, cell], minlength=7) / 4000
        assert np.abs(share - probabilities[cell]).max() < 0.03


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 2**20))
@settings(max_examples=50, deadline=None)
def test_what_is_not_allowed_is_never_drawn(u, seed):
    class Fixed:
        def random(self, shape):
            return np.full(shape, u)

    logits = np.random.default_rng(seed).normal(size=(3, 7)).astype(np.float32)
    p = np.exp(logits)
    p[:, ZERO] = p[0, 0] = 0
    path = sample_path(p / p.sum(1, keepdims=True), Fixed())
    assert ZERO not in path
    assert path[0] != 0


def test_probabilities_on_the_host_follow_alpha():
    supernet = block()
    assert np.allclose(supernet.host_probabilities()[0], [1 / 6] * 6 + [0])
    assert np.allclose(supernet.host_probabilities()[1], [1 / 7] * 7)
    with torch.no_grad():
        supernet.alpha[1, 2] = 3.0
    p = torch.tensor(supernet.host_probabilities())
    torch.testing.assert_close(p.float(), supernet.probabilities().detach())
    assert supernet.best_path()[1] == 2
    other = copy.deepcopy(supernet)
    with torch.no_grad():
        other.alpha[1, 4] = 5.0
    assert other.best_path()[1] == 4
    supernet.load_state_dict(other.state_dict())
    assert supernet.best_path()[1] == 4


def test_eval_runs_the_most_probable_path_whatever_was_drawn_last():
    supernet, x, outputs = block().eval(), torch.randn(2, 8, 8, 8), []
    for best, path in ((3, (0, 0, 0, 0)), (3, (1, 2, ZERO, 5)), (4, (1, 2, ZERO, 5))):
        with torch.no_grad():
            supernet.alpha.zero_()[:, best] = 1.0
        supernet.path = path
        outputs.append(supernet(x))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[1], outputs[2])


def test_zero_leaves_the_residual():
    supernet = block().train()
    supernet.path = (1, ZERO, ZERO, ZERO)
    x = torch.randn(2, 8, 8, 8)
    expected = copy.deepcopy(supernet.cells[0].candidates[1])(x)
    assert torch.equal(supernet(x), expected)


def test_multiply_adds_are_those_that_are_done():
    """Counted at the convolutions while each candidate runs."""
    supernet = block(2, width=0.5).eval()
    side, done = 16, []

    def count(layer, inputs, output):
        done.append(layer.weight[0].numel() * output[0].numel())

    for layer in supernet.modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(count)
    x = torch.zeros(1, 16, side, side)
    for place, cell in enumerate(supernet.cells):
        for kind, candidate in enumerate(cell.candidates):
            done.clear()
            y = candidate(x)
            assert supernet.flops[place, kind] == sum(done)
        x = y
    assert (supernet.flops[:, ZERO] == 0).all()


def test_derived_network_computes_what_the_supernet_does_on_that_path():
    built = workload("mobilenetv2-proxyless", width=0.1, seed=1)
    torch.manual_seed(0)
    x = torch.randn(2, 3, 32, 32)
    for index, pair in enumerate(built.pairs):
        supernet = pair.student
        with torch.no_grad():
            supernet.alpha.normal_()
            supernet.alpha[-1, ZERO] += 9 * float(supernet.allowed[-1, ZERO])
        names = derive([supernet])[0]
        derived = built.build_derived(index, names)
        inherit(derived, supernet, names)
        assert (names[-1] == "zero") == (index < 5)
        supernet.path = supernet.best_path()
        train = copy.deepcopy(supernet).train()(x), copy.deepcopy(derived).train()(x)
        torch.testing.assert_close(*train)
        torch.testing.assert_close(supernet.eval()(x), derived.eval()(x))
        x = pair.teacher(x)


def test_derived_network_keeps_the_chosen_candidates_only():
    built = workload("mobilenetv2-proxyless", width=0.1)
    derived = built.build_derived(3, ("k3e3", "zero", "k7e6", "zero"))
    kernels = [
        layer.kernel_size[0]
        for layer in derived.modules()
        if isinstance(layer, torch.nn.Conv2d) and layer.groups > 1
    ]
    assert kernels == [3, 7]


def test_only_a_search_has_an_architecture():
    with pytest.raises(InputError, match="vgg16-dsconv is not a search"):
        workload("vgg16-dsconv", width=0.1).build_derived(0, ("k3e3",))


def test_architecture_files(tmp_path):
    path = tmp_path / "found.json"
    write_architecture(path, FOUND)
    assert read_architecture(path, "imagenet", 1.0) == FOUND


def changed(block_index, place, name):
    blocks = [list(names) for names in FOUND]
    blocks[block_index][place] = name
    return {"blocks": blocks}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("no json", "not an architecture file"),
        ([1], "not an architecture file"),
        ({"blocks": 3}, "not an architecture file"),
        ({"blocks": [["k3e3"]]}, r"blocks of \(1,\) cells, expected \(2, 4, 4, 4, 4, 1\)"),
        (changed(2, 1, "k9e9"), "block 2 cell 1: 'k9e9', expected k3e3, .*zero"),
        (changed(2, 0, "zero"), "block 2 cell 0: 'zero', expected .*k7e6$"),
    ],
)
def test_architectures_that_do_not_fit(tmp_path, content, words):
    path = tmp_path / "found.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError, match=words):
        read_architecture(path, "imagenet", 1.0)


def test_no_architecture_file(tmp_path):
    with pytest.raises(FormatError, match="absent"):
        read_architecture(tmp_path / "absent.json", "cifar", 1.0)


def test_candidates_and_cells_of_the_reference():
    assert NAMES == ("k3e3", "k3e6", "k5e3", "k5e6", "k7e3", "k7e6", "zero")
    built = workload("mobilenetv2-proxyless", "imagenet")
    supernets = [built.student_of(index) for index in range(6)]
    assert tuple(len(supernet.cells) for supernet in supernets) == (2, 4, 4, 4, 4, 1)
    for supernet in supernets:
        assert supernet.allowed[:, :ZERO].all()
        assert supernet.allowed[:, ZERO].tolist() == [False] + [True] * (len(supernet.cells) - 1)
        norms = [m for m in supernet.modules() if isinstance(m, torch.nn.BatchNorm2d)]
        assert {(norm.momentum, norm.eps) for norm in norms} == {(0.1, 1e-3)}
    assert proxyless.CELLS == CELLS
