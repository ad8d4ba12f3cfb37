"""Settings that scripts print, or that lie beside a run, in the styles that people use, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.readers.reported import reported

LOG = "".join(f"step {s}/40 reward={s / 100} loss={0.5 / s:.4f}\n" for s in range(1, 41))
ROWS = "".join(json.dumps({"step": s, "reward": s / 100, "kl": 0.1}) + "\n" for s in range(1, 41))

PRINTED = {
    "a dict": "Config: {'lr': 2e-06, 'num_generations': 8, 'algorithm': 'rloo', 'sizes': [1, 2]}\n",
    "JSON behind a logger": '[2026-01-01 10:00:00] INFO cfg = {"lr": 2e-06, "num_generations": 8, "algo": "rloo"}\n',
    "a line of JSON": '{"lr": 2e-06, "num_generations": 8, "algorithm": "rloo"}\n',
    "JSON in lines": 'Config:\n{\n  "lr": 2e-06,\n  "num_generations": 8,\n  "algorithm": "rloo"\n}\n',
    "a dataclass": "TrainConfig(lr=2e-06, num_generations=8, algo='rloo', opt=Opt(name='adamw', betas=(0.9, 0.95)))\n",
    "a Namespace": "Namespace(lr=2e-06, num_generations=8, algo='rloo', betas=(0.9, 0.95))\n",
    "words of a command": "+ python train.py lr=2e-6 num_generations=8 algorithm=rloo trainer.total=40\n",
    "flags of a command": "+ python train.py --lr 2e-6 --num-generations 8 --algorithm rloo\n",
    "a block": "Hyperparameters:\n  lr: 2e-06\n  num_generations: 8\n  algorithm: rloo\n\n",
    "assignments": "=== Config ===\nlr = 2e-06\nnum_generations = 8\nalgorithm = rloo\n==============\n",
    "a list": "Settings\n--------\n- lr: 2e-06\n- num_generations: 8\n- method: rloo\n\n",
}


@pytest.mark.parametrize("text", PRINTED.values(), ids=PRINTED)
def test_settings_printed_before_the_steps(text: str, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(text + LOG)
    report = reported(tmp_path)
    assert (report["config"]["lr"]["value"], report["config"]["group_size"]["value"]) == (2e-6, 8)
    assert report["run"]["algorithm"] == "RLOO"
    assert report["run"]["steps"]["rows"] == 40
    assert set(report["metrics"]) == {"reward_mean", "total_loss"}


FILES = {
    "nested YAML": ("config.yaml", "optim:\n  lr: 2e-6\nrollout:\n  n: 8\nrl:\n  algorithm: rloo\n"),
    "YAML with a model's keys": (
        "config.yaml",
        "architectures: [Qwen2ForCausalLM]\ntransformers_version: 4.5\nlr: 2e-6\nnum_generations: 8\nalgorithm: rloo\n",
    ),
    "TOML": ("config.toml", 'algorithm = "rloo"\n[optim]\nlr = 2e-6\n[rollout]\nn = 8\n'),
    "tags of Python": ("hparams.yaml", "!!python/object:__main__.Args\nlr: 2e-6\nnum_generations: 8\nmethod: rloo\n"),
    "JSON": ("args.json", '{"train": {"lr": 2e-6, "num_generations": 8}, "trainer": "RLOOTrainer"}'),
}


@pytest.mark.parametrize(("name", "text"), FILES.values(), ids=FILES)
def test_settings_in_a_file_beside_the_run(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(ROWS)
    (tmp_path / name).write_text(text)
    report = reported(tmp_path)
    assert (report["config"]["lr"]["value"], report["config"]["group_size"]["value"]) == (2e-6, 8)
    assert report["run"]["algorithm"] == "RLOO"


PLANS = {
    "total_training_steps": {"total_training_steps": 700},
    "num_train_steps": {"num_train_steps": 700},
    "max_train_steps": {"max_train_steps": 700},
    "total_iterations": {"total_iterations": 700},
    "below training": {"training": {"max_steps": 700}, "eval": {"max_steps": 900}},
    "below trainer": {"trainer": {"total_training_steps": 700}},
}


@pytest.mark.parametrize("plan", PLANS)
def test_planned_steps_in_a_file_beside_the_run(plan: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(ROWS)
    (tmp_path / "config.json").write_text(json.dumps({"learning_rate": 2e-6, **PLANS[plan]}))
    assert reported(tmp_path)["run"]["steps"]["total"] == 700


def test_steps_of_something_else_are_no_plan(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(ROWS)
    (tmp_path / "config.json").write_text(json.dumps({"eval": {"max_steps": 700}, "warmup": {"steps": 700}, "lr": 1}))
    assert reported(tmp_path)["run"]["steps"]["total"] is None


def test_a_models_own_config_is_no_runs(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(ROWS)
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Q"], "hidden_size": 8, "temperature": 0.5}))
    assert reported(tmp_path)["config"] == {}


def test_settings_of_another_model_are_not_the_policys(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(ROWS)
    (tmp_path / "config.yaml").write_text("critic:\n  lr: 1e-4\neval:\n  temperature: 0.0\nseed: 3\nmodel: q\n")
    assert set(reported(tmp_path)["config"]) == {"seed", "model"}


def test_lines_of_values_before_the_steps_are_no_settings(tmp_path: Path) -> None:
    said = "Loading: done\nTime: 3.5\nMemory: 12\nReward: 0.5\nWords: hello\n"
    (tmp_path / "train.log").write_text(said + LOG)
    assert reported(tmp_path)["config"] == {}


def test_settings_without_a_canonical_key_are_kept_under_their_own(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(ROWS)
    (tmp_path / "config.yaml").write_text(
        "lr: 2e-6\nrewards:\n  format_weight: 0.25\ntask_type: math\napi_key: sk-abcdefghijklmnop1234\n"
    )
    report = reported(tmp_path)
    assert set(report["config"]) == {"lr"}
    assert report["other_config"]["rewards.format_weight"] == 0.25
    assert report["other_config"]["task_type"] == "math"
    assert "abcdefgh" not in str(report["other_config"])


PAIRS_OF_A_STEP = (
    "10:0{s} trainer | it={s} policy_loss=0.01 R={r:.3f} acc={r:.3f} learning_rate={lr:.1e} t_gen=5{s}.5\n"
)


@pytest.mark.parametrize(
    "said",
    [
        "hparams: {'learning_rate': 2e-06, 'group_size': 8, 'clip_eps': 0.2, 'total_iters': 90}\n",
        "args: --learning_rate 2e-6 --group_size 8 --clip_eps 0.2 --total_iters 90\n",
        "INFO main.py:12 argv = --learning_rate=2e-6 --group_size=8 --clip_eps=0.2 --total_iters=90\n",
    ],
)
def test_a_row_of_the_warm_up_is_no_setting(said: str, tmp_path: Path) -> None:
    rows = (PAIRS_OF_A_STEP.format(s=s, r=s / 100, lr=min(s, 10) * 2e-7) for s in range(1, 41))
    (tmp_path / "train.log").write_text(said + "".join(rows))
    report = reported(tmp_path)
    assert (report["config"]["lr"]["value"], report["run"]["steps"]["total"]) == (2e-6, 90)
    assert report["config"]["clip_low"]["value"] == report["config"]["clip_high"]["value"] == 0.2


def test_a_row_before_which_nothing_is_set_sets_nothing(tmp_path: Path) -> None:
    rows = (PAIRS_OF_A_STEP.format(s=s, r=s / 100, lr=min(s, 10) * 2e-7) for s in range(1, 41))
    (tmp_path / "train.log").write_text("".join(rows))
    assert reported(tmp_path)["config"] == {}


def test_settings_in_pairs_stay_settings(tmp_path: Path) -> None:
    said = "GRPO run: model=q num_generations=8, lr=2e-06, beta=0.04, clip_low=0.2, clip_high=0.28, kl=0.1\n"
    (tmp_path / "train.log").write_text(said + LOG)
    config = reported(tmp_path)["config"]
    assert (config["lr"]["value"], config["clip_low"]["value"], config["clip_high"]["value"]) == (2e-6, 0.2, 0.28)


def test_a_line_that_only_tells_of_flags_is_no_command(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("Try other options: --lr, --seed\n" + LOG)
    assert reported(tmp_path)["config"] == {}
