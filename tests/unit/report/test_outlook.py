"""What a whole report tells beyond the findings: first moves, the KL and reward case, forecasts, invariants, code."""

from __future__ import annotations

import json
import re
from typing import get_args

import pytest

from rltui.cli.screen import sample_runs
from rltui.frameworks.load import dialect
from rltui.frameworks.schema import Topic
from rltui.report.build import build
from rltui.report.markdown import render
from rltui.report.to_json import to_json
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conftest import report_schema


def _report(name: str, until: int | None = None) -> tuple[dict[str, object], str]:
    opened = RunReader(locate([f"{sample_runs()}/{name}"], None)[0], until_step=until)
    opened.load()
    frame = opened.with_insight(opened.frame(0.0))
    opened.close()
    report = build(frame)
    return json.loads(to_json(report)), render(report, long=True)


def test_the_json_keeps_the_schema_and_says_what_moved_first() -> None:
    data, text = _report("trl-reward-flip")
    report_schema().validate(data)
    moves = data["outlook"]["first_moves"]  # type: ignore[index]
    assert moves["finding"] in {f["id"] for f in data["findings"]}  # type: ignore[attr-defined]
    assert [m["step"] for m in moves["moves"]] == sorted(m["step"] for m in moves["moves"])
    assert moves["moves"][0]["metric"] == "reward_mean"  # the reward was flipped: it moves before the KL
    assert data["outlook"]["kl_reward"]["reward"] == "down"  # type: ignore[index]  # a collapse is open
    assert "moved first (a hint, no proof): reward" in text
    assert "KL, reward and validation:" in text
    assert "| must hold |" in text
    assert "Values of the reward: " in text or data["outlook"]["rewards"]["binary"] is None  # type: ignore[index]
    assert {"slow", "waits", "shares", "constants"} <= set(data["outlook"])  # type: ignore[arg-type]


def test_a_past_report_knows_nothing_of_what_came_later() -> None:
    data, _ = _report("trl-reward-flip", until=150)
    steps = [m["step"] for m in data["outlook"]["first_moves"]["moves"]]  # type: ignore[index]
    assert all(step <= 150 for step in steps)


def test_a_report_of_the_screen_without_insight_is_a_valid_report() -> None:
    opened = RunReader(locate([f"{sample_runs()}/verl-grpo-crash"], None)[0])
    opened.load()
    report = build(opened.frame(0.0))
    opened.close()
    data = json.loads(to_json(report))
    report_schema().validate(data)
    assert data["outlook"] is None


def test_findings_name_the_code_to_open() -> None:
    data, _ = _report("verl-grpo-crash")
    places = {place for f in data["findings"] for place in f["where"]}  # type: ignore[attr-defined]
    assert any(place.startswith("verl/") for place in places)
    _, text = _report("trl-reward-flip")
    assert re.search(r"- where to look: [^\n]*`trl/trainer/grpo_trainer.py`", text)
    assert "Your own checkout wins" in text


@pytest.mark.parametrize(
    ("framework", "algorithm", "topic", "path"),
    [
        ("search_r1", "PPO", "generation", "search_r1/llm_agent/generation.py"),
        ("search_r1", None, "config", "train_*.sh"),
        ("verl", "GRPO", "kl", "verl/trainer/ppo/ray_trainer.py"),
        ("verl", "GRPO", "advantages", "verl/trainer/ppo/core_algos.py"),
        ("verl", "GRPO", "loss", "verl/workers/actor/dp_actor.py"),
        ("verl", "GRPO", "reward", "verl/trainer/main_ppo.py"),
        ("trl", "DPO", "loss", "trl/trainer/dpo_trainer.py"),
        ("trl", "DAPO", "loss", "trl/trainer/grpo_trainer.py"),
        ("unsloth", "GRPO", "loss", "trl/trainer/grpo_trainer.py"),
    ],
)
def test_code_places_of_the_frameworks(framework: str, algorithm: str | None, topic: Topic, path: str) -> None:
    assert path in dialect(framework).code(topic, algorithm)


def test_no_place_is_made_up_for_an_unknown_framework() -> None:
    for name in ("my-own", None, "ms_swift"):
        assert all(dialect(name).code(topic, "GRPO") == () for topic in get_args(Topic))
