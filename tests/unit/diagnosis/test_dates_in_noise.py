"""Where a fault began in a metric that sways from row to row by more than its level moved: the KL of few short answers
doubles and halves all the time. Its notice is old, as it left 0 with the first updates; what is loud is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, SINCE, STEP, learns, page, pages
from tests.unit.diagnosis.written import wave


def swaying(seed: int, times: float) -> dict[str, np.ndarray]:
    """The sampler answers with old weights since one step, and the KL sets out."""
    rng = np.random.default_rng(seed)
    level = 0.16 * np.minimum(1.0, STEP / 10) * np.where(SINCE, np.minimum(times, 2.0 ** ((STEP - AT) / 4)), 1.0)
    kl = level * rng.lognormal(0.0, 0.45, ROWS) * np.where(SINCE & (rng.random(ROWS) < 0.15), 0.25, 1.0)
    apart = np.where(SINCE, 0.01 * np.minimum(STEP - AT + 1, 12), 0.0) * np.abs(wave(1, 0.1, ROWS, seed + 5))
    reward = 0.6 + 0.33 * np.minimum(1.0, STEP / 90) + wave(0, 0.015, ROWS, seed)
    columns = learns(reward_mean=reward, kl_per_token=kl, rollout_train_logprob_diff=apart)
    return {name: x for name, x in columns.items() if name != "kl"}


@pytest.mark.parametrize("seed", range(4))
def test_a_kl_that_sways_is_dated_where_it_set_out(seed: int, tmp_path: Path) -> None:
    for upto, found in pages(tmp_path, swaying(seed, 16.0), (AT + 40, AT + 90)):
        runs = [f for f in found["findings"] if f["id"] == "kl-runaway" and f["severity"] != "info"]
        assert runs, upto
        assert abs(runs[0]["onset_step"] - AT) <= 15, (upto, runs[0]["onset_step"])


@pytest.mark.parametrize("seed", range(4))
def test_its_cause_began_with_it(seed: int, tmp_path: Path) -> None:
    found = page(tmp_path, swaying(seed, 16.0), AT + 60)
    told = next(f for f in found["findings"] if f["id"] == "kl-runaway")
    first = told["causes"][0]
    assert first["status"] == "supported", first
    assert "sampler" in first["text"], first
