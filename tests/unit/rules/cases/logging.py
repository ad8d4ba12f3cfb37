"""Cases of the rules of pages/logging.json."""

from __future__ import annotations

import numpy as np

from rltui.run.contradictions import Contradiction
from rltui.run.run import RunState
from tests.unit.diagnosis.series import learning_run
from tests.unit.rules.given import NONE, NOTICE, Case, N, Stands, rows

GOING = RunState("running", "rows arrive")
BARE = {name: NONE for name in learning_run(0, 1) if name != "score_mean"}


def against(whole: bool) -> Contradiction:
    return Contradiction("train.log", "old.jsonl", 7, whole, frozenset(("reward",)), "reward", 60, (0.7, 0.1))


CASES = (
    rows("metric-vanished", {"entropy": [0.5] * 280 + [None] * 20}, {"entropy": [0.5] * 295 + [None] * 5}),
    rows("metric-definition-trap", {"lr": np.zeros(N)}, {"lr": np.full(N, 1e-6)}, NOTICE),
    Case("sources-contradict", Stands({}, GOING, against=[against(True)]), Stands({}, GOING)),
    Case("sources-contradict", Stands({}, GOING, against=[against(False)]), Stands({}, GOING), NOTICE),
    Case("logging-coverage-gap", Stands(BARE, GOING), Stands({}, GOING), NOTICE),
)
