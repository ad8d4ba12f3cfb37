"""Phases that became slower together have one cause beside them, even if a short one of them is spared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import learning, wave
from tests.unit.reported import told

ROWS, AT = 180, 120
ALIKE = "Generation and update became slower alike"


def slower(folder: Path, **times: float) -> str:
    since = np.arange(ROWS) >= AT
    usual = {"gen": 40.0, "update_actor": 25.0, "old_log_prob": 6.0, "ref": 5.0}
    phases = {
        f"timing_s/{name}": wave(seconds, seconds / 50, ROWS, n) * np.where(since, times.get(name, 1.0), 1.0)
        for n, (name, seconds) in enumerate(usual.items())
    }
    columns = learning(ROWS) | phases
    columns["step_s"] = sum(phases.values(), wave(3, 0.1, ROWS, 24))
    return str(told(verl(folder, columns, CONFIG))[2]["answer"]["why"])


@pytest.mark.parametrize("spared", [1.0, 1.05])
def test_a_short_phase_that_is_spared_clears_the_others_of_blame(spared: float, tmp_path: Path) -> None:
    assert slower(tmp_path / "run", gen=2.2, update_actor=1.8, ref=1.9, old_log_prob=spared).startswith(ALIKE)


def test_generation_alone_is_to_blame_for_itself(tmp_path: Path) -> None:
    why = slower(tmp_path / "run", gen=2.2)
    assert not why.startswith(ALIKE)
    assert why.startswith("Generation writes fewer tokens a second")


def test_an_update_that_is_spared_is_no_short_phase(tmp_path: Path) -> None:
    assert not slower(tmp_path / "run", gen=2.2, ref=2.0).startswith(ALIKE)
