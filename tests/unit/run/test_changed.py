"""A setting with which a run was resumed otherwise is named with its value before and after."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.unit.reported import told

ARGS = (
    "Namespace(pretrain='q', actor_learning_rate=1e-06, n_samples_per_prompt=8, rollout_batch_size=64,"
    " save_path='out/{n}', ckpt_path='./ckpt', load_checkpoint={resumed}{more})"
)
RESUMED = "Loading the checkpoint: ./ckpt/_actor/global_step100"
JUDGE = ", remote_rm_url='http://rm-v2:5000/get_reward'"


def args(n: int = 1, more: str = "") -> str:
    return ARGS.format(n=n, resumed=n > 1, more=more)


def rows(first: int, last: int, scale: float = 1.0) -> list[str]:
    chance = random.Random(first)
    out = []
    for step in range(first, last + 1):
        reward = scale * (0.5 + 0.0005 * step + chance.gauss(0, 0.02))
        cells = {"reward": round(reward, 4), "group_reward_std": round(0.27 * scale + chance.gauss(0, 0.01), 4)}
        cells |= {"entropy_loss": 0.25, "kl": 0.03, "response_length": 400.0, "policy_loss": 0.01}
        out.append(f"Global step {step}: {cells}")
    return out


def causes(run: Path) -> str:
    return told(run)[1]


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("resume_first", [True, False])
def test_a_setting_that_the_next_launch_printed_otherwise(tmp_path: Path, resume_first: bool) -> None:
    again = [RESUMED, args(2, JUDGE)] if resume_first else [args(2, JUDGE), RESUMED]
    write(tmp_path / "run" / "train.log", args(), *rows(1, 100), *again, *rows(101, 220, 8.0))
    page = causes(tmp_path / "run")
    assert "resumed at step 101 with remote_rm_url unset → http://rm-v2:5000/get_reward" in page


def test_the_log_of_each_launch_tells_its_settings(tmp_path: Path) -> None:
    write(tmp_path / "run" / "slurm-1001.out", args(1, ", reward_weights=[1.0, 0.5]"), *rows(1, 100))
    write(tmp_path / "run" / "slurm-1002.out", args(2, ", reward_weights=[8.0, 4.0]"), *rows(101, 220, 8.0))
    write(tmp_path / "run" / "checkpoint-100" / "model.safetensors", "weights")
    page = causes(tmp_path / "run")
    assert "with reward_weights [1.0, 0.5] → [8.0, 4.0]" in page


def test_what_each_launch_has_of_its_own_is_no_change(tmp_path: Path) -> None:
    write(tmp_path / "run" / "train.log", args(), *rows(1, 100), args(2), RESUMED, *rows(101, 220, 8.0))
    page = causes(tmp_path / "run")
    assert "resumed at step 101" in page
    assert "resumed at step 101 with" not in page


def test_settings_printed_without_a_launch_change_nothing(tmp_path: Path) -> None:
    write(tmp_path / "run" / "train.log", args(), *rows(1, 100), args(2, JUDGE), *rows(101, 220, 8.0))
    page = causes(tmp_path / "run")
    assert "resumed at step" not in page
    assert "unset →" not in page


def test_two_models_of_one_launch_are_no_change(tmp_path: Path) -> None:
    other = args(1, ", num_layers=12")
    more = [args(1, ", num_layers=28"), other, *rows(1, 100), RESUMED, other, args(2, ", num_layers=28")]
    write(tmp_path / "run" / "train.log", *more, *rows(101, 220, 8.0))
    page = causes(tmp_path / "run")
    assert "resumed at step 101" in page
    assert "resumed at step 101 with" not in page
