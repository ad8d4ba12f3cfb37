"""Settings that are printed above the rows, one on a line: `total_steps: 60` begins no step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reported import told

ROWS = 40
STYLES = {
    "a count without a name": "{i:4d} | reward {r:.3f} | loss {l:.4f} | KL {k:.5f}",
    "a name of its own": "[{i}] reward: {r:.3f}, loss: {l:.4f}, kl: {k:.5f}",
    "a named step": "step {i} reward={r:.3f} loss={l:.4f} kl={k:.5f}",
}
SETTINGS = (
    *("total_steps: 40", "max_steps: 40", "warmup_steps: 10", "save_steps = 50", "logging_steps: 1"),
    *(
        "gradient_accumulation_steps: 4",
        "num_steps: 40",
        "eval_steps: 20",
        "total_training_steps=40",
        *("max_iterations: 40", "start_step: 0", "resume_step: 0"),
    ),
)


def write(folder: Path, style: str, above: str) -> Path:
    lines = [style.format(i=i, r=0.1 + i / 60 + (i * 7 % 5) / 100, l=1 / i, k=i / 9000) for i in range(1, ROWS + 1)]
    (folder / "train.log").write_text("\n".join(["Config:", "  lr: 1e-06", above, "  kl_coef: 0.05", *lines, ""]))
    return folder


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_every_row_below_a_setting_is_read(style: str, setting: str, tmp_path: Path) -> None:
    report = told(write(tmp_path, style, f"  {setting}"))[2]
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (1, ROWS, ROWS)
    assert {"reward_mean", "kl_ref"} <= report["metrics"].keys()


@pytest.mark.parametrize("title", ["Total steps: {}", "--- Step {} ---", "total_timesteps: {}", "steps: {}"])
def test_a_title_that_counts_still_begins_a_block(title: str, tmp_path: Path) -> None:
    text = "".join(
        f"{title.format(64 * i)}\n  reward: {0.1 + i / 60:.3f}\n  loss: {1 / i:.4f}\n" for i in range(1, ROWS + 1)
    )
    (tmp_path / "train.log").write_text(text)
    steps = told(tmp_path)[2]["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (64, 64 * ROWS, ROWS)
