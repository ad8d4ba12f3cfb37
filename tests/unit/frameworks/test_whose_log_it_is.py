"""Logs of trainers that share names of metrics: each is told by its own signs, TRL by TRL's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import reported

PAIRS = (
    "'loss': {x:.3f}, 'grad_norm': 1.5, 'learning_rate': 1e-06, 'rewards/chosen': {x:.3f}, 'rewards/rejected': -0.1,"
    " 'rewards/accuracies': {x:.3f}, 'rewards/margins': {x:.3f}, 'logps/chosen': -120.5, 'logps/rejected': -140.5"
)
BAR = " {p:2d}%|##   | {n}/40 [00:{n:02d}<01:00, 1.2s/it]{{" + PAIRS + ", 'epoch': {x:.2f}}}\n"
FACTORY = "[INFO|2026-03-01 10:00:01] llamafactory.data.loader:143 >> Loading dataset pairs.json...\n"
TUNE = (
    "Step {n} | loss:{x:.4f} lr:2.0e-06 tokens_per_second_per_gpu:{t:.2f} rewards/chosen:{x:.3f} rewards/rejected:-0.2"
    " rewards/accuracies:{x:.3f} rewards/margins:0.3 log_probs/rejected:-90.5 log_probs/chosen:-80.5\n"
)
SWIFT = (
    "{{'objective/kl': {x:.3f}, 'objective/entropy': 40.5, 'objective/non_score_reward': -0.01,"
    " 'objective/rlhf_reward': {x:.3f}, 'objective/scores': {x:.3f}, 'policy/approxkl_avg': 0.001,"
    " 'policy/clipfrac_avg': 0.01, 'loss/policy_avg': -0.01, 'loss/value_avg': 0.2, 'val/ratio': 1.0, 'lr': 1e-06,"
    " 'episode': {n}, 'memory(GiB)': 50.5, 'train_speed(s/it)': 31.5, 'epoch': {x:.2f},"
    " 'global_step/max_steps': '{n}/40'}}\n"
)
TABLE = (
    "| training_step | {n} |\n| objective/kl_avg | {x:.4f} |\n| policy/clipfrac_avg | 0.01 |\n"
    "| loss/policy_avg | 0.02 |\n| objective/scores | {x:.3f} |\n| val/sequence_lengths | {t:.1f} |\n| lr | 1e-06 |\n"
)


def run_of(folder: Path, head: str, line: str) -> dict[str, Any]:
    text = "".join(line.format(n=n, x=n / 100, p=n * 2, t=1000 + n) for n in range(1, 41))
    (folder / "train.log").write_text(head + text)
    return reported(folder)


@pytest.mark.parametrize(
    ("framework", "head", "line"),
    [
        ("llama_factory", FACTORY, BAR),
        ("trl", "", BAR),
        ("torchtune", "", TUNE),
        ("ms_swift", "", SWIFT),
        ("open_instruct", "", "+----+----+\n" + TABLE + "+----+----+\n"),
    ],
    ids=["LLaMA-Factory", "TRL itself", "torchtune", "ms-swift's PPO", "open-instruct's table"],
)
def test_a_trainer_is_told_by_its_own_signs(framework: str, head: str, line: str, tmp_path: Path) -> None:
    assert run_of(tmp_path, head, line)["run"]["framework"] == framework


def test_names_of_torchtune(tmp_path: Path) -> None:
    report = run_of(tmp_path, "", TUNE)
    assert report["run"]["algorithm"] == "DPO"
    known = {name: metric["key"] for name, metric in report["metrics"].items()}
    assert known["throughput_tokens_per_gpu"] == "tokens_per_second_per_gpu"
    assert (known["dpo_logps_chosen"], known["dpo_accuracy"]) == ("log_probs/chosen", "rewards/accuracies")


def test_names_of_ms_swifts_ppo(tmp_path: Path) -> None:
    report = run_of(tmp_path, "", SWIFT)
    assert report["run"]["algorithm"] == "PPO"
    known = {name: metric["key"] for name, metric in report["metrics"].items()}
    assert (known["reward_mean"], known["ppo_kl"]) == ("objective/rlhf_reward", "policy/approxkl_avg")
    assert known["vf_loss"] == "loss/value_avg"


def test_who_only_speaks_of_a_framework_is_not_it(tmp_path: Path) -> None:
    """The name of a folder, or of another program, is no module that writes the log."""
    said = "INFO: data from /home/me/llamafactory-notes >> loaded\nINFO: >> llamafactory was not found\n"
    assert run_of(tmp_path, said, BAR)["run"]["framework"] == "trl"
