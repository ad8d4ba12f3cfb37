"""How findings and verdicts speak: notices softly, causes only where the config allows them, verdicts briefly."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rltui.cli import main
from rltui.diagnosis.causes import Weighed, weighed
from rltui.diagnosis.engine import Engine
from rltui.diagnosis.finding_words import in_sentence
from rltui.diagnosis.outcome import Spell
from rltui.diagnosis.tested import Ground
from rltui.evidence.blocks import BlockCache
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.rules.catalogue import rules
from rltui.rules.expectation import Configured
from rltui.run.run import ConfigValue
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.diagnosis.test_dating import diagnose, flipped

ALARM = ("runs away", "explode", "collapse", "violated", "at fault", "contradict", "stuck", "hacking")


def test_every_rule_has_a_soft_title_for_its_notice() -> None:
    for rule in rules().values():
        assert rule.notice
        assert not any(word in rule.notice.lower() for word in ALARM), rule.id


def test_a_notice_carries_its_soft_title_and_a_warning_the_alarm() -> None:
    soft = next(f for f in diagnose(flipped(), 190).findings if f.id == "kl-runaway")
    loud = next(f for f in diagnose(flipped()).findings if f.id == "kl-runaway")
    assert (soft.severity, soft.title) == ("info", "KL to reference has grown")
    assert (loud.severity, loud.title) == ("critical", "KL to reference runs away")


@pytest.mark.parametrize(
    ("raw", "value", "holds"),
    [
        ({"op": ">", "value": 1}, 1, False),
        ({"op": ">", "value": 1}, "2", True),
        ({"op": "<=", "value": 0.2}, 0.2, True),
        ({"op": ">", "value": 1}, "many", None),
        ({"op": "in", "value": [False, "none"]}, False, True),
        ({"op": "in", "value": [False, "none"]}, "None", True),
        ({"op": "not in", "value": [False]}, 0.05, True),
    ],
)
def test_conditions(raw: dict[str, object], value: object, holds: bool | None) -> None:
    assert msgspec.convert({"test": "config", "key": "kl_coef_loss"} | raw, Configured).holds(value) is holds


@pytest.mark.parametrize("raw", [{"op": "__import__", "value": 1}, {"op": "in", "value": 1}, {"op": ">", "value": [1]}])
def test_conditions_that_mean_nothing_are_refused(raw: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"test": "config", "key": "kl_coef_loss"} | raw, Configured)


def weigh(rule: str, config: dict[str, ConfigValue]) -> tuple[Weighed, ...]:
    """Causes of a rule in a run that learns, under this config."""
    run = FakeRun(learning_run(0, 60)).grow()  # type: ignore[arg-type]
    look = Look(LookFeed(run, BlockCache(), RunSettings.of(run)), 60, {})
    return weighed(rules()[rule], Ground(look, config), Spell(30, 60), Guard())


def test_a_cause_that_the_config_speaks_against_is_contradicted_and_comes_last() -> None:
    def entropy(clip: float) -> tuple[str, str, int]:
        found = weigh("entropy-collapse", {"clip_high": ConfigValue(clip, "clip_ratio_high", "config")})
        at = next(i for i, one in enumerate(found) if one.name == "clip")
        return found[at].cause.status, found[at].cause.because, at

    assert entropy(0.2) == ("supported", "clip_ratio_high = 0.2 (at most 0.2)", 0)
    status, _, at = entropy(0.28)
    assert status == "contradicted"
    assert at > 0


def test_what_is_switched_off_is_no_cause_and_the_path_taken_is() -> None:
    off = ConfigValue(0.1, "actor.kl_loss_coef", "config", active=False, note="no KL in the loss")
    low = {one.cause.text: one.cause for one in weigh("cfg-lr-too-low", {"kl_coef_loss": off})}
    held = next(cause for text, cause in low.items() if text.startswith("The KL penalty holds"))
    assert (held.status, held.config_key) == ("contradicted", None)
    taken = ConfigValue(0.05, "algorithm.kl_ctrl.kl_coef", "config")
    low = {one.cause.text: one.cause for one in weigh("cfg-lr-too-low", {"kl_coef_loss": off, "kl_coef_reward": taken})}
    held = next(cause for text, cause in low.items() if text.startswith("The KL penalty holds"))
    assert (held.status, held.config_key) == ("supported", "algorithm.kl_ctrl.kl_coef")
    told = {one.name: one.cause.status for one in weigh("kl-runaway", {"kl_coef_loss": off})}
    assert (told["switch"], told["weak"]) == ("supported", "contradicted"), "a set coefficient is off, not weak"
    zero = ConfigValue(0.0, "beta", "config", active=False, note="0: no reference model and no KL term")
    told = {one.name: one.cause.status for one in weigh("kl-runaway", {"kl_coef_loss": zero})}
    assert (told["switch"], told["weak"]) == ("contradicted", "supported"), "off is as weak as can be"
    because = next(one.cause.because for one in weigh("kl-runaway", {"kl_coef_loss": off}) if one.name == "switch")
    assert "no KL in the loss" in because


def test_a_plateau_begins_where_it_is_flat_not_where_the_reward_rose() -> None:
    score = 0.3 + 0.3 * np.clip(np.arange(400) / 40, 0, 1) + 0.02 * noise(np.random.default_rng(2), 400)
    d = Engine().advance(FakeRun(learning_run(3, 400) | {"score_mean": score}).grow())  # type: ignore[arg-type]
    plateau = next(f for f in d.findings if f.id == "reward-plateau")
    assert plateau.onset_step is not None
    assert plateau.onset_step >= 40


def test_the_verdict_leads_with_the_root_and_leaves_the_checkpoint_to_its_own_line() -> None:
    d = diagnose(flipped())
    assert d.verdict.decision == "abort-now"
    lead = next(f for f in d.findings if f.id == d.verdict.because[0])
    assert lead.root is None
    assert d.verdict.text.startswith(lead.title)
    assert "checkpoint" not in d.verdict.text.lower()
    assert d.verdict.would_change.startswith("It would change if ")


def test_going_on_over_a_plateau_has_a_reason() -> None:
    columns = learning_run(0, 600)
    columns["val_score"] = [None] * 600
    columns["score_mean"] = [min(0.7, 0.2 + 0.0025 * i) + 0.01 * ((i * 7919) % 13 - 6) / 6 for i in range(600)]
    d = Engine().advance(FakeRun(columns, planned=2000).grow())
    assert any(f.id == "reward-plateau" for f in d.findings)
    if d.verdict.decision == "continue":
        assert "level since step" in d.verdict.text
        assert "validation" in d.verdict.text


def test_titles_within_a_sentence_keep_abbreviations() -> None:
    assert in_sentence("KL to reference runs away") == "KL to reference runs away"
    assert in_sentence("Reward collapsed") == "reward collapsed"
    assert in_sentence("NaN or infinity in core metrics") == "NaN or infinity in core metrics"


def test_a_number_that_a_cause_asks_for_twice_is_told_once_and_with_its_limit() -> None:
    config = {"group_size": ConfigValue(2, "num_generations", "config")}
    (cause, *_) = (one.cause for one in weigh("cfg-group-size-degenerate", config))
    assert cause.status == "supported"
    assert cause.because == "num_generations = 2 (below 8)"


def test_what_grew_within_a_tenth_of_the_run_was_not_so_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KL is .06 in the first five rows and .2 in the mean of the first tenth: the reference is the right model."""
    rng = random.Random(5)
    rows = (
        {"step": i, "reward": 0.5 + rng.gauss(0, 0.03), "kl": 0.02 * i + rng.gauss(0, 0.002)} for i in range(1, 201)
    )
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    findings = {f["id"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    status = {c["text"]: c["status"] for c in findings["kl-runaway"]["causes"]}
    assert status["The reference is not the model that training started from"] == "contradicted"


def test_a_phase_that_few_steps_run_is_as_long_as_it_takes_when_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A save takes more than five minutes; the steps between log 0 seconds for it."""
    rng = random.Random(2)
    with (tmp_path / "metrics.jsonl").open("w") as out:
        for i in range(1, 121):
            save = 320 + rng.gauss(0, 10) if i % 10 == 0 else 0.0
            row = {"critic/score/mean": 0.3 + 0.002 * i + rng.gauss(0, 0.02), "timing_s/gen": 30.0}
            times = {"timing_s/step": 60 + rng.gauss(0, 1) + save, "timing_s/save_checkpoint": save}
            out.write(json.dumps({"step": i, **row, **times}) + "\n")
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    findings = {f["id"]: f for f in json.loads(capsys.readouterr().out)["findings"]}
    status = {c["text"]: c["status"] for c in findings["checkpoint-slow"]["causes"]}
    assert "contradicted" not in [
        state for text, state in status.items() if "file system" in text and "is slow" in text
    ]
    assert "supported" in status.values()
