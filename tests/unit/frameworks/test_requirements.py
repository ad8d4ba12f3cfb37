"""What published practice asks of sources, names and config."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.frameworks.detect import detect_dialect
from rltui.frameworks.resolve import resolve
from rltui.report.build import build
from rltui.report.markdown import render
from rltui.report.model import Report
from rltui.report.to_json import to_json
from rltui.session.run_reader import RunReader
from tests.unit.frameworks.opening import opened, opened_once
from tests.unit.frameworks.test_trackers import wandb
from tests.unit.readers.reading import read

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


def _step(step: int) -> str:
    return f"step:{step} - critic/score/mean:{step / 8} - actor/entropy_loss:0.4\n"


def test_a_file_that_is_named_is_read_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("step,reward\n1,0.5\n2,0.25\n")
    (tmp_path / "b.log").write_text(_step(1) + _step(2))
    assert [source.path for source in opened(tmp_path / "a.csv").run.sources] == [str(tmp_path / "a.csv")]


@pytest.mark.parametrize(
    "path", ["monitor_outputs/rl_metrics_parsed.csv", "late.log", "wandb/run-20260102_030405-abc/files/output.log"]
)
def test_what_is_there_is_found_and_said(tmp_path: Path, path: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        "parsed_index,step,critic/score/mean\n0,1,0.5\n1,2,0.25\n" if path.endswith("csv") else _step(1) + _step(2)
    )
    run = opened(tmp_path).run
    assert [source.path for source in run.sources] == [str(file)]
    assert run.history.table.steps.tolist() == [1, 2]


def test_no_secret_of_a_config_comes_through(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(f"api_key: {SECRET}\nenv: {{WANDB_API_KEY: {SECRET}, lr: 0.5}}\n")
    (tmp_path / "wandb-metadata.json").write_text(
        json.dumps({"args": ["--openai_key", SECRET, "--lr", "0.5", "--n", "8"]})
    )
    (tmp_path / "train.log").write_text(
        f"+ python train.py --hf_token {SECRET} --beta 0.1 --n 4\nNamespace(lr=1, b=2, api_key='{SECRET}')\n" + _step(1)
    )
    one = opened(tmp_path)
    shown = str({key: (value.key, value.value) for key, value in one.run.raw_config.items()})
    assert "beta" in shown
    assert SECRET not in shown
    report = build(one.frame())
    assert SECRET not in to_json(report)
    assert SECRET not in render(report)


def test_the_config_that_is_asked_for_in_both_spellings() -> None:
    wanted = {
        "actor_rollout_ref.actor.use_kl_loss": True,
        "actor_rollout_ref.actor.kl_loss_coef": 0.001,
        "algorithm.kl_ctrl.kl_coef": 0.01,
        "algorithm.adv_estimator": "grpo",
        "actor_rollout_ref.actor.state_masking": True,
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "data.train_batch_size": 512,
        "actor_rollout_ref.rollout.n_agent": 5,
        "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
        "reward_model.reward_type": "f1",
        "reward_model.weights": [0.5, 0.5],
        "task_type": "search",
    }
    line = "python3 -m verl.trainer.main_ppo " + " ".join(f"{k}={str(v).replace(' ', '')}" for k, v in wanted.items())
    printed = (
        "{'actor_rollout_ref': {'actor': {'use_kl_loss': True, 'kl_loss_coef': 0.001, 'state_masking': True,\n"
        "                                 'optim': {'lr': 1e-06}, 'loss_agg_mode': 'token-mean'},\n"
        "                       'rollout': {'n_agent': 5}},\n"
        " 'algorithm': {'kl_ctrl': {'kl_coef': 0.01}, 'adv_estimator': 'grpo'},\n"
        " 'data': {'train_batch_size': 512}, 'reward_model': {'reward_type': 'f1', 'weights': [0.5, 0.5]},\n"
        " 'task_type': 'search'}\n"
    )
    assert read("console", printed).configs[0].values == wanted
    dotted = {key: value for key, value in wanted.items() if "." in key}
    assert read("console", line + "\n").configs[0].values == dotted


def test_invalid_counts_by_round() -> None:
    text = (
        "(main_task pid=3) epoch 0, step 4\n(main_task pid=3) Round 1: invalid draft format count = 3/16\n"
        "(main_task pid=3) Round 2: invalid draft format count = 8/16\n"
        "(main_task pid=3) step:4 - critic/score/mean:0.5 - a:1\n"
    )
    rows: dict[str, float | None] = {}
    for step, cells in read("console", text).rows:
        assert step == 4
        rows |= cells
    assert rows == {
        "invalid_draft_format/round_1": 0.1875,
        "invalid_draft_format/round_2": 0.5,
        "critic/score/mean": 0.5,
        "a": 1.0,
    }


@pytest.mark.parametrize("dialect", ["search_r1", "verl", "generic"])
def test_columns_of_invalid_drafts_are_picked_up_by_name(dialect: str) -> None:
    invalid = ("paper_writing/invalid_draft_rate", "invalid_format/mean", "format_invalid_share", "env/invalid_format")
    for key in invalid:
        assert resolve(key, dialect).canonical == "invalid_output_rate", key
    rounds = [resolve(f"invalid_draft_format/round_{i}", dialect) for i in (1, 2)]
    assert [m.canonical for m in rounds] == ["invalid_output_rate"] * 2
    assert rounds[0].member != rounds[1].member, "a chart a round"
    for key in ("paper_writing/length", "paper_writing_reward/clarity"):
        assert resolve(key, dialect).group == "reward"
        assert resolve(key, dialect).label == key


def test_console_lines_with_colours_and_prefixes() -> None:
    text = (
        "\x1b[36m(main_task pid=3)\x1b[0m step:7 - prompt_length/mean:90.500 - timing_s/gen:12.346 - mfu/actor:0.250\n"
    )
    assert read("console", text).rows == [(7, {"prompt_length/mean": 90.5, "timing_s/gen": 12.346, "mfu/actor": 0.25})]


def test_environment_keys_of_search_r1() -> None:
    names = {
        "env/number_of_actions/mean": "num_turns_mean",
        "env/number_of_actions/max": "num_turns_max",
        "env/finish_ratio": "finish_ratio",
        "env/ratio_of_valid_action": "valid_action_ratio",
        "env/number_of_valid_search": "tool_calls_mean",
    }
    assert {key: resolve(key, "search_r1").canonical for key in names} == names


def test_what_looks_like_rl_is_recognised() -> None:
    assert detect_dialect(["reward", "x"], ["algo.kl.init_coef"]) is not None
    assert resolve("reward", None).canonical == "reward_mean"
    assert resolve("kl_loss", None).canonical == "kl_ref"


@pytest.mark.parametrize("name", ["zoo/v04-add-s0", "zoo/v10-add-s2", "zoo/v01-add-s0"])
def test_wandb_and_the_local_log_give_the_same_diagnosis(name: str, labelled_run: Callable[[str], Path]) -> None:
    """Both hold the config. A W&B file ends where its last block was flushed: how the run ended is not compared."""
    root = labelled_run(name)
    log, wandb = (opened_once(path) for path in (root / "console.log", next(root.rglob("*.wandb"))))
    assert (log.run.framework, log.run.algorithm) == (wandb.run.framework, wandb.run.algorithm)
    assert {key: (v.value, v.active) for key, v in log.run.config.items()} == {
        key: (v.value, v.active) for key, v in wandb.run.config.items()
    }
    reports = [build(one.frame()) for one in (log, wandb)]

    def told(report: Report) -> list[tuple[object, ...]]:
        kept = [f for f in report.findings if not f.id.startswith(("run-", "logging-"))]
        return sorted((f.id, f.subject or "", f.severity, f.onset_step or 0, f.status) for f in kept)

    assert told(reports[0]) == told(reports[1])
    assert [stage.status for stage in reports[0].pipeline] == [stage.status for stage in reports[1].pipeline]
    if log.run.state().state == wandb.run.state().state:
        assert reports[0].verdict.decision == reports[1].verdict.decision
    shared = {key for key in reports[0].metrics if key in reports[1].metrics}
    assert {"reward_mean", "entropy", "phase:rollout"} <= shared


@pytest.mark.long
@pytest.mark.parametrize("name", ["zoo/v04-add-s0", "zoo/v10-add-s2"])
def test_every_local_source_gives_the_same_diagnosis(name: str, labelled_run: Callable[[str], Path]) -> None:
    """JSON lines and TensorBoard hold no config: what the metrics alone tell."""
    root = labelled_run(name)
    files = [next(root.rglob("*.jsonl")), next(root.rglob("events.out*")), next(root.rglob("*.wandb"))]

    def loud(one: RunReader) -> set[tuple[str, str]]:
        found = (f for f in one.diagnosis().findings if f.severity in ("warning", "critical"))
        return {(f.id, f.severity) for f in found if not f.id.startswith("run-")}

    sources = [opened_once(path) for path in files]
    assert loud(sources[0])
    assert all(loud(one) == loud(sources[0]) for one in sources)


def test_a_written_wandb_run_and_the_same_log(tmp_path: Path) -> None:
    """Without the labelled runs: a KL that runs away, once in each source."""
    rows = [
        (step, {"critic/score/mean": 0.5, "actor/kl_loss": 0.01 if step < 60 else 0.01 * 1.2 ** (step - 60)})
        for step in range(1, 121)
    ]
    config = {"actor_rollout_ref": {"actor": {"use_kl_loss": True, "kl_loss_coef": 0.001}}}
    (tmp_path / "run-abc.wandb").write_bytes(wandb(rows, config))
    (tmp_path / "train.log").write_text(
        "{'actor_rollout_ref': {'actor': {'use_kl_loss': True,\n                         'kl_loss_coef': 0.001}}}\n"
        + "".join(f"step:{s} - " + " - ".join(f"{k}:{v!r}" for k, v in cells.items()) + "\n" for s, cells in rows)
    )
    found = []
    for name in ("run-abc.wandb", "train.log"):
        one = opened(tmp_path / name)
        assert one.run.config["kl_coef_loss"].value == 0.001
        findings = (f for f in one.diagnosis().findings if not f.id.startswith(("run-", "logging-")))
        found.append(sorted((f.id, f.severity, f.onset_step or 0) for f in findings))
    assert found[0] == found[1]
    assert any(severity == "critical" for _, severity, _ in found[0])
