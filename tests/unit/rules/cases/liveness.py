"""Cases of the rules of pages/liveness.json."""

from __future__ import annotations

import numpy as np

from rltui.run.run import RunState
from tests.unit.rules.given import CRITICAL, Case, Stands, T, rows, wave

SILENT = "no row for an hour"
DONE = RunState("finished", "the trainer says that it is done")


CASES = (
    rows(
        "resume-discontinuity",
        {"score_mean": np.where(T > 280, wave(0.1), wave(0.5))},
        {},
        restarts=(282,),
        near_restarts=(100,),
    ),
    Case(
        "run-stalled", Stands({}, RunState("stalled", SILENT, followed=True)), Stands({}, RunState("stalled", SILENT))
    ),
    Case("run-crashed", Stands({}, RunState("crashed", "it raised", "ValueError: 3")), Stands({}, DONE), CRITICAL),
    Case("run-crashed", Stands({}, RunState("crashed", "exit code 1")), Stands({}, DONE)),
    Case("run-crashed", Stands({}, RunState("crashed", "it is gone", vanished=True)), Stands({}, DONE), CRITICAL),
)
