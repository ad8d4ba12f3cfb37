"""An error without a name of its own that ends one attempt after the other: resuming is no remedy for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reported import told


def written(folder: Path, errors: list[str]) -> Path:
    """Attempts of one log of verl, each but the first resumed at step 20; all end with an error at step 31."""
    lines = []
    for number, error in enumerate(errors):
        if number:
            lines += ["Load from checkpoint folder: checkpoints/global_step_20", "Setting global step to 20"]
        for i in range(21 if number else 1, 32):
            score = f"{0.2 + i / 200 + number / 900:.4f}"
            lines.append(f"step:{i} - critic/score/mean:{score} - actor/grad_norm:0.3 - actor/ppo_kl:0.0{i}")
        lines += ["Traceback (most recent call last):", '  File "/opt/train/main.py", line 214, in fit']
        lines += ['    answer = row["ground_truth"]', error]
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    ("errors", "times"),
    [
        (["KeyError: 'ground_truth'"] * 4, 4),
        (["KeyError: 'ground_truth'"], 0),
        (["KeyError: 'other'", "KeyError: 'ground_truth'"], 0),
    ],
)
def test_it_is_told_how_often_it_came(errors: list[str], times: int, tmp_path: Path) -> None:
    answer = told(written(tmp_path, errors))[2]["answer"]
    assert (f"The same error ended {times} attempts" in answer["what"]) == bool(times), answer["what"]
    assert ("comes again at each start" in answer["why"]) == bool(times), answer["why"]
    assert ("Mend the error before the next start" in answer["do"]) == bool(times), answer["do"]
