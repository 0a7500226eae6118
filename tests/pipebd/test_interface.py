"""Pipe-BD called from a script, with its own communicator: lists of blocks, arrays, errors."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

import hpc.pipebd
from hpc.comm.world import AgreedError
from hpc.pipebd import BlockPair, Profile, Recipe, SgdSettings, TrainingOptions
from hpc.pipebd.student_file import read_student
from tests.pipebd.reference_loop import compress
from tests.pipebd.small_runs import NAS, write_images

N_IMAGES, EPOCHS, LR = 12, 3, 0.05


def blocks(dtype=torch.float64):
    """Return three blocks on vectors of 5 numbers, the same on every rank."""
    torch.manual_seed(3)
    pairs = [
        (nn.Sequential(nn.Linear(5, 8), nn.Tanh()), nn.Linear(5, 8)),
        (nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Sequential(nn.Linear(8, 8), nn.ReLU())),
        (nn.Linear(8, 4), nn.Linear(8, 4)),
    ]
    return [BlockPair(teacher.to(dtype), student.to(dtype)) for teacher, student in pairs]


def vectors(n=N_IMAGES):
    generator = np.random.default_rng(0)
    return generator.standard_normal((n, 5)), generator.integers(0, 4, n)


def pixels(n=N_IMAGES):
    generator = np.random.default_rng(0)
    return generator.integers(0, 256, (n, 3, 8, 8), np.uint8), np.arange(n) % 4


@pytest.mark.mpi
@pytest.mark.parametrize("schedule", ["tr+dpu", "ir", "dp"])
def test_a_list_of_blocks_on_some_of_the_ranks(part, schedule):
    """The last rank takes no part at all. Whole batches, so that their order plays no role."""
    if part is None:
        return
    pairs, (x, labels) = blocks(), vectors()
    students = [copy.deepcopy(pair.student) for pair in pairs]
    batches = [torch.from_numpy(x)] * EPOCHS
    compress([pair.teacher for pair in pairs], students, batches, LR, 0.9)
    told = []
    found = hpc.pipebd.train(
        part, pairs, (x, labels), schedule, TrainingOptions(N_IMAGES, EPOCHS, LR),
        dtype="float64", device="cpu", on_epoch=lambda epoch: told.append(epoch.epoch),
    )  # fmt: skip
    assert (found.student is None) == (part.rank > 0)
    assert told[:3] == list(range(EPOCHS)) and found.details.times.steps == EPOCHS
    if found.student is not None:
        expected = nn.Sequential(*students)(torch.from_numpy(x))
        torch.testing.assert_close(found.student(torch.from_numpy(x)), expected, rtol=1e-9, atol=0)


@pytest.mark.mpi
def test_images_are_normalised_as_those_of_a_file(comm, shared_tmp):
    """The same pixels from a file and from memory, up to the statistics that they are given."""
    path = shared_tmp / "x.h5"
    if comm.rank == 0:
        write_images(path, 12, 4, side=8)
    comm.Barrier()
    from hpc.io.image_arrays import ImageArrays
    from hpc.io.images import open_images
    from hpc.pipebd.data import ImageBatches

    with open_images(path) as file:
        images = {split: (file.pixels(split), file.labels(split)) for split in file.sizes}
    made = ImageArrays(images)
    batch = ImageBatches(made, "train", 12, 0, training=False).load(0, 0)
    x = torch.tensor(images["train"][0]).double() / 255
    mean, std = x.mean((0, 2, 3), keepdim=True), x.std((0, 2, 3), correction=0, keepdim=True)
    torch.testing.assert_close(batch.images.double(), (x - mean) / std, rtol=0, atol=1e-5)
    assert batch.labels.tolist() == images["train"][1].tolist()
    assert made.sizes == {"train": 12, "test": 4}


@pytest.mark.mpi
def test_profile_plan_train(comm, shared_tmp):
    spec, data = "tests.pipebd.user_blocks:good", {"train": pixels(), "test": pixels(4)}
    measured = hpc.pipebd.profile(comm, spec, data, batch=6, steps=1, device="cpu")
    assert isinstance(measured, Profile) and len(measured.blocks) == 2
    assert all(other == measured for other in comm.allgather(measured))
    plan = hpc.pipebd.plan(measured, comm.size)
    assert plan.prediction.step_s > 0 and len(plan.prediction.idle) == comm.size
    out = shared_tmp / "student.pt"
    found = hpc.pipebd.train(
        comm, spec, data, "ahd", TrainingOptions(6, 2), profile=measured, out=out, device="cpu"
    )
    assert str(found.plan.choice.schedule) == str(plan.choice.schedule)
    comm.Barrier()
    recipe, student = read_student(out, torch.float32)
    assert recipe.blocks == spec
    if comm.rank == 0:
        for key, value in found.student.state_dict().items():
            assert torch.equal(value, student.state_dict()[key])


@pytest.mark.mpi
def test_a_search_by_recipe(comm):
    x = np.random.default_rng(0).integers(0, 256, (12, 3, 16, 16), np.uint8)
    recipe = Recipe(workload=NAS, width=0.05)
    with pytest.raises(AgreedError, match="takes \\(3, 32, 32\\)"):
        hpc.pipebd.train(comm, recipe, (x, np.arange(12) % 3), options=TrainingOptions(4))


@pytest.mark.mpi
def test_finetune_and_evaluate_on_some_of_the_ranks(part):
    """SGD on whole batches is plain torch's, on any number of ranks."""
    if part is None:
        return
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 4)).double()
    reference = copy.deepcopy(model)
    x, labels = vectors()
    settings = SgdSettings(0.3, momentum=0.5)
    optimizer = torch.optim.SGD(reference.parameters(), lr=0.3, momentum=0.5)
    losses = []
    for _ in range(2):
        loss = nn.functional.cross_entropy(reference(torch.from_numpy(x)), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    history = hpc.pipebd.finetune(
        part, model, (x, labels), settings, batch=N_IMAGES, epochs=2, device="cpu"
    )
    np.testing.assert_allclose([epoch.loss for epoch in history], losses, rtol=1e-10)
    for mine, other in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-9, atol=1e-12)
    right = float((reference(torch.from_numpy(x)).argmax(1).numpy() == labels).mean())
    accuracy = hpc.pipebd.evaluate(part, model, (x, labels), batch=7, device="cpu")
    assert accuracy == pytest.approx(right)
    swapped = {"train": (x, labels), "test": (x[:5], (labels[:5] + 1) % 4)}
    named = reference(torch.from_numpy(x[:5])).argmax(1).numpy() == (labels[:5] + 1) % 4
    assert hpc.pipebd.evaluate(part, model, swapped, device="cpu") == pytest.approx(named.mean())


