"""What the table of places (tests/screens.toml) names and no other test looks at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from rltui.report.markdown_metrics import KL_IN_LOSS
from rltui.tui.app import RltuiApp
from tests.conftest import REPO
from tests.unit.tui.conftest import NARROW, WIDE, SampleOpener, is_read, screen_text, wait_for

BEGINS = KL_IN_LOSS[:20]  # beside the chart no more stands on one line
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW])


@asynccontextmanager
async def shown(run: str, size: tuple[int, int] = WIDE) -> AsyncIterator[tuple[RltuiApp, Pilot[None]]]:
    path: Path = REPO / "sample_runs" / run
    app = RltuiApp(SampleOpener(path), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=size) as pilot:
        await wait_for(pilot, lambda: is_read(app) and app.view.outlook is not None, "the run is read")
        yield app, pilot


def words(app: RltuiApp) -> str:
    return " ".join(screen_text(app).split())


@SIZES
async def test_the_reward_says_what_it_contains_beside_its_chart(size: tuple[int, int]) -> None:
    async with shown("trl-grpo-healthy", size) as (app, pilot):
        app.open_metric("reward_mean")
        await wait_for(pilot, lambda: BEGINS in words(app), "where the penalty goes")
        app.open_metric("kl_ref")
        await wait_for(pilot, lambda: "KL to reference" in words(app), "another metric")
        assert BEGINS not in words(app)


@SIZES
async def test_the_config_tells_what_does_not_act_and_which_rule_objects(size: tuple[int, int]) -> None:
    async with shown("trl-grpo-healthy", size) as (app, pilot):
        report = app.view.report
        assert report is not None
        objects = next(
            (f.title, c.config_key)
            for f in app.view.open_findings()
            for c in f.causes
            if c.config_key and c.value and c.status == "supported"
        )
        await pilot.press("i", "slash", *objects[1], "enter")
        await wait_for(pilot, lambda: objects[0] in screen_text(app), "the rule that objects")
        off = {name: entry.note for name, entry in report.config.items() if not entry.active}
        assert off
        for name, why in off.items():
            await pilot.press("escape", "slash", *name, "enter")
            await wait_for(pilot, lambda why=why: why in words(app), "why it does not act")  # type: ignore[misc]


@SIZES
async def test_the_five_stages_stand_on_the_overview_and_in_full(size: tuple[int, int]) -> None:
    async with shown("trl-reward-flip", size) as (app, pilot):
        report = app.view.report
        assert report is not None
        if size == WIDE:
            assert all(stage.stage in screen_text(app) for stage in report.pipeline)
        await pilot.press("P")
        seen = words(app)
        for _ in range(30):
            if "WHAT MUST HOLD" in screen_text(app):
                break
            await pilot.press("j")
            seen += words(app)
        assert all(stage.stage in seen for stage in report.pipeline)
        assert "WHAT MUST HOLD" in screen_text(app)


async def test_a_finding_of_a_stage_offers_the_five_stages() -> None:
    async with shown("trl-reward-flip") as (app, pilot):
        finding = next(f for f in app.view.open_findings() if f.stage)
        app.open_finding(finding.id, finding.subject)
        for _ in range(40):
            if f"this is {finding.stage}" in words(app):
                break
            await pilot.press("j")
        assert f"P the five stages of the pipeline, this is {finding.stage}" in words(app)
        await pilot.press("P")
        assert app.screen.name == "pipeline"


@SIZES
async def test_a_metric_tells_its_shape(size: tuple[int, int]) -> None:
    async with shown("trl-reward-flip", size) as (app, pilot):
        metric = app.view.metric("reward_mean")
        assert metric is not None
        assert metric.shape
        app.open_metric("reward_mean")
        await wait_for(pilot, lambda: metric.shape in words(app), "the shape in words")


async def test_the_case_is_lit_in_the_table() -> None:
    async with shown("trl-reward-flip") as (app, pilot):
        assert app.view.outlook is not None
        reading = app.view.outlook.case.reading
        await pilot.press("D")
        for _ in range(60):
            lit = [line for line in screen_text(app).splitlines() if line.lstrip().startswith("▌")]
            if lit:
                break
            await pilot.press("j")
        assert len(lit) == 1
        assert reading[:20] in lit[0]
