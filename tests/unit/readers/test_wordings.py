"""Step lines as trainers and home-made loops set them, each style with rows of known truth."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.session.runs import content, opened

NESTED = '2026-03-01T10:00:00Z [info] metrics {{"step": {i}, "loss": {x}, "train": {{"reward": 0.5, "kl": 0.2}}}}\n'
STYLES: dict[str, tuple[str, int, dict[str, str]]] = {
    "a tree below a sentence": (
        "🔁 PPO iteration {i} of 40\n   ├─ loss: {x}\n   └─ reward: 0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "LLaMA-Factory": (
        "[INFO|2026-03-01 10:00:00] llamafactory.train.callbacks:143 >> "
        "{{'loss': {x}, 'reward': 0.5, 'learning_rate': 1.0000e-06, 'epoch': 0.{i:02}}}\n",
        1,
        {"loss": "x", "reward": "0.5", "learning_rate": "1e-6"},
    ),
    "prime-rl": (
        "10:00:00 SUCCESS Step {i} | Time: 12.31s | Loss: {x} | Grad. Norm: 0.5 | Throughput: 12345 tokens/s"
        " | Peak Mem.: 43.2/80.0 GiB (54.1%)\n",
        1,
        {"Loss": "x", "Grad. Norm": "0.5", "Time": "12.31", "Throughput": "12345", "Peak Mem.": "43.2"},
    ),
    "a sentence": (
        "Finished training step {i} with loss {x} and average reward 0.5 in 12.3 seconds.\n",
        1,
        {"loss": "x", "average reward": "0.5"},
    ),
    "sections": (
        "--- iteration {i} ---\npolicy:\n  loss: {x}\nrollout:\n  reward: 0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "marked lines": ("### Step {i}/40\n### loss: {x}\n### reward: 0.5\n", 1, {"loss": "x", "reward": "0.5"}),
    "Markdown": ("## Step {i}\n\n- **loss**: {x}\n- **reward**: 0.5\n\n", 1, {"loss": "x", "reward": "0.5"}),
    "logfmt": (
        "ts=2026-03-01T10:00:00.123Z level=info step={i} loss={x} reward=0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "logfmt with seconds": ("ts=1763900{i:03}.5 step={i} loss={x} reward=0.5\n", 1, {"loss": "x", "reward": "0.5"}),
    "JSON behind words": (NESTED, 1, {"loss": "x", "reward": "0.5", "kl": "0.2"}),
    "thousands": ("Training: step: {i:,}, loss: {x}, reward: 0.5\n", 200, {"loss": "x", "reward": "0.5"}),
}


@pytest.mark.parametrize("style", STYLES)
def test_every_row_is_there_and_nothing_else(style: str, tmp_path: Path) -> None:
    text, stride, names = STYLES[style]
    path = tmp_path / "train.log"
    path.write_text("".join(text.format(i=i * stride, x=f"{i / 64:.6f}") for i in range(1, 41)))
    expected = {
        i * stride: {name: pytest.approx(i / 64, abs=1e-6) if x == "x" else float(x) for name, x in names.items()}
        for i in range(1, 41)
    }
    found = {step: {k: x for k, x in row.items() if k != "epoch"} for step, row in content(opened(path)).items()}
    assert found == expected


@pytest.mark.parametrize("heading", ["### Step {i}", "## Step {i}: the proof"])
def test_a_heading_in_a_completion_begins_no_step(heading: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = []
    for i in range(1, 31):
        lines += [f"step {i} | loss: 0.25 | reward: 0.5", *(heading.format(i=n) for n in (1, 2, 3)), "so x = 3"]
    path.write_text("\n".join(lines) + "\n")
    assert content(opened(path)) == {i: {"loss": 0.25, "reward": 0.5} for i in range(1, 31)}
