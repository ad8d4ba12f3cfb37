"""A look at given columns, for tests of what is computed from one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rltui.evidence.blocks import BlockCache
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from tests.unit.diagnosis.fake_run import FakeRun


def look_at(
    columns: Mapping[str, Sequence[float | None] | np.ndarray],
    planned: int | None = None,
    config: Mapping[str, object] | None = None,
    open_levels: Mapping[str, int] | None = None,
    framework: str = "trl",
) -> Look:
    """All rows of the columns, one look."""
    run = FakeRun(columns, planned=planned, config=config, framework=framework).grow()
    return Look(LookFeed(run, BlockCache(), RunSettings.of(run)), run.history.table.n, open_levels or {})
