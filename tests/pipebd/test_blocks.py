"""Block pairs: what is frozen, and what the checks refuse, in words a user can act on."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from hpc.io.errors import InputError
from hpc.pipebd.blocks import BlockPair, check_pairs, load_blocks

SAMPLE = torch.zeros(2, 3, 8, 8)


def conv(c_in: int, c_out: int, **options: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, **options), nn.BatchNorm2d(c_out))


def two_blocks() -> list[BlockPair]:
    return [
        BlockPair(conv(3, 4), conv(3, 4), name="first"),
        BlockPair(conv(4, 5, stride=2), conv(4, 5, stride=2), name="second"),
    ]


def test_teacher_is_frozen_and_student_is_not():
    teacher = conv(3, 4).train()
    pair = BlockPair(teacher, conv(3, 4))
    assert not any(layer.training for layer in pair.teacher.modules())
    assert not any(p.requires_grad for p in pair.teacher.parameters())
    assert all(p.requires_grad for p in pair.student.parameters())
    assert pair.student.training


def test_check_gives_the_shapes_and_moves_nothing():
    pairs = two_blocks()
    before = [{k: v.clone() for k, v in p.student.state_dict().items()} for p in pairs]
    assert check_pairs(pairs, torch.randn(2, 3, 8, 8)) == [(2, 4, 8, 8), (2, 5, 4, 4)]
    for pair, state in zip(pairs, before, strict=True):
        assert pair.student.training
        assert all(torch.equal(v, state[k]) for k, v in pair.student.state_dict().items())


def test_student_of_another_shape_is_named_with_both_shapes():
    pairs = two_blocks()
    pairs[1].student = conv(4, 5)
    with pytest.raises(InputError, match=r"block 1 \(second\).*\(5, 8, 8\).*\(5, 4, 4\)"):
        check_pairs(pairs, SAMPLE)


def test_data_that_do_not_fit_block_0():
    with pytest.raises(InputError, match=r"block 0 \(first\): the data have shape \(1, 8, 8\)"):
        check_pairs(two_blocks(), torch.zeros(2, 1, 8, 8))


def test_blocks_that_do_not_fit_each_other():
    pairs = two_blocks()[::-1]
    pairs[0] = BlockPair(conv(3, 4), conv(3, 4))
    pairs[1] = BlockPair(conv(7, 5), conv(7, 5), name="odd")
    with pytest.raises(InputError, match=r"block 1 \(odd\): its input has shape \(4, 8, 8\)"):
        check_pairs(pairs, SAMPLE)


def test_dropout_in_a_student_is_refused():
    pairs = two_blocks()
    pairs[0].student.append(nn.Dropout(0.1))
    with pytest.raises(InputError, match=r"block 0 \(first\).*dropout \(2\)"):
        check_pairs(pairs, SAMPLE)


def test_block_that_writes_into_its_input_is_refused():
    pairs = two_blocks()
    pairs[1].teacher = nn.Sequential(nn.ReLU(inplace=True), conv(4, 5, stride=2))
    with pytest.raises(InputError, match=r"block 1 \(second\): the teacher writes into its input"):
        check_pairs(pairs, SAMPLE)


def test_a_student_of_two_dtypes_is_refused():
    """On all ranks before the run: one rank alone would leave the others waiting."""

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.scale = conv(3, 4), nn.Parameter(torch.ones((), dtype=torch.float64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.conv(x) * self.scale

    pairs = two_blocks()
    pairs[0].student = Mixed()
    with pytest.raises(InputError, match=r"block 0 \(first\).*torch.float32, torch.float64"):
        check_pairs(pairs, SAMPLE)
    pairs[0].student.scale.requires_grad_(False)
    check_pairs(pairs, SAMPLE)


def test_student_with_nothing_to_train_is_refused():
    pairs = [BlockPair(nn.ReLU(), nn.ReLU())]
    with pytest.raises(InputError, match=r"block 0 .* no parameters to train"):
        check_pairs(pairs, SAMPLE)


OWN = """
from hpc.pipebd.blocks import BlockPair
from torch import nn
def good(): return [BlockPair(nn.ReLU(), nn.ReLU())]
def raises(): raise RuntimeError("no weights here")
def nothing(): return []
def other(): return {"a": 1}
def mixed(): return [BlockPair(nn.ReLU(), nn.ReLU()), nn.ReLU()]
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "own_blocks_for_test.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield "own_blocks_for_test"
    sys.modules.pop("own_blocks_for_test", None)


def test_own_blocks_load(own_module):
    assert len(load_blocks(f"{own_module}:good")) == 1


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("MODULE", "expected MODULE:FUNCTION"),
        ("MODULE:", "expected MODULE:FUNCTION"),
        ("no_such_module:f", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("MODULE:absent", "AttributeError.*absent"),
        ("MODULE:raises", "RuntimeError: no weights here"),
        ("MODULE:nothing", "returned an empty list, expected a list of BlockPair"),
        ("MODULE:other", "returned a dict, expected a list of BlockPair"),
        ("MODULE:mixed", "item 1 is a ReLU, expected a BlockPair"),
    ],
)
def test_own_blocks_that_cannot_be_used(own_module, spec, words):
    with pytest.raises(InputError, match=words):
        load_blocks(spec.replace("MODULE", own_module))
