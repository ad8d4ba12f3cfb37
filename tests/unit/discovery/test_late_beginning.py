"""A log whose first pages are another program's lines: its end tells what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reported import refused, reported

PAGES = "".join(f"  (layers.{i}.q_proj): Linear(in_features={i * 37 % 4096}, bias=False)\n" for i in range(3000))
LOGS: dict[str, tuple[str, Callable[[int], str]]] = {
    "own words": ("train.log", lambda i: f"Step {i}/300 | loss {1 / i:.4f} | reward {i / 300:.4f}\n"),
    "verl": ("verl.txt", lambda i: f"step:{i} - critic/rewards/mean:{i / 300:.4f} - actor/entropy:0.5\n"),
    "TRL": ("job-17.out", lambda i: f"{{'loss': {1 / i:.4f}, 'reward': {i / 300:.4f}, 'epoch': {i / 100:.2f}}}\n"),
}


@pytest.mark.parametrize("kind", LOGS)
def test_pages_of_another_program_hide_no_log(kind: str, tmp_path: Path) -> None:
    name, line = LOGS[kind]
    (tmp_path / name).write_text(PAGES + "".join(map(line, range(1, 201))))
    steps = reported(tmp_path / name)["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (1, 200, 200)


@pytest.mark.parametrize("name", ["build.log", "notes.txt"])
def test_a_text_without_steps_is_none(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(PAGES + "all of 3000 layers printed in 17 s\n" * 50)
    assert "no training log recognised" in refused(tmp_path / name)


def test_prose_of_any_length_is_none(tmp_path: Path) -> None:
    line, name = LOGS["own words"][1], "README.md"
    (tmp_path / name).write_text(PAGES + "".join(map(line, range(1, 201))))
    assert "no training log recognised" in refused(tmp_path / name)


def test_what_is_no_log_is_told_without_advice_that_cannot_help(tmp_path: Path) -> None:
    """Nothing has to be forced upon an empty file, and bytes of a program hold no steps."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "program.log").write_bytes(bytes(range(256)) * 40)
    assert refused(tmp_path / "empty").endswith("Name the directory or the file that training writes")
    assert refused(tmp_path / "empty.log").endswith("it is empty so far")
    assert "--line" not in refused(tmp_path / "program.log")
