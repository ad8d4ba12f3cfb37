"""README and manual tell the truth: links lead somewhere, and every command line of theirs runs as it is written."""

from __future__ import annotations

import re
import shlex
import shutil
from glob import glob
from pathlib import Path

import pytest

from rltui.cli import main
from tests.conftest import REPO

README = REPO / "README.md"
PAGES = [README, *sorted((REPO / "rltui" / "manual").glob("*.md"))]
ELSEWHERE = re.compile(r"node17|wandb:|hooks\.example|/data/|\$|--adapters")
"""Other machines and services, lines for a job script, and what needs torch (`tests/unit/verify` runs the example)."""


def commands() -> list[tuple[str, str]]:
    """(page, line) of every line of a shell block that calls rltui and needs nothing but files."""
    out = []
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            lines = [line.split(" #")[0].strip() for line in block.splitlines()]
            out += [(page.name, line) for line in lines if line.startswith("rltui") and not ELSEWHERE.search(line)]
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the lines are run: each name that they use is there."""
    root = tmp_path_factory.mktemp("tour")
    samples = REPO / "sample_runs"
    for name in ("RUN", "runs/run-a", "DIR/one", "path/to/run"):
        shutil.copytree(samples / "verl-grpo-crash", root / name)
    shutil.copytree(samples / "trl-grpo-healthy", root / "runs/run-b")
    script = root / "tell-me.sh"
    script.write_text("#!/bin/sh\ncat > /dev/null\n")
    script.chmod(0o755)
    return root


@pytest.mark.parametrize(("page", "line"), commands())
def test_a_line_runs_as_it_is_written(
    page: str, line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    call = line.split(" > ")[0]
    words = [path for word in shlex.split(call)[1:] for path in (sorted(glob(word)) if "*" in word else [word])]
    code = main(words)
    told = capsys.readouterr()
    assert code in (0, 1), told.err
    assert "unknown" not in told.err


def test_there_are_lines_to_run() -> None:
    assert {"report", "runs", "watch", "compare", "rollouts", "explain", "verify", "export", "doctor"} <= {
        line.split()[1] for _, line in commands() if len(line.split()) > 1
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150
