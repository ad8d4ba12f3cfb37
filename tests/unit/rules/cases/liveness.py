"""Cases of the rules of pages/liveness.json."""

from __future__ import annotations

import numpy as np

from rltui.run.run import RunState
from tests.unit.rules.given import CRITICAL, NOTICE, Case, Stands, T, rows, wave

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
    rows(  # a course that goes on through the restart, much faster than its noise
        "resume-discontinuity",
        {"kl_ref": wave(0.02, sd=1e-4) + 2e-4 * T + np.where(T > 280, 0.02, 0.0)},
        {"kl_ref": wave(0.02, sd=1e-4) + 2e-4 * T},
        restarts=(282,),
        near_restarts=(282,),
        still=NOTICE,
    ),
    rows(  # a metric that wanders by itself: its steps are small beside where it goes
        "resume-discontinuity",
        {"grad_norm": 0.5 + 0.1 * np.sin(T / 6.0) + wave(0.0, sd=0.002) + np.where(T > 280, 0.5, 0.0)},
        {"grad_norm": 0.5 + 0.1 * np.sin(T / 6.0) + wave(0.0, sd=0.002)},
        restarts=(282,),
        near_restarts=(282,),
        still=NOTICE,
    ),
    Case(
        "resume-discontinuity",
        Stands({}, RunState("running", "rows arrive"), restarts=(270, 280, 290)),
        Stands({}, RunState("running", "rows arrive"), restarts=(100, 280, 290)),
    ),
    Case(  # one that ended says itself how often
        "resume-discontinuity",
        Stands({}, RunState("unknown", "no end mark"), restarts=(270, 280, 290)),
        Stands({}, DONE, restarts=(270, 280, 290)),
    ),
    Case(
        "run-stalled", Stands({}, RunState("stalled", SILENT, followed=True)), Stands({}, RunState("stalled", SILENT))
    ),
    Case("run-crashed", Stands({}, RunState("crashed", "it raised", "ValueError: 3")), Stands({}, DONE), CRITICAL),
    Case("run-crashed", Stands({}, RunState("crashed", "exit code 1")), Stands({}, DONE)),
    Case("run-crashed", Stands({}, RunState("crashed", "it is gone", vanished=True)), Stands({}, DONE), CRITICAL),
)
