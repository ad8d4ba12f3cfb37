"""Thousands set apart as in Switzerland and France, and a step behind `@` in the title of a block."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reported import ends, reported

STEPS = range(100, 3001, 100)


def written(folder: Path, line: str, mark: str) -> Path:
    def said(x: int) -> str:
        return f"{x:,}".replace(",", mark)

    lines = [line.format(i=said(i), r=f"{i / 10_000:.3f}", t=said(i * 17)) for i in STEPS]
    (folder / "train.log").write_text("\n".join([*lines, ""]))
    return folder


@pytest.mark.parametrize("mark", ["'", "’", "\u202f", "\u00a0", "_", ","])
@pytest.mark.parametrize("line", ["step {i} | reward {r} | tokens {t}", "Schritt {i}: reward {r}, tokens {t}"])
def test_the_steps_go_on_behind_a_thousand(line: str, mark: str, tmp_path: Path) -> None:
    report = reported(written(tmp_path, line, mark))
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (100, 3000, 30)
    assert not report["run"]["restarts"]
    assert ends(report, "reward_mean")[2] == pytest.approx(0.3)


@pytest.mark.parametrize("beside", ["'12'345", "1'2345", "0.5'123", "it's 7'"])
def test_other_apostrophes_stay(beside: str, tmp_path: Path) -> None:
    report = reported(written(tmp_path, f"step {{i}} | reward {{r}} | note {beside}", ""))
    assert ends(report, "reward_mean") == (30, pytest.approx(0.01), pytest.approx(0.3))


@pytest.mark.parametrize("title", ["Metrics @ step {i}:", "Stats @ iteration {i}/3000", "--- train @ step {i} ---"])
def test_a_title_that_tells_where(title: str, tmp_path: Path) -> None:
    report = reported(written(tmp_path, f"{title}\n  - reward: {{r}}\n  - loss: 0.5", ""))
    assert report["run"]["steps"]["rows"] == 30
    assert ends(report, "reward_mean") == (30, pytest.approx(0.01), pytest.approx(0.3))
