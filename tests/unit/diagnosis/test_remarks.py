"""Remarks: each speaks on its move, none on noise, and none is a finding."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.engine import Engine
from rltui.diagnosis.remarks import RemarkEntry, _catalogue, remarks
from rltui.evidence.guard import Guard
from rltui.rules.catalogue import rules
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import noise, still_run

N = 200
LEVEL = {
    "response_length_mean": 400.0,
    "global_seqlen_mean": 9000.0,
    "kl_ref": 0.02,
    "clip_frac": 0.02,
    "ppo_kl": 0.002,
    "grad_norm": 0.5,
    "entropy": 0.6,
    "score_mean": 0.5,
    "reward_mean": 0.5,
    "advantage_mean": 0.2,
    "pg_loss": 0.01,
}


def course(name: str, factor: float, seed: int = 0, relative: float = 0.03) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return LEVEL[name] * (np.linspace(1, factor, N) + relative * noise(rng, N, 0.3))


def ids(columns: dict[str, object], **config: object) -> list[str]:
    return [r.id for r in remarks(look_at(columns, config=config), Guard())]  # type: ignore[arg-type]


@pytest.mark.parametrize("entry", _catalogue(), ids=lambda e: e.id)
def test_each_speaks_on_its_own_move_with_its_numbers(entry: RemarkEntry) -> None:
    moves = entry.moves
    columns: dict[str, object] = {
        m: course(m, 3.0 if way == "rises" else 0.6, i) for i, (m, way, _) in enumerate(moves)
    }
    if entry.without_gain_of:
        columns["score_mean"] = course("score_mean", 1.0, 9)
    config = {"kl_in_reward": True, "kl_coef_reward": 0.05} if entry.only_kl_in else {}
    found = {r.id: r for r in remarks(look_at(columns, config=config), Guard())}  # type: ignore[arg-type]
    assert entry.id in found
    remark = found[entry.id]
    assert remark.rule in rules()
    for metric, _, _ in moves:
        assert f"{metric} " in remark.text
    assert "→" in remark.text


def test_five_percent_is_told_only_above_the_noise() -> None:
    assert "length-down" in ids({"response_length_mean": course("response_length_mean", 0.9, relative=0.02)})
    assert "length-down" not in ids({"response_length_mean": course("response_length_mean", 0.9, relative=0.4)})
    assert "length-down" not in ids({"response_length_mean": course("response_length_mean", 0.97, relative=0.001)})


def test_noise_is_not_remarkable() -> None:
    told = [ids(still_run(seed, 500, rho)) for rho in (0.0, 0.5) for seed in range(30)]
    assert sum(map(len, told)) <= 3


def test_advantages_around_zero_are_not_divided_by_it() -> None:
    rng = np.random.default_rng(1)
    for seed in range(30):
        assert ids({"advantage_mean": 1e-4 * noise(np.random.default_rng(seed), N)}) == []
    falling = ids({"advantage_mean": np.linspace(0.2, 0.05, N) + 0.01 * noise(rng, N)})
    assert falling == ["advantages-down"]


def test_the_text_on_advantages_does_not_say_that_they_are_optimised_down() -> None:
    text = next(e.text for e in _catalogue() if e.id == "advantages-down")
    assert "relative to the batch" in text
    assert "optimi" not in text


def test_the_reading_depends_on_where_kl_goes() -> None:
    columns: dict[str, object] = {
        "kl_ref": course("kl_ref", 3.0),
        "score_mean": course("score_mean", 1.5),
        "reward_mean": course("reward_mean", 0.6),
    }
    in_loss = {
        r.id: r.text for r in remarks(look_at(columns, config={"use_kl_loss": True, "kl_coef_loss": 0.001}), Guard())
    }  # type: ignore[arg-type]
    in_reward = {
        r.id: r.text for r in remarks(look_at(columns, config={"kl_in_reward": True, "kl_coef_reward": 0.05}), Guard())
    }  # type: ignore[arg-type]
    assert "coefficient large enough" in in_loss["kl-doubled"]
    assert "coefficient large enough" not in in_reward["kl-doubled"]
    assert "KL penalty in the reward" in in_reward["score-up-reward-down"]
    assert "KL penalty in the reward" not in in_loss["score-up-reward-down"]


def test_the_combined_alarm_wants_a_score_without_gain() -> None:
    columns: dict[str, object] = {
        "kl_ref": course("kl_ref", 4.0),
        "entropy": course("entropy", 0.4),
        "response_length_mean": course("response_length_mean", 0.5),
    }
    assert "template-collapse" not in ids(columns)
    assert "template-collapse" in ids({**columns, "score_mean": course("score_mean", 1.0)})
    assert "template-collapse" not in ids({**columns, "score_mean": course("score_mean", 1.6)})


def test_an_early_gain_is_a_gain() -> None:
    columns: dict[str, object] = {
        m: course(m, f) for m, f in (("kl_ref", 4.0), ("entropy", 0.4), ("response_length_mean", 0.5))
    }
    early = 0.02 + 0.5 * np.minimum(1, np.arange(N) / 15) + 0.02 * noise(np.random.default_rng(5), N)
    assert "template-collapse" not in ids({**columns, "score_mean": early})


def test_a_small_move_alone_is_never_loud() -> None:
    columns = {
        "response_length_mean": course("response_length_mean", 0.9, relative=0.01),
        "score_mean": course("score_mean", 1.3),
    }
    assert "length-down" in ids(columns)  # type: ignore[arg-type]
    d = Engine().advance(FakeRun(columns).grow())
    assert not [f for f in d.findings if f.severity != "info"]
    assert d.verdict.decision == "continue"
