"""--config of a file that not all ranks see, or not the same one: one message, code 2, no hang."""

import pytest

from tests.launching import run_ranks

COMMAND = ("-m", "tests.cli.elsewhere")
INFER = ("spdnn", "infer", "no.h5", "no.h5", "--config", "run.toml")
UNREAD = "cannot be read (No such file or directory)"
SAME = "expected the same on all ranks"


def run_with(folder, texts, *words):
    """Run a command on ranks that each see a config file of their own, or none."""
    for rank, text in enumerate(texts):
        (folder / str(rank)).mkdir()
        if text is not None:
            (folder / str(rank) / "run.toml").write_text(text)
    return run_ranks(len(texts), *COMMAND, folder, *words, timeout=60)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["batch = 64", None], UNREAD),
        ([None, "batch = 64"], UNREAD),
        (["batch = 64", None, "batch = 64"], UNREAD),
        ([None, None], UNREAD),
        (["batch = 64", "bathc = 64"], "unknown key 'bathc'; nearest: batch"),
        (["batch = 64", "batch = 32"], f"batch is 32 on rank 1, 64 on rank 0; {SAME}"),
        (["", "waves = 2"], f"waves is 2 on rank 1, None on rank 0; {SAME}"),
        (["waves = 2", ""], f"waves is None on rank 1, 2 on rank 0; {SAME}"),
    ],
)
def test_all_ranks_end_with_one_message(tmp_path, texts, message):
    ran = run_with(tmp_path, texts, *INFER)
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr == f"hpc: error: --config run.toml: {message}\n"


def test_the_same_file_everywhere_is_used(tmp_path):
    ran = run_with(tmp_path, ["batch = 64"] * 2, *INFER)
    assert ran.returncode == 2
    assert "no.h5: no such file" in ran.stderr


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_reads_no_file(tmp_path, option):
    ran = run_with(tmp_path, ["batch = 64", None], *INFER, option)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_command_of_one_process_says_it_alone(tmp_path):
    words = ("spdnn", "export", "no.h5", "--to", "x.pt", "--config", "run.toml")
    ran = run_with(tmp_path, [None], *words)
    assert (ran.returncode, ran.stderr) == (2, f"hpc: error: --config run.toml: {UNREAD}\n")
