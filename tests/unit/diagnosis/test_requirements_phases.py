"""Step time by phase beside its expected band, and the actions for over-training."""

from __future__ import annotations

import pytest

from rltui.frameworks.load import phases
from rltui.rules.catalogue import rules
from rltui.rules.knowledge import pages
from tests.unit.run.builder import rows, run_of

N = 30


def timed(**seconds: float) -> object:
    columns = {"actor/pg_loss": [0.1] * N, "actor/entropy": [1.0] * N, "timing_s/step": [100.0] * N}
    return run_of(rows({**columns, **{f"timing_s/{k}": [v] * N for k, v in seconds.items()}})).phases()  # type: ignore[dict-item]


def test_shares_stand_beside_their_expected_band() -> None:
    table = timed(gen=85.0, update_actor=3.0, reward=2.0)
    status = {i.name: (i.share, i.expected, i.status) for i in table.items}  # type: ignore[attr-defined]
    assert status["generation"] == (pytest.approx(0.85), phases()["rollout"].usual, "high")
    assert status["update"][2] == "low"
    assert status["reward"][2] == "usual"
    for phase in phases().values():
        assert phase.usual is None or phase.why


@pytest.mark.parametrize(("share", "named"), [(70.0, "generation"), (45.0, None)])
def test_a_phase_beyond_six_tenths_is_the_bottleneck(share: float, named: str | None) -> None:
    assert timed(gen=share, update_actor=95.0 - share if share > 50 else 45.0).bottleneck == named  # type: ignore[attr-defined]


def test_overfitting_has_its_actions() -> None:
    text = " ".join(pages()["interventions"].text.split())
    assert "Overfitting: stop early, raise KL, lower the rate, check for an exploit" in text
    fixes = " ".join(f.text.lower() for f in rules()["train-val-divergence"].fixes)
    assert "checkpoint" in fixes
    assert "interventions" in {p.id for p in pages().values() if "train-val-divergence" in p.rules}
