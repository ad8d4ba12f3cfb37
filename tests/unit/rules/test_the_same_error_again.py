"""An error without a name of its own that ends one attempt after the other: resuming is no remedy for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reported import told

STYLES = {
    "verl": (
        "Load from checkpoint folder: checkpoints/global_step_20\nSetting global step to 20",
        "step:{i} - critic/score/mean:{x} - actor/grad_norm:0.3 - actor/ppo_kl:0.0{i}",
    ),
    "a loop that says no more than that it starts": (
        "Starting GRPO training",
        "step {i}/100 | reward {x} | kl 0.00{i} | loss 0.0{i}",
    ),
    "a loop of one's own": (
        "Resuming training from checkpoint step 20",
        "step {i}/100 | reward {x} | kl 0.00{i} | loss 0.0{i}",
    ),
}


def written(folder: Path, errors: list[str], style: str) -> Path:
    """Attempts of one log, each but the first resumed at step 20; all end with an error at step 31."""
    resumed, step = STYLES[style]
    lines = []
    for number, error in enumerate(errors):
        lines += [resumed] if number else []
        for i in range(21 if number else 1, 32):
            lines.append(step.format(i=i, x=f"{0.2 + i / 200 + number / 900:.4f}"))
        lines += ["Traceback (most recent call last):", '  File "/opt/train/main.py", line 214, in fit']
        lines += ['    answer = row["ground_truth"]', error]
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("errors", "times"),
    [
        (["KeyError: 'ground_truth'"] * 4, 4),
        (["KeyError: 'ground_truth'"], 0),
        (["KeyError: 'other'", "KeyError: 'ground_truth'"], 0),
    ],
)
def test_it_is_told_how_often_it_came(errors: list[str], times: int, style: str, tmp_path: Path) -> None:
    report = told(written(tmp_path, errors, style))[2]
    answer = report["answer"]
    assert report["run"]["state"] == "crashed"
    assert answer["since"].startswith("step 31")
    assert (f"The same error ended {times} attempts" in answer["what"]) == bool(times), answer["what"]
    assert ("comes again at each start" in answer["why"]) == bool(times), answer["why"]
    assert ("Fix the error before the next start" in answer["do"]) == bool(times), answer["do"]
