"""Which cause a report leads with, on runs that are written here: what the log says of a restart, settings that are far
from usual, notes that had stood for long; and how its proof is worded."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from rltui.prose import each_once
from tests.evaluation.causes.measure import ask
from tests.unit.reported import told

LOST = "The optimiser's state was not restored at a restart"
RESTART = "Something changed at a restart"
SAYS = (
    "WARNING: optimizer.pt not found in checkpoint-120, optimizer and scheduler are initialised anew",
    "WARNING could not load optimizer state from /ckpt/120: starting without it",
    "Resuming from checkpoint at step 120: optimizer state not found, starting fresh",
)


def fallen(folder: Path, said: str, resumed: int = 120) -> str:
    """The first answer to "why" of a run that falls at step 121, and that was resumed with this line."""
    draw = random.Random(3)
    folder.mkdir()
    lines = []
    for n in range(1, 241):
        late = n > 120
        reward = 0.3 + 0.3 * min(n, 120) / 120 - 0.28 * late + draw.gauss(0, 0.015)
        norm = 0.4 * (1 + 6 * late * 0.97 ** (n - 120)) * (1 + draw.gauss(0, 0.1))
        row = {"loss": 0.01, "grad_norm": norm, "learning_rate": 1e-6, "reward": reward, "kl": 0.01 + 0.1 * late}
        lines += [str({**row, "epoch": n / 240}), f"{n}/240 [{n:02}:00<10:00,  7.00s/it]"]
        if n == resumed:
            lines += [f"Resuming training from checkpoint-{n}", said]
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return str(told(folder)[2]["answer"]["why"])


@pytest.mark.parametrize("said", SAYS)
def test_what_the_log_says_of_the_optimiser_leads(said: str, tmp_path: Path) -> None:
    why = fallen(tmp_path / "run", said)
    assert why.startswith(f"{LOST}. Proof: the log says at step 120: “"), why
    assert "ptimizer" in why.split("“")[1]


@pytest.mark.parametrize("said", ["", "INFO optimizer state loaded from checkpoint-120"])
def test_a_restart_that_lost_nothing_is_not_said_to_have(said: str, tmp_path: Path) -> None:
    assert fallen(tmp_path / "run", said).startswith(RESTART)


def test_an_optimiser_lost_long_before_is_no_cause(tmp_path: Path) -> None:
    assert not fallen(tmp_path / "run", SAYS[0], resumed=20).startswith(LOST)


@pytest.mark.parametrize(
    "plant",
    [
        "the optimiser starts anew at a resume",
        "the optimiser starts anew in silence",
        "the clip range lets all through",
        "a high rate did no harm for long, then answers run away",
        "the critic breaks",
    ],
)
def test_the_planted_cause_is_told_first(plant: str) -> None:
    found = ask(plant, 74001)
    assert found.result == "leads", (found.what, found.why, found.findings)
    assert not found.refuted


def test_pairs_whose_labels_are_random_are_named(tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = []
    for n in range(1, 201):
        chosen, margin = -0.02 * n / 20 + draw.gauss(0, 0.02), draw.gauss(0, 0.015) + 0.0002 * n
        row = {"step": n, "loss": 0.693 - margin / 2, "rewards/chosen": chosen, "rewards/rejected": chosen - margin}
        row |= {"rewards/accuracies": 0.505 + draw.gauss(0, 0.03), "rewards/margins": margin, "learning_rate": 5e-7}
        rows.append(row | {"logps/chosen": -210 - n / 25 + draw.gauss(0, 1), "logps/rejected": -215 - n / 25})
    (tmp_path / "dpo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    why = told(tmp_path)[2]["answer"]["why"]
    assert why.startswith("The preference labels are close to random")
    assert why.count("preference accuracy is") == 1, "both limits stand behind one number"


def test_limits_of_one_number_share_a_bracket() -> None:
    assert each_once(["n = 2", "n = 2 (below 8)", "n = 2 (over 1)", "m 3 (a)"]) == [
        "n = 2 (below 8 and over 1)",
        "m 3 (a)",
    ]
