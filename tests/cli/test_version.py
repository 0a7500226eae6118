"""What --version says: version, commit, and a digest of the files that are run."""

import re
import shutil
import subprocess

import pytest

from hpc import __version__
from hpc.cli.version import FOLDER, commit, program_digest, release, version_text
from tests.launching import ROOT


def git(folder, *words):
    names = ("-c", "user.name=n", "-c", "user.email=e@e", "-c", "commit.gpgsign=false")
    command = ["git", *names, *words]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_the_commit_of_a_checkout(tmp_path):
    assert commit(tmp_path) is None
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack\nabc1 refs/heads/other\nabc2 refs/heads/main\n")
    assert commit(tmp_path) == "abc2"
    (git / "refs" / "heads" / "main").write_text("abc3\n")
    assert commit(tmp_path) == "abc3"
    (git / "HEAD").write_text("abc4\n")
    assert commit(tmp_path) == "abc4"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_it_is_what_git_says_also_in_a_worktree(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    git(first, "init", "-q")
    git(first, "commit", "-q", "--allow-empty", "-m", "one")
    git(first, "worktree", "add", "-q", second)
    git(second, "commit", "-q", "--allow-empty", "-m", "two")
    found = [commit(folder) for folder in (first, second)]
    assert found == [git(folder, "rev-parse", "HEAD") for folder in (first, second)]
    assert found[0] != found[1]
    git(first, "pack-refs", "--all")
    assert commit(second) == found[1]


def test_the_digest_follows_the_contents_of_the_files(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    first = program_digest(tmp_path)
    (tmp_path / "b.txt").write_text("no program")
    assert program_digest(tmp_path) == first and re.fullmatch("[0-9a-f]{8}", first)
    (tmp_path / "a.py").write_text("x = 2\n")
    assert program_digest(tmp_path) != first


def test_both_stand_in_what_is_printed(monkeypatch):
    assert version_text().splitlines()[-1] == f"files {program_digest()} in {FOLDER}"
    if (ROOT / ".git").exists():
        assert f"commit {commit()}" in version_text().splitlines()
    monkeypatch.setattr("hpc.cli.version.commit", lambda: None)
    assert release() == f"{__version__} (files {program_digest()})"
    monkeypatch.setattr("hpc.cli.version.commit", lambda: "0123456789abcdef")
    assert release() == f"{__version__} (commit 01234567, files {program_digest()})"
