"""What published practice asks of a summary and a report (tests/requirements.toml, S0.5 to S0.24), on samples."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.rules.knowledge import pages
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conftest import REPO

SAMPLES = REPO / "sample_runs"
ROWS = 120
SEARCH_R1 = """\
(main_task pid=7) {'actor_rollout_ref': {'actor': {'use_kl_loss': True,
(main_task pid=7)                                   'kl_loss_coef': 0.001,
(main_task pid=7)                                   'optim': {'lr': 1e-06}}}}
"""


@cache
def report(name: str, *words: str) -> dict[str, Any]:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["report", str(SAMPLES / name), "--format", "json", *words]) == 0
    data: dict[str, Any] = json.loads(out.getvalue())
    return data


@cache
def markdown(name: str) -> str:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["report", str(SAMPLES / name), "--long"]) == 0
    return out.getvalue()


def rows(folder: Path, keys: tuple[str, ...]) -> Path:
    """A run that learns and logs these keys only."""
    noise = [0.02, -0.03, 0.01, 0.0, -0.02, 0.03, -0.01]
    levels = {
        "critic/score/mean": lambda n: 0.2 + 0.5 * n / (n + 40) + noise[n % 7],
        "actor/entropy": lambda n: 1.2 - 0.001 * n + noise[n % 5],
        "actor/kl_loss": lambda n: 0.001 + 1e-5 * n,
        "actor/grad_norm": lambda n: 0.3 + noise[n % 6],
        "response_length/mean": lambda n: 400.0 + 100 * noise[n % 7],
    }
    path = folder / "metrics.jsonl"
    lines = [json.dumps({"step": n, **{key: levels[key](n) for key in keys}}) for n in range(1, ROWS)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_one_command_gives_markdown() -> None:
    text = markdown("trl-reward-flip")
    assert text.startswith("# trl-reward-flip")
    assert "| metric | first | mid | last | change | slope | corr | min | max |" in text


def test_the_window_is_that_of_the_user_in_json() -> None:
    opened = RunReader(locate([str(SAMPLES / "trl-reward-flip")])[0])
    opened.load()
    series = opened.run.series("reward_mean")
    assert series is not None
    metric = report("trl-reward-flip", "--window", "5")["metrics"]["reward_mean"]
    assert metric["first"] == pytest.approx(series.values[:5].mean(), rel=1e-5)
    assert metric["last"] == pytest.approx(series.values[-5:].mean(), rel=1e-5)
    middle = len(series) // 2
    assert min(series.values[middle - 5 : middle + 5]) <= metric["mid"] <= max(series.values[middle - 5 : middle + 5])


def test_the_words_of_the_verdict() -> None:
    assert report("trl-grpo-healthy")["verdict"]["kinds"] == ["healthy"]
    sick = report("trl-reward-flip")["verdict"]["kinds"]
    assert "unstable" in sick
    assert len(sick) > 1, "more than one may hold"
    schema = json.loads((REPO / "rltui" / "report" / "schema.json").read_text())
    assert {"healthy", "unstable", "reward-hacking", "misconfigured"} <= set(json.loads(json.dumps(_kinds(schema))))


def _kinds(schema: object) -> list[str]:
    """The enumeration of the kinds, wherever the schema holds it."""
    if isinstance(schema, dict):
        if "healthy" in schema.get("enum", ()):
            return list(schema["enum"])
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            if found := _kinds(inner):
                return found
    return []


@pytest.mark.parametrize("name", [p.name for p in sorted(SAMPLES.iterdir()) if p.is_dir()])
def test_claims_carry_numbers_causes_a_place_and_fixes_impact_and_risk(name: str) -> None:
    for finding in report(name)["findings"]:
        for evidence in finding["evidence"]:
            numbers = [evidence[key] for key in ("first", "mid", "last", "slope_per_100_steps")]
            assert any(x is not None for x in numbers) or any(c.isdigit() for c in evidence["text"]), finding["id"]
        assert finding["basis"] in ("hypothesis", "config", "samples", "log")
        if finding["severity"] != "info":
            tied = [cause["config_key"] for cause in finding["causes"] if cause["config_key"]]
            assert tied or finding["where"] or finding["basis"] == "log", finding["id"]
        for fix in finding["fixes"]:
            assert fix["impact"] in ("high", "medium", "low")
            assert fix["risk"] in ("high", "medium", "low", "none")


def test_what_is_not_logged_is_listed_and_lowers_the_confidence(tmp_path: Path) -> None:
    every = ("critic/score/mean", "actor/entropy", "actor/kl_loss", "actor/grad_norm", "response_length/mean")
    confidence, unknown = [], []
    for number, keys in enumerate((every, every[:1])):
        folder = tmp_path / str(number)
        folder.mkdir()
        opened = RunReader(locate([str(rows(folder, keys))])[0])
        opened.load()
        diagnosis = opened.diagnosis()
        confidence.append(diagnosis.verdict.confidence)
        unknown.append(len(diagnosis.unknowns))
    assert confidence[0] > confidence[1]
    assert unknown[0] < unknown[1]


def test_code_is_pointed_at_apart_from_the_rules_and_the_checkout_wins() -> None:
    assert "checkout wins" in " ".join(pages()["where-to-look"].text.split())
    assert "Your own checkout wins" in markdown("trl-reward-flip")


def test_every_metric_has_its_summary_statistics() -> None:
    wanted = {"count", "missing", "nan", "first_value", "last_value", "first", "mid", "last", "min", "max", "mean"}
    for name, metric in report("trl-reward-flip")["metrics"].items():
        assert wanted | {"pct_change", "slope_per_100_steps", "corr_step", "shape"} <= set(metric), name
        if metric["first"] == 0:
            assert metric["pct_change"] is None, "nothing is divided by zero"


def test_a_log_of_search_r1_gives_every_part_of_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [SEARCH_R1]
    for step in range(1, 41):
        lines.append(f"(main_task pid=7) epoch 0, step {step}\n")
        lines.append(f"(main_task pid=7) Round 1: invalid draft format count = {step % 9}/16\n")
        lines.append(f"(main_task pid=7) step:{step} - critic/score/mean:{0.2 + step / 100} - actor/kl_loss:1e-05\n")
    (tmp_path / "train.log").write_text("".join(lines))
    assert main(["report", str(tmp_path), "--long"]) == 0
    text = capsys.readouterr().out
    parts = ["rows", "use_kl_loss", "## 2. Metric diagnosis", "invalid", "Recommended fixes", "missing"]
    for part in parts:
        assert part.lower() in text.lower(), part
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["config"]["kl_coef_loss"]["value"] == 0.001
    assert any("invalid" in name for name in data["metrics"]), "counts by round"
    assert data["metrics"]["kl_ref"]["last_value"] == 1e-05
    assert {gap["metric"] for gap in data["coverage"]["missing"]} >= {"entropy", "grad_norm"}
