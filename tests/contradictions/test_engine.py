"""Each rule finds a planted lie, and is silent without it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.contradictions.engine import RULES, contradictions
from tests.contradictions.honest import MAIN, PAGE, finding, honest, metric
from tests.contradictions.lies import MORE
from tests.contradictions.page import read_page
from tests.contradictions.surfaces import Json, Said


def at(said: Said) -> Json:
    return said.report["findings"][0]


def add(said: Said, **more: Any) -> None:
    """A further finding, as loud and as open as the first."""
    said.report["findings"].append(finding("second", **more))


def page(said: Said, old: str, new: str) -> None:
    assert old in PAGE
    said.page = read_page(PAGE.replace(old, new))


def screen(said: Said, old: str, new: str) -> None:
    assert old in MAIN
    said.screens["main"] = MAIN.replace(old, new)


def clear(said: Said) -> None:
    """Nothing is wrong."""
    said.report["findings"] = []
    said.report["pipeline"][0]["status"] = "pass"
    said.report["verdict"] |= {"decision": "continue", "because": [], "kinds": ["healthy"], "badge": "CONTINUE"}
    said.report["verdict"]["text"] = "All clear: 40 checks ran, 12 could not. Reward 0.8 → 0.1."


def text(said: Said, words: str) -> None:
    at(said)["summary"] = words


def put(key: str, value: Any) -> Callable[[Said], None]:
    """A lie in the row of `runs`."""
    return lambda said: said.ends.update({key: value})  # type: ignore[union-attr]


def told(key: str, value: Any) -> Callable[[Said], None]:
    """A lie in the first finding."""
    return lambda said: at(said).update({key: value})


def _all_clear_blind(said: Said) -> None:
    clear(said)
    said.report["verdict"]["text"] = "All clear: 40 checks ran. Reward 0.8 → 0.1."


def _all_clear_of_a_loss(said: Said) -> None:
    clear(said)
    said.report["metrics"] = {"loss": metric(0.8, 0.1, group="loss", key="loss")}


def _late(said: Said) -> None:
    said.earlier[30]["findings"] = [finding()]


def _past_verdict(said: Said) -> None:
    said.travelled[30] = "as at step 30 of 60   ✗ STOP · KEEP 40   Reward collapsed   1 Findings  1 critical ──"


def _over(said: Said) -> None:
    said.report["run"]["state"] = "finished"


def _course(said: Said) -> None:
    clear(said)
    said.report["outlook"]["kl_reward"]["advice"] = "drift without gain: stop now"


def _advice(said: Said, words: str) -> None:
    said.report["outlook"]["kl_reward"]["advice"] = words


def _validation(said: Said) -> None:
    said.report["metrics"]["val_score"] = metric(0.9, 0.2, key="val")
    said.report["verdict"]["text"] = "All clear. Validation still rises."


def _vanished(said: Said) -> None:
    said.report["metrics"]["reward_mean"]["count"] = 0


LIES: dict[str, tuple[Callable[[Said], Any], ...]] = {
    "ends and whole": (put("state", "stalled"), put("last_step", 3), put("total_steps", 1875), put("framework", "trl")),
    "ends and newest values": (put("values", {"reward_mean": 0.7}),),
    "health and verdict": (put("health", "ok"),),
    "compare and report": (
        lambda s: s.compared.update(state="stalled"),
        lambda s: s.compared.update(decision="continue"),
    ),
    "compare and severity": (told("severity", "info"), told("status", "resolved")),
    "compare and best step": (
        lambda s: (
            s.compared.update(metric="reward_mean", best_step=7),
            s.report["verdict"]["best_checkpoint"].update(path=None),
        ),
    ),
    "watch and report": (
        lambda s: s.watched[0].update(state="stalled"),
        lambda s: s.watched[0].update(text="All clear"),
    ),
    "page and json": (
        lambda s: page(s, "State: **running**", "State: **stalled**"),
        lambda s: page(s, "of 100 planned", "of 90 planned"),
        lambda s: page(s, "12 could not", "3 could not"),
        lambda s: page(s, "STOP · KEEP 40", "CONTINUE"),
    ),
    "page and findings": (
        lambda s: page(s, "### ✗ critical", "### ! warning"),
        lambda s: page(s, "collapsed, since step 50\n", "collapsed, since step 49\n"),
        lambda s: add(s, title="Entropy collapsed"),
    ),
    "pipeline page and json": (
        lambda s: page(s, "| reward | ✗ critical", "| reward | ✓ pass"),
        lambda s: screen(s, "reward ✗", "reward ✓"),
    ),
    "screen and report": (
        lambda s: screen(s, "step 60 / 100", "step 59 / 100"),
        lambda s: screen(s, "1 critical", "2 critical"),
        lambda s: screen(s, "STOP · KEEP 40", "CONTINUE"),
        lambda s: screen(s, "● live", "✓ finished"),
    ),
    "picker and report": (
        lambda s: setattr(s, "picked", s.picked.replace("60/100", "31/1875")),
        lambda s: setattr(s, "picked", s.picked.replace("? not looked at", "✓ ok")),
    ),
    "eta everywhere": (
        _over,
        lambda s: s.report["run"].update(state="stalled", eta_s=None),
        lambda s: s.report["outlook"]["forecasts"][0].update(at=90.0),
        lambda s: screen(s, "ETA 40 s", "ETA 22 d"),
    ),
    "best step everywhere": (
        lambda s: screen(s, "Keep global_step_40", "Keep global_step_60"),
        lambda s: page(s, "**step 40**", "**step 60**"),
        lambda s: s.report["verdict"].update(badge="STOP · KEEP 60"),
    ),
    "prefix and whole": (_late, lambda s: s.earlier[30]["run"]["steps"].update(last=31)),
    "prefix and screen": (_past_verdict,),
    "runs full and report": (lambda s: s.whole.update(critical=0), lambda s: s.whole.update(decision="continue")),
    "invariant and stage": (
        lambda s: s.report["outlook"].update(
            invariants=[{"name": "finite", "stage": "loss", "status": "fail", "measured": "9 of 60"}]
        ),
    ),
    "verify and report": (lambda s: s.held[0].update(mark="!!"),),
    "stage and findings": (lambda s: s.report["pipeline"][0].update(status="pass"),),
    "finding without stage": (told("stage", None),),
    "child and root": (
        lambda s: add(s, root="reward-collapse", onset_step=39),
        lambda s: (add(s, root="reward-collapse"), at(s).update(severity="warning")),
        lambda s: (add(s, root="reward-collapse"), at(s).update(severity="info")),
        lambda s: add(s, root="nobody"),
        lambda s: (add(s, root="reward-collapse"), at(s).update(root="second")),
    ),
    "life of a finding": (
        told("peak_severity", "warning"),
        told("status", "resolved"),
        told("last_step", 40),
        told("onset_step", 61),
    ),
    "verdict and findings": (
        lambda s: s.report["verdict"].update(because=["entropy-collapse"]),
        lambda s: s.report["verdict"].update(decision="continue"),
        lambda s: s.report["verdict"].update(decision="continue-watch"),
        lambda s: s.report["verdict"].update(kinds=["healthy"]),
        told("onset_step", 44),
    ),
    "badge and state": (_over, lambda s: s.report["verdict"]["best_checkpoint"].update(on_disk=False)),
    "words and state": (
        lambda s: (_over(s), s.report["verdict"].update(would_change="judged again at step 80")),
        _course,
        lambda s: _advice(s, "watch, and stop if it lasts"),
        lambda s: (s.report["verdict"].update(decision="continue-watch"), _advice(s, "pause and look")),
    ),
    "all clear": (
        _all_clear_blind,
        _all_clear_of_a_loss,
        lambda s: (clear(s), s.report["pipeline"][1].update(status="warn")),
    ),
    "still and fallen": (lambda s: text(s, "Reward has not moved beyond its noise in 60 rows."),),
    "since when once": (lambda s: page(s, "since step 50. Reward", "since step 50, since step 50. Reward"),),
    "gone back to": (
        lambda s: (
            (s.screens.clear(), s.report["run"]["steps"].update(last=None)),
            page(s, "## 6. Continue", "1. Resume from the best checkpoint: high impact\n\n## 6. Continue"),
        ),
    ),
    "best and peak": (
        lambda s: s.report["verdict"]["best_checkpoint"].update(metric="reward", path=None, step=39),
        lambda s: (
            s.report["verdict"]["best_checkpoint"].update(metric="reward", step=52),
            s.report["findings"].append(finding("train-val-divergence", onset_step=50)),
        ),
        lambda s: s.report["verdict"]["best_checkpoint"].update(step=1, against="no better than the start of 0.9"),
    ),
    "case and facts": (
        lambda s: s.report["outlook"]["kl_reward"].update(reward="up"),
        lambda s: s.report["outlook"]["kl_reward"].update(reward="flat", lately=["validation"]),
    ),
    "checks that failed": (lambda s: s.report.update(checks_failed=[{"rule": "kl-runaway", "error": "ValueError"}]),),
    "fell and rose": (
        lambda s: text(s, "Reward fell from 0.1 to 0.8."),
        lambda s: text(s, "KL rose from 2.5 to 1,000e-4 nats."),
    ),
    "reward and its numbers": (lambda s: text(s, "Entropy rises while the reward rose."),),
    "shape and numbers": (lambda s: s.report["metrics"]["reward_mean"].update(shape="rises, decelerating"),),
    "evidence and table": (lambda s: at(s)["evidence"][0].update(last=0.3),),
    "shares in sentences": (
        lambda s: text(s, "56 % of the groups have no reward variance over the last 20 rows."),
        lambda s: text(s, "50 % of the groups agree."),
        lambda s: text(s, "9 % of the responses are cut at the limit over the last 20 rows."),
    ),
    "reward in the verdict": (
        lambda s: (clear(s), s.report["verdict"].update(text="All clear: 12 could not. Reward 0.1 → 0.8.")),
    ),
    "moved and table": (lambda s: s.report.update(moved=[{"metric": "reward_mean", "first": 0.8, "last": 0.5}]),),
    "validation in sentences": (_validation,),
    "epochs of one metric": (_vanished,),
}


ALL = LIES | MORE


def test_an_honest_run_contradicts_nothing() -> None:
    assert contradictions(honest()) == []


def test_every_rule_has_its_lie() -> None:
    contradictions(honest())
    assert set(ALL) == set(RULES)


@pytest.mark.parametrize(("name", "number"), [(name, n) for name, lies in ALL.items() for n in range(len(lies))])
def test_a_lie_is_found(name: str, number: int) -> None:
    said = honest()
    ALL[name][number](said)
    found = {one.rule for one in contradictions(said)}
    assert name in found


def test_a_rule_says_what_has_to_agree() -> None:
    contradictions(honest())
    assert all(re.search(r"\w{3}.*\.", check.__doc__ or "") for check in RULES.values())
