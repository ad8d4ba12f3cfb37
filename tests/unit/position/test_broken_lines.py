"""Logged dicts that a terminal broke into lines of its width."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.position.reports import bar, report_of, reward
from tests.unit.session.runs import content, opened

WIDTHS = (60, 81, 120, 181)


def cells_of(step: int) -> dict[str, float]:
    names = ("loss", "grad_norm", "rewards/format/mean", "completions/mean_length", "reward", "epoch")
    return {name: round(reward(step) * (i + 1), 6) for i, name in enumerate(names)}


def broken(text: str, width: int, keeps_space: bool) -> str:
    """As a terminal breaks it; a blank at the border may be lost."""
    lines = []
    while text:
        line, text = text[:width], text[width:]
        lines.append(line)
        if not keeps_space:
            text = text.removeprefix(" ")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("keeps_space", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("style", ["trl", "step first", "step inside"])
def test_no_cell_is_lost(style: str, width: int, keeps_space: bool, tmp_path: Path) -> None:
    text = bar(0, 40) + "\n" if style == "trl" else "starting\n"
    for step in range(1, 41):
        line = {"trl": f"{cells_of(step)}", "step first": f"step {step}: {cells_of(step)}"}.get(style)
        text += broken(line or str({"step": step, **cells_of(step)}), width, keeps_space)
    (tmp_path / "train.log").write_text(text + (bar(40, 40) + "\n" if style == "trl" else "done\n"))
    found = content(opened(tmp_path / "train.log"))
    assert found == {step: pytest.approx(cells_of(step)) for step in range(1, 41)}


def test_what_begins_like_a_dict_hides_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dict that never ends, one of words, and an error right behind it."""
    text = "".join(f"{cells_of(step)}\n" for step in range(1, 31))
    text += "config = {'model': 'small',\n  'lr': 1e-5,\n"
    text += "Traceback (most recent call last):\n  File 'a.py'\nRuntimeError: {'code': 3\n"
    (tmp_path / "train.log").write_text(text)
    report = report_of(tmp_path / "train.log", capsys)
    assert report["run"]["steps"]["rows"] == 30
    assert report["run"]["state"] == "crashed"
