"""Runs in which nothing happens: at most one warning per 5,000 rows over the whole rule set, nothing critical."""

from __future__ import annotations

import pytest

from rltui.diagnosis.engine import Engine
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import still_run


@pytest.mark.long
def test_null_runs_are_quiet() -> None:
    rows, loud, critical = 0, 0, 0
    for rho in (0.0, 0.5, 0.8):
        n = 1000
        d = Engine().advance(FakeRun(still_run(int(1000 * rho), n, rho), planned=n).grow())
        rows += n
        loud += sum(e.severity == "warning" for f in d.findings for e in f.episodes)
        critical += sum(e.severity == "critical" for f in d.findings for e in f.episodes)
        assert critical == 0, [f for f in d.findings if f.peak_severity == "critical"]
    assert loud <= rows // 5000
