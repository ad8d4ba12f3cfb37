"""Settings that no canonical key stands for are on the screen of the run's config."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.tui.app import RltuiApp
from tests.unit.tui.conftest import SampleOpener, is_read, wait_for


async def test_other_settings_stand_under_their_own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (json.dumps({"step": s, "reward": s / 100, "kl": 0.1}) + "\n" for s in range(1, 41))
    (tmp_path / "metrics.jsonl").write_text("".join(rows))
    (tmp_path / "config.yaml").write_text("lr: 2e-6\nrewards:\n  format_weight: 0.25\ntask_type: math\n")
    app = RltuiApp(SampleOpener(tmp_path), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=(140, 50)) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.press("i")

        def shown() -> str:
            return "\n".join(strip.text for strip in app.screen._compositor.render_strips())

        await wait_for(pilot, lambda: "rewards.format_weight" in shown(), "the own keys")
        assert "task_type" in shown()
        assert "0.25" in shown()