SMALL = TrainingOptions(6)
BAD = {
    "no blocks": ({"blocks": []}, "expected a list of at least one BlockPair"),
    "no pairs": ({"blocks": [nn.Linear(5, 4)]}, "expected a list of at least one BlockPair"),
    "no module": ({"blocks": "gone.away:blocks"}, "ModuleNotFoundError"),
    "workload": ({"blocks": "vgg99"}, "unknown workload 'vgg99'"),
    "shapes": ({"data": pixels()}, "block 0 (block0): the data have shape (3, 8, 8)"),
    "no file": ({"data": "none.h5"}, "no such file"),
    "labels": ({"data": (vectors()[0], np.zeros(3, int))}, "labels are (3,) int64"),
    "splits": ({"data": {"test": vectors()}}, "has test, expected 'train'"),
    "test images": ({"data": {"train": vectors(), "test": pixels()}}, "test images are (3, 8, 8)"),
    "integers": ({"data": (np.zeros((6, 5), int), np.zeros(6, int))}, "expected (n, channels"),
    "not finite": ({"data": (np.full((6, 5), np.inf), np.zeros(6, int))}, "not all finite"),
    "batch": ({"options": TrainingOptions(99)}, "12 training images, a batch takes 99"),
    "no batch": ({"options": TrainingOptions(0)}, "batch 0: expected at least 1"),
    "schedule": ({"schedule": "fast"}, "unknown schedule 'fast'"),
    "queue": ({"queue": 0}, "queue 0"),
    "dtype": ({"dtype": "float16"}, "dtype 'float16'"),
    "device": ({"device": "tpu"}, "unknown device 'tpu'"),
    "transport": ({"transport": "pigeon"}, "unknown transport 'pigeon'"),
    "out": ({"out": "student.pt"}, "cannot be built again from a file"),
    "profile": ({"profile": "none.json"}, "none.json"),
}


@pytest.mark.mpi
@pytest.mark.parametrize("case", BAD)
def test_all_ranks_raise(comm, case):
    asked, message = BAD[case]
    given = {
        "blocks": blocks(), "data": vectors(), "schedule": "tr", "options": SMALL,
        "dtype": "float64", "device": "cpu", **asked,
    }  # fmt: skip
    with pytest.raises(AgreedError) as error:
        hpc.pipebd.train(comm, **given)
    assert message in str(error.value) and isinstance(error.value, ValueError)
    comm.Barrier()


