"""Names of reward, loss and learning rate as people write them, in other languages too."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.frameworks.resolve import resolve
from tests.unit.readers.reported import ends, reported

NAMES = {
    "reward_mean": (
        *("Batch mean reward", "batch_reward", "Mean batch reward", "R", "mean R", "Rollout mean reward"),
        *("奖励", "平均奖励", "報酬", "평균 보상", "mittlere Belohnung", "Belohnung", "récompense moyenne"),
    ),
    "total_loss": ("batch loss", "损失", "训练损失", "Verlust", "손실", "perte"),
    "lr": ("学习率", "Lernrate"),
    "entropy": ("熵", "Entropie"),
    "kl_ref": ("KL散度",),
    "val_score": ("验证奖励", "验证准确率"),
    "score_mean": ("准确率", "Genauigkeit"),
}
UNKNOWN = ("奖励标准差", "Batch size", "batch", "R2", "R@5", "rank", "Verlustrate", "Belohnungen std")


@pytest.mark.parametrize(("canonical", "key"), [(name, key) for name, keys in NAMES.items() for key in keys])
def test_what_people_write(canonical: str, key: str) -> None:
    assert resolve(key, None).canonical == canonical


@pytest.mark.parametrize("key", UNKNOWN)
def test_what_is_no_reward(key: str) -> None:
    assert resolve(key, None).canonical not in NAMES


@pytest.mark.parametrize(
    "line",
    [
        "[grpo] step {n}/300 R={x:.3f} (fp=0.200 fmt=0.503) kl=0.0004 61.9s",
        "[GRPO] Step {n:03d} | Batch mean reward: {x:+.3f} | KL: 0.1",
        "步数 {n}/200 | 损失: 0.4960 | 平均奖励: {x:.4f} | KL: 0.00100 | 熵: 1.2",
        "Schritt {n} von 120: Verlust = 0.4960, mittlere Belohnung = {x:.3f}, KL = 0.0010, Lernrate = 1.0e-06",
    ],
)
def test_lines_with_such_names(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=n, x=n / 100) + "\n" for n in range(1, 41))
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    assert ends(reported(tmp_path), "reward_mean") == (40, 0.01, 0.4)


def test_a_table_that_was_copied_out_of_a_notebook(tmp_path: Path) -> None:
    heads = "Step | Training Loss | reward | reward_std | completion_length | kl | rewards / format | rewards / right"
    rows = [f"{n} | 0.25 | {n / 100} | 0.5 | 400.5 | 0.01 | 0.0 | {n / 100}" for n in range(1, 41)]
    (tmp_path / "table.txt").write_text("\n".join([heads, " | ".join(["--"] * 8), *rows]) + "\n")
    report = reported(tmp_path)
    assert report["run"]["framework"] == "trl"
    assert ends(report, "total_loss") == (40, 0.25, 0.25)
    assert ends(report, "reward_component_mean:right") == (40, 0.01, 0.4)


def test_a_table_of_ones_own_keeps_its_names(tmp_path: Path) -> None:
    heads, rows = "Step,Training Loss,Validation Loss,Reward", [f"{n},0.25,0.5,{n / 100}" for n in range(1, 41)]
    (tmp_path / "table.csv").write_text("\n".join([heads, *rows]) + "\n")
    report = reported(tmp_path)
    assert report["metrics"]["total_loss"]["key"] == "Training Loss"
    assert ends(report, "reward_mean") == (40, 0.01, 0.4)
