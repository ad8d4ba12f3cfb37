"""Lines of one's own callback that tell what an evaluation found, beside the dicts of TRL and the numbers of bars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.unit.readers.reading import cuts
from tests.unit.readers.test_opened_and_grown import looked_at
from tests.unit.session.runs import content, opened

FORMS = (
    "[eval] step {s}: accuracy={x}",
    "Step {s}: eval accuracy = {x}",
    ">>> Validation at step {s} | acc: {x}",
    "{{'eval_accuracy': {x}, 'step': {s}}}",
    '{{"step": {s}, "val/accuracy": {x}, "val/n": 128}}',
    "[EVAL] step={s} pass@1={x}",
    "2026-03-01 10:00:00 INFO eval: global_step {s} accuracy {x}",
    "2026-03-01 10:00:00,123 - callbacks - INFO - eval step={s} pass@1={x} n=128",
    "Eval accuracy at step {s}: {x}",
    "[step {s}] val_reward: {x} (took 12.5s)",
    "Validation | step {s}/40 | reward {x} | n 64",
    "Test accuracy after step {s} -> {x}",
)
OTHERS = (
    "[eval] step {s}/165 | acc 0.5",  # its own batches
    "Running evaluation at step {s} on 4 GPUs",
    "Early stopping: no gain in the eval reward since step {s} (best 0.5)",
    "Evaluation of step {s}: the answer is 7, so the score is 0.5",
    "def evaluate(step={s}, score=0.5):",
    "train step {s}: eval_every=10, val_frac=0.5",
    "eval_steps = {s}, eval_accumulation = 4",
    "First we test step {s}, where x = 0.5",
    "rank 3: [eval] step {s}: accuracy=0.5",
)


def dicts(i: int) -> str:
    return f"{{'loss': '0.{i:03}', 'reward': '0.{i + 100}', 'kl': '0.1', 'epoch': '{i / 40:.4f}'}}\n"


def below_bar(i: int) -> str:
    bar = f" {i}%|██▌       | {i}/40 [00:10<01:30,  1.02s/it]"
    return f"\r{bar}\r{' ' * 60}\r{dicts(i)}\r{bar}"


def in_bar(i: int) -> str:
    epoch, at = divmod(i - 1, 20)
    numbers = f"loss=0.{i:03}, reward=0.{i + 100}"
    return f"\rEpoch {epoch}: {5 * at}%|██▌       | {at + 1}/20 [00:10<01:30,  1.02s/it, {numbers}]"


TRAININGS = {"dicts": dicts, "dicts below a bar": below_bar, "numbers of a bar": in_bar}


def log(training: str, line: str) -> str:
    newline = "\n" if training != "dicts" else ""
    return "".join(
        TRAININGS[training](i) + (f"{newline}{line.format(s=i, x=round(0.3 + i / 100, 4))}\n" if i % 10 == 0 else "")
        for i in range(1, 41)
    )


def exported(path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> dict[int, dict[str, Any]]:
    path.write_text(text)
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    return {row["step"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}


@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize("form", FORMS)
def test_a_line_that_states_its_step_is_an_evaluation_of_that_step(
    form: str, training: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = exported(tmp_path / "train.log", log(training, form), capsys)
    found = {step: row["val_score"] for step, row in rows.items() if "val_score" in row}
    assert found == {i: round(0.3 + i / 100, 4) for i in range(10, 41, 10)}
    assert {step: row["reward_mean"] for step, row in rows.items()} == {i: float(f"0.{i + 100}") for i in range(1, 41)}


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_beside_rows_are_none(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exported(tmp_path / "train.log", log("dicts below a bar", line), capsys)
    assert list(rows) == list(range(1, 41))
    assert {name for row in rows.values() for name in row} == {
        "step", "total_loss", "reward_mean", "kl_ref", "epoch"
    }  # fmt: skip


@pytest.mark.parametrize("form", [FORMS[0], FORMS[3], FORMS[8]])
def test_where_it_was_opened_makes_no_difference(form: str) -> None:
    data = log("dicts below a bar", form).encode()
    data = data[: data.find(b"21/40")]
    whole, _ = looked_at([data])
    assert {step: cells for step, cells in whole.items() if len(cells) > 4}.keys() == {10, 20}
    learnt, evaluation = data.find(b"0.003"), data.find(b"0.008")
    near = [*cuts(data, 0, learnt), *cuts(data, evaluation, data.find(b"0.012"))]
    assert [at for at in near if looked_at([data[:at], data[at:]])[0] != whole] == []


def test_stated_steps_beside_counted_rows_are_no_restart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a bar rows are counted, while an evaluation states its step."""
    text = "".join(dicts(i) + (f"[eval] step {5 * i}: accuracy=0.5\n" if i % 5 == 0 else "") for i in range(1, 41))
    (tmp_path / "train.log").write_text(text)
    assert main(["report", str(tmp_path / "train.log"), "--format", "json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert (run["attempts"], run["restarts"]) == ([], [])


@pytest.mark.parametrize("training", ["numbers of a bar", "lines"])
def test_an_evaluation_with_its_number_is_of_the_step_that_the_log_is_at(training: str) -> None:
    text = "         Evaluation #0 reward/mean: -0.5          \n"
    for i in range(1, 41):
        text += in_bar(i) if training == "numbers of a bar" else f"step {i} | loss 0.{i:03} | reward 0.5\n"
        if i % 10 == 0:
            text += (
                f"\n         Evaluation #{i // 10} reward/mean: 0.{i}          \nQuestion #{i // 10} reward/mean: 7\n"
            )
    found, _ = looked_at([text.encode()])
    evaluated = {step: cells["eval/reward/mean"] for step, cells in found.items() if "eval/reward/mean" in cells}
    assert evaluated == {0: -0.5} | {i: float(f"0.{i}") for i in range(10, 41, 10)}


OF_ROUNDS = (
    "Epoch {e} done. avg reward 0.5, val reward 0.{e}",
    "--- Epoch {e}/4 finished: train reward 0.5 | val reward 0.{e} | took 12.5s ---",
    "Epoch {e} complete, val_reward=0.{e}, val_n=128",
)


@pytest.mark.parametrize("line", OF_ROUNDS)
def test_an_evaluation_at_the_end_of_a_round_is_of_the_step_that_the_log_is_at(line: str) -> None:
    text = ""
    for i in range(1, 41):
        text += f"Epoch {(i + 9) // 10} | batch {(i - 1) % 10 + 1}/10 | loss 0.5 | reward 0.{i}\n"
        text += line.format(e=i // 10) + "\n" if i % 10 == 0 else ""
    found, _ = looked_at([text.encode()])
    assert found.keys() == set(range(1, 41))
    told = {
        step: x for step, cells in found.items() for name, x in cells.items() if name in ("val/reward", "val_reward")
    }
    assert told == {i: float(f"0.{i // 10}") for i in range(10, 41, 10)}
    assert all(cells["reward"] == float(f"0.{i}") for i, cells in found.items())


def test_where_each_round_is_a_step_its_line_is_that_of_the_step() -> None:
    text = "".join(f"Epoch {i} done. loss 0.{i}, reward 0.5, val reward 0.25\n" for i in range(1, 10))
    found, _ = looked_at([text.encode()])
    assert found == {i: {"loss": i / 10, "reward": 0.5, "val reward": 0.25} for i in range(1, 10)}


ENDED = (
    "Running validation on 2 sets ...\n  math500   accuracy {e}   (500 problems)\n"
    "  gsm8k     accuracy 0.75   (1319 problems)\nValidation done in 41 s\n",
    "*** EVAL step={i} ***\npass@1 = {e}\n*** END EVAL ***\n",
)


@pytest.mark.parametrize("evaluated", ENDED)
def test_numbers_above_the_next_step_are_not_of_an_evaluation_that_is_over(evaluated: str, tmp_path: Path) -> None:
    step = "  loss: 0.{i:03}\n  kl: 0.01\n--- finished step {i} of 30 ---\n"
    text = "".join((step + (evaluated if i % 4 == 0 else "")).format(i=i, e=f"0.{i + 100}") for i in range(1, 31))
    path = tmp_path / "train.log"
    path.write_text(text)
    rows = content(opened(path))
    losses = {step: next((x for name, x in cells.items() if "loss" in name), None) for step, cells in rows.items()}
    assert losses == {i: float(f"0.{i:03}") for i in range(1, 31)}
    assert all(float(f"0.{i + 100}") in rows[i].values() for i in range(4, 31, 4))
    assert all(sum("kl" in name for name in cells) == 1 for cells in rows.values())