@pytest.mark.mpi
def test_ranks_with_other_weights_are_told(comm):
    if comm.size == 1:
        return
    pairs = blocks()
    if comm.rank == comm.size - 1:
        pairs[1].student[0].weight.data += 1
    with pytest.raises(AgreedError, match=f"weights of block 1 is .* on rank {comm.size - 1}"):
        hpc.pipebd.train(comm, pairs, vectors(), "tr", SMALL, dtype="float64", device="cpu")
    model = nn.Linear(5, 4 + (comm.rank == 1))
    for call in (hpc.pipebd.finetune, hpc.pipebd.evaluate):
        more = {"settings": SgdSettings(0.1)} if call is hpc.pipebd.finetune else {}
        with pytest.raises(AgreedError, match="weights is"):
            call(comm, model, vectors(), **more)


class Steep(nn.Module):
    """Always of the same opinion, and as sure of it as a number can be."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(4, dtype=torch.float64))

    def forward(self, x):
        sure = torch.tensor([1.5e308, 0, 0, 0], dtype=torch.float64)
        return (self.bias + sure).expand(len(x), 4)


@pytest.mark.mpi
def test_losses_that_are_finite_but_not_their_sum_are_an_error_on_all(comm):
    x, labels = vectors(2 * comm.size)[0], np.ones(2 * comm.size, int)
    with pytest.raises(AgreedError, match=r"the loss is 1.5e\+308 in step \d of epoch 1: lower"):
        hpc.pipebd.finetune(comm, Steep(), (x, labels), batch=comm.size, settings=SgdSettings(0.1))


@pytest.mark.mpi
def test_a_model_that_cannot_be_trained_is_refused_by_all(comm):
    torch.manual_seed(0)
    frozen = nn.Linear(5, 4).requires_grad_(False)
    mixed = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 4).double())
    for model, words in ((frozen, "has no parameters to train"), (mixed, "differ in dtype")):
        with pytest.raises(AgreedError, match=f"the model .*{words}"):
            hpc.pipebd.finetune(comm, model, vectors(), batch=4, settings=SgdSettings(0.1))


@pytest.mark.mpi
def test_ranks_with_other_images_are_told(comm):
    """Fewer on one rank would leave the others waiting."""
    if comm.size == 1:
        return
    data = vectors(N_IMAGES + 8 * (comm.rank == comm.size - 1))
    with pytest.raises(AgreedError, match=f"images is .* on rank {comm.size - 1}"):
        hpc.pipebd.train(comm, blocks(), data, "tr", SMALL, dtype="float64", device="cpu")
    model = nn.Linear(5, 4)
    model.weight.data.fill_(0.1), model.bias.data.fill_(0)
    for call in (hpc.pipebd.finetune, hpc.pipebd.evaluate):
        more = {"settings": SgdSettings(0.1)} if call is hpc.pipebd.finetune else {}
        with pytest.raises(AgreedError, match="images is"):
            call(comm, model, data, batch=4, **more)


@pytest.mark.mpi
def test_a_checkpoint_is_gone_on_from(comm, shared_tmp):
    """Begun anew from what the first run has kept, the second ends as one without a stop."""

    def run(epochs, **more):
        return hpc.pipebd.train(
            comm, blocks(), vectors(), "tr+dpu", TrainingOptions(6, epochs, LR), dtype="float64",
            device="cpu", **more,
        )  # fmt: skip

    from hpc.io.checkpoint_options import Every
    from hpc.pipebd import CheckpointOptions

    kept = CheckpointOptions(shared_tmp / "kept", Every(steps=1))
    epochs = 20  # ranks of a relay agree on a checkpoint some rounds ahead
    plain = run(epochs)
    first = run(epochs, checkpoint=kept)
    again = run(epochs, checkpoint=kept)
    assert first.details.times.done_before == 0 and again.details.times.done_before > 0
    if comm.rank == 0:
        for found in (first, again):
            for key, value in plain.student.state_dict().items():
                assert torch.equal(found.student.state_dict()[key], value)


def test_a_plan_needs_no_mpi_and_no_torch():
    import subprocess
    import sys

    from tests.launching import ROOT

    code = (
        "import sys, hpc.pipebd; "
        "plan = hpc.pipebd.plan('tests/pipebd/profiles/a6000.json', 4); "
        "print(plan.choice.schedule, [m for m in ('mpi4py', 'torch') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout == "0-2@0-2 3-5@3 []\n", ran.stdout + ran.stderr
