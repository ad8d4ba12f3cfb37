"""What published practice asks of sources, names and config."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.report.build import build
from rltui.report.to_json import to_json
from rltui.session.locate import locate
from rltui.session.opened import OpenedRun
from rltui.vocabulary.resolve import detect_dialect, resolve
from tests.unit.readers.reading import read

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


def opened(path: Path) -> OpenedRun:
    run = OpenedRun(locate([str(path)])[0])
    run.load()
    return run


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
    assert SECRET not in to_json(build(one.frame()))


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


def test_columns_of_invalid_drafts_keep_their_names_and_place() -> None:
    for key in ("paper_writing/invalid_draft_rate", "invalid_format/mean", "paper_writing_reward/clarity"):
        assert resolve(key, "search_r1").label


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
    root = labelled_run(name)
    local = opened(next(root.rglob("*.jsonl")))
    wandb = opened(next(root.rglob("*.wandb")))
    assert local.run.framework == wandb.run.framework

    def loud(one: OpenedRun) -> set[tuple[str, str]]:
        """What is loud about the training; whether it still runs is told by the plan, which JSON lines do not hold."""
        found = (f for f in one.diagnosis().findings if f.severity in ("warning", "critical"))
        return {(f.id, f.severity) for f in found if not f.id.startswith("run-")}

    shared = [key for key in local.run.history.table.columns if key in wandb.run.history.table.columns]
    assert "critic/rewards/mean" in shared
    assert loud(local) == loud(wandb)
