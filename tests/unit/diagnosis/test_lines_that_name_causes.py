"""Which lines of a log can name a cause, and how much a mirror has to show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rltui.diagnosis.causes import weighed
from rltui.diagnosis.outcome import Spell
from rltui.diagnosis.tested import Ground
from rltui.evidence.blocks import BlockCache
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.readers.base import Note
from rltui.readers.console.notes import NoteFinder
from rltui.rules.catalogue import rules
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run
from tests.unit.diagnosis.written import learning, report, wave, write


def causes(rule: str, *lines: str) -> dict[str, str]:
    """Causes of a rule with their status, in a run whose log holds these lines."""
    run = FakeRun(learning_run(0, 60)).grow()  # type: ignore[arg-type]
    look, finder = Look(LookFeed(run, BlockCache(), RunSettings.of(run)), 60, {}), NoteFinder()
    notes: list[Note] = [note for i, line in enumerate(lines) for note in finder.line(line, i + 1, 40)]
    found = weighed(rules()[rule], Ground(look, {}, notes=notes, printed=True), Spell(30, 60), Guard())
    return {one.name: one.cause.status for one in found}


@pytest.mark.parametrize(
    ("rule", "cause", "line"),
    [
        ("run-stalled", "disk", "OSError: [Errno 116] Stale file handle: '/mnt/ckpt/step_40'"),
        ("run-stalled", "deadlock", "WARNING: POST http://judge:8000 failed: connection refused, retrying"),
    ],
)
def test_a_line_names_a_cause(rule: str, cause: str, line: str) -> None:
    assert causes(rule, line)[cause] == "supported"
    assert causes(rule, "INFO: step 40 is done")[cause] != "supported"


@pytest.mark.parametrize(("lost", "named"), [(0.15, False), (0.8, True)])
def test_a_small_loss_is_no_wrong_sign(
    lost: float, named: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, begins = 200, 0.85
    val = begins * (1.0 - lost * np.linspace(0.0, 1.0, rows)) + wave(0, 0.004, rows, 3)
    columns = learning(rows) | {"score": 1.0 - val, "val": val}
    told = report(write(tmp_path / "run", columns, every={"val": 5}), capsys)
    blamed = [c["text"] for f in told["findings"] for c in f["causes"] if c["status"] == "supported"]
    assert any("a sign may be wrong" in text for text in blamed) is named
    assert any(f["id"] in ("val-regression", "train-val-divergence") for f in told["findings"])
