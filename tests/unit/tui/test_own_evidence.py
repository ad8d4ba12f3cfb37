"""A finding's screen shows what the finding stands on and nothing else, and nothing after the step that is shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from rltui.tui.app import RltuiApp
from rltui.tui.screens.finding import FindingScreen
from tests.unit.readers_binary.encode import blocks, field, history
from tests.unit.tui.conftest import WIDE, SampleOpener, is_read, screen_text, wait_for

START, STEP_S = 1_795_000_000, 60


def jsonl(folder: Path, rows: list[dict[str, float]]) -> Path:
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def healthy(step: int) -> dict[str, float]:
    noise = np.random.default_rng(step).normal(size=4)
    return {
        "step": step,
        "reward": 0.2 + 0.002 * step + 0.02 * noise[0],
        "kl": 0.02 + 0.001 * noise[1],
        "entropy": 1.0 + 0.02 * noise[2],
        "reward_std": 0.3,
        "loss": 0.1 + 0.01 * noise[3],
        "grad_norm": 0.5 + 0.02 * noise[1],
        "time_per_step_s": 60.0,
    }


def wandb_with_full_gpus(folder: Path, steps: int = 60) -> Path:
    """A W&B file whose run records a GPU that is nearly full."""
    records = []
    for step in range(1, steps + 1):
        cells = {key: json.dumps(value) for key, value in healthy(step).items()}
        cells |= {"_step": str(step), "_timestamp": str(START + STEP_S * step)}
        records.append(history(2 * step, cells, step))
        values = {
            "gpu.0.memoryAllocatedBytes": 77e9 + 1e6 * step,
            "gpu.0.memoryAllocated": 96.2,
            "gpu.0.powerWatts": 400,
        }
        stats = b"".join(field(3, field(1, key) + field(16, str(value))) for key, value in values.items())
        records.append(field(1, 2 * step + 1) + field(7, field(2, field(1, START + STEP_S * step - 20)) + stats))
    folder.mkdir()
    (folder / "run-abc.wandb").write_bytes(blocks(records)[0])
    return folder


async def shows_finding(app: RltuiApp, pilot: object, id: str) -> str:
    """The screen of a finding once its charts are drawn."""
    found = next(f for f in app.view.report.findings if f.id == id)  # type: ignore[union-attr]
    app.open_finding(found.id, found.subject)
    await drawn(pilot, app)
    return screen_text(app)


async def drawn(pilot: object, app: RltuiApp) -> None:
    def charts_are() -> bool:
        screen = app.screen
        return isinstance(screen, FindingScreen) and screen.painted and screen.charts.drawn == 0

    await wait_for(pilot, charts_are, "the charts")  # type: ignore[arg-type]


async def test_gpu_memory_is_shown_by_the_memory_of_that_gpu(tmp_path: Path) -> None:
    app = RltuiApp(SampleOpener(wandb_with_full_gpus(tmp_path / "run")), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run")
        text = await shows_finding(app, pilot, "gpu-memory-pressure")
        assert "memory of GPU 0" in text
        assert "77.1 GB" in text
        assert "time per step" not in text.lower()
        assert any("⠀" < letter <= "⣿" for letter in text), "its course over the steps is drawn"
        await pilot.press("enter")
        assert app.screen.name == "gpu"


async def test_the_phases_that_take_most_are_the_ones_shown(tmp_path: Path) -> None:
    """Of log-probs and reference together the reference is the larger part."""
    times = {"timing_s/step": 60.0, "timing_s/old_log_prob": 6.0, "timing_s/ref": 30.0, "timing_s/gen": 20.0}
    rows = [{**healthy(step), **times} for step in range(1, 61)]
    for row in rows:
        del row["time_per_step_s"]
    app = RltuiApp(SampleOpener(jsonl(tmp_path / "run", rows)), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run")
        text = await shows_finding(app, pilot, "phase-bottleneck")
        shown = [e.key for e in app.screen.found.evidence]  # type: ignore[attr-defined]
        assert shown == ["timing_s/ref", "timing_s/old_log_prob"]
        assert "60 % of the step" in text


async def test_a_findings_chart_ends_at_the_step_that_is_shown(tmp_path: Path) -> None:
    rows = [healthy(step) for step in range(1, 201)]
    for row in rows:
        if row["step"] > 80:
            row["kl"] = 0.02 * 1.03 ** (row["step"] - 80)
            row["reward"] = 0.3
    app = RltuiApp(SampleOpener(jsonl(tmp_path / "run", rows)), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run")
        app.set_cursor(150)
        await wait_for(pilot, lambda: app.view.past is not None and app.view.past[0] == 150, "the past")
        worst = app.view.open_findings()[0]
        app.open_finding(worst.id, worst.subject)
        await drawn(pilot, app)
        pane = app.screen.query_one("#charts")
        lines = [row.text for row in pane.render_lines(pane.region.reset_offset)]
        ruled = [line for line in lines if "│" in line]
        assert ruled, "the cursor is drawn"
        column = ruled[0].index("│")
        assert any("⠀" < letter <= "⣿" for line in ruled for letter in line[:column])
        assert not any("⠀" < letter <= "⣿" for line in lines for letter in line[column + 1 :])
