"""Students written for plain torch compute the same in a process that has none of our code."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import nn

from hpc.command_line import main
from hpc.io.errors import InputError
from hpc.pipebd.compress import assemble
from hpc.pipebd.exporting import export, format_of
from hpc.pipebd.models.proxyless import CELLS
from hpc.pipebd.recipe import Recipe, build_student
from hpc.pipebd.student_file import write_student
from tests.launching import run_alone
from tests.pipebd import user_blocks
from tests.pipebd.small_runs import NAS, VGG

OWN = "tests.pipebd.user_blocks:good"
LOAD = {
    "torchscript": "model = torch.jit.load('{}')",
    "export": "model = torch.export.load('{}').module()",
    "state": "model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Sequential(nn.Flatten(), "
    "nn.Linear(144, 144)))\nmodel.load_state_dict(torch.load('{}', weights_only=True))",
}
"""How a user loads each format. Nothing of ours."""


def trained(recipe, shape, dtype=torch.float32):
    """Return a student whose weights and batch statistics are not those of a fresh one."""
    model = build_student(recipe).to(dtype)
    torch.manual_seed(4)
    with torch.no_grad():
        for _ in range(3):
            model.train()(torch.randn(8, *shape, dtype=dtype))
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def plain(folder, form, path, batches):
    """Return what the file gives for batches in a fresh interpreter, outside the repository."""
    torch.save(batches, folder / "x.pt")
    code = "\n".join([
        "import sys, torch", "from torch import nn", LOAD[form].format(path),
        "with torch.no_grad():",
        f"    torch.save([model(x) for x in torch.load('{folder}/x.pt')], '{folder}/y.pt')",
        "assert not [m for m in sys.modules if m.split('.')[0] in ('hpc', 'mpi4py')]",
    ])  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return torch.load(folder / "y.pt")


SMALL = [
    (Recipe(workload=VGG, width=1 / 32), (3, 32, 32)),
    (Recipe(workload=NAS, width=0.05, architecture=tuple(("k3e3",) * n for n in CELLS)), None),
    (Recipe(blocks=OWN), (3, 8, 8)),
]


def small(which):
    recipe, shape = SMALL[which]
    return recipe, shape or recipe.built_in().input_shape


@pytest.mark.parametrize(
    ("which", "form"),
    [(0, "torchscript"), (0, "export"), (1, "torchscript"), (2, "torchscript"), (2, "state")],
)  # fmt: skip
def test_plain_torch_computes_the_same(tmp_path, which, form):
    recipe, shape = small(which)
    model = trained(recipe, shape)
    write_student(tmp_path / "student.pt", recipe, model)
    to = tmp_path / "out"
    assert export(tmp_path / "student.pt", to, form, shape if which == 2 else None) == form
    batches = [torch.randn(n, *shape) for n in (1, 5)]  # other sizes than what was traced
    for x, found in zip(batches, plain(tmp_path, form, to, batches), strict=True):
        with torch.no_grad():
            torch.testing.assert_close(found, model.eval()(x), rtol=1e-5, atol=1e-6)


def test_a_state_dict_is_plain_and_needs_no_blocks(tmp_path):
    """Also where the module of the user's blocks is not at hand."""
    recipe = Recipe(blocks="gone.away:blocks")
    model = assemble([pair.student for pair in user_blocks.good()], nn.Identity())
    write_student(tmp_path / "student.pt", recipe, model)
    assert export(tmp_path / "student.pt", tmp_path / "state.pth") == "state"
    state = torch.load(tmp_path / "state.pth", weights_only=True)
    assert list(state) == ["0.weight", "0.bias", "1.1.weight", "1.1.bias"]
    for key, value in model.state_dict().items():
        assert torch.equal(state[key], value)


def test_double_precision_stays(tmp_path):
    recipe, shape = small(2)
    model = trained(recipe, shape, torch.float64)
    write_student(tmp_path / "student.pt", recipe, model)
    export(tmp_path / "student.pt", tmp_path / "out.ts", input_shape=shape)
    x = torch.randn(2, *shape, dtype=torch.float64)
    with torch.no_grad():
        expected = model.eval()(x)
    (found,) = plain(tmp_path, "torchscript", tmp_path / "out.ts", [x])
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("blocks", "options", "message"),
    [
        (OWN, ("--to", "a.ts"), "give its shape, such as --input 3x32x32"),
        (OWN, ("--to", "a.ts", "--input", "3x0"), "--input 3x0: expected a shape"),
        (OWN, ("--to", "a.ts", "--input", "3x9x9"), "does not take inputs of shape (3, 9, 9)"),
        (OWN, ("--to", "a.onnx"), "suffix '.onnx' names no format"),
        (OWN, ("--to", "a.pt", "--format", "onnx"), "expected one of state, torchscript, export"),
        (OWN, ("--to", "student.pt"), "would replace the file that 'student' names"),
        ("gone.away:blocks", ("--to", "a.ts", "--input", "3x8x8"), "ModuleNotFoundError"),
        ("tests.pipebd.untraceable:pairs", ("--to", "a.ts", "--input", "3x8x8"),
         "--format torchscript: block 1 cannot be traced (TracerWarning"),
        ("tests.pipebd.untraceable:pairs", ("--to", "a.pt2", "--input", "3x8x8"),
         "--format export: block 1 cannot be traced (GuardOnDataDependent"),
    ],
)  # fmt: skip
def test_bad_requests(tmp_path, capfd, blocks, options, message):
    known = OWN if blocks.startswith("gone") else blocks
    write_student(
        tmp_path / "student.pt", Recipe(blocks=blocks), build_student(Recipe(blocks=known))
    )
    places = [tmp_path / text if k == 1 else text for k, text in enumerate(options)]
    command = ["pipebd", "export", tmp_path / "student.pt", *places]
    assert main([str(word) for word in command]) == 2
    said = capfd.readouterr()
    assert message in said.err and said.err.count("\n") == 1 and not said.out
    assert [path.name for path in tmp_path.iterdir()] == ["student.pt"]


def test_what_was_traced_wrongly_is_not_written(tmp_path, monkeypatch):
    class Noisy(nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    model = nn.Sequential(nn.Conv2d(3, 4, 3), Noisy())
    monkeypatch.setattr("hpc.pipebd.exporting.build", lambda *args: model)
    write_student(tmp_path / "student.pt", Recipe(blocks=OWN), model)
    with pytest.raises(InputError, match="other outputs than the student for another batch"):
        export(tmp_path / "student.pt", tmp_path / "a.ts", input_shape=(3, 8, 8))
    assert not (tmp_path / "a.ts").exists()


def test_the_command(tmp_path):
    recipe, shape = small(0)
    write_student(tmp_path / "student.pt", recipe, trained(recipe, shape))
    to = tmp_path / "out.ts"
    ran = run_alone("-m", "hpc", "pipebd", "export", tmp_path / "student.pt", "--to", to)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{to}: torchscript, {to.stat().st_size:,} bytes\n" and not ran.stderr


def test_formats_by_suffix():
    assert [format_of(to, None) for to in ("a.pt", "b.pth", "c.ts", "d.pt2")] == [
        "state", "state", "torchscript", "export",
    ]  # fmt: skip
