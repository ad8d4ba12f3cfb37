"""Rows come in the order of their lines, also if it takes several lines until it is known how to read one: an
evaluation that states its step is no restart, and drops nothing. Lines of one step that name different data or models
keep apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.session.runs import content, opened

LAST = 120
EVALUATIONS = {
    "shared time": ["eval step {s}: gsm8k={x:.4f} time=12.1s", "eval step {s}: math={y:.4f} time=33.2s"],
    "problems": ["[step {s}] gsm8k acc: {x:.4f} (n=1319)", "[step {s}] math acc: {y:.4f} (n=500)"],
    "words": ["step {s} val_gsm8k {x:.4f} tokens 1319", "step {s} val_math {y:.4f} tokens 500"],
    "data set": ["[eval] step={s} dataset=gsm8k acc={x:.4f}", "[eval] step={s} dataset=math acc={y:.4f}"],
    "manner": ["eval step {s} (greedy): acc={x:.4f}", "eval step {s} (sample): acc={y:.4f}"],
    "titles": ["[EVAL {s}] AIME24: pass@1={x:.4f} len=311.5", "[EVAL {s}] MATH: pass@1={y:.4f} len=250.5"],
    "behind the step": ["[EVAL] step {s} AIME24 acc {x:.4f} len 31.5", "[EVAL] step {s} MATH500 acc {y:.4f} len 25.5"],
    "set and step": ["eval/gsm8k @{s} | acc {x:.4f} | len 281", "eval/math @{s} | acc {y:.4f} | len 366"],
    "block": ["Eval @ step {s}:", "  gsm8k:   acc {x:.4f}  len 471", "  math500: acc {y:.4f}  len 659"],
    "block of an event": [
        "Evaluating at step {s} ...",
        "  one: accuracy={x:.4f}, n=200",
        "  two: accuracy={y:.4f}, n=90",
    ],
    "solved": ["gsm8k: {n}/1000 correct ({x:.4f})", "math: {m}/1000 correct ({y:.4f})"],
}


def log(evaluations: list[str]) -> str:
    out = []
    for s in range(1, LAST + 1):
        out.append(f"step {s} reward {0.2 + s / 1000:.4f} loss {s / 100:.4f}")
        if s % 20 == 0:
            x, y = scores(s)
            out += [one.format(s=s, x=x, y=y, n=round(x * 1000), m=round(y * 1000)) for one in evaluations]
    return "\n".join(out) + "\n"


def scores(step: int) -> tuple[float, float]:
    return round(0.3 + step / 1000, 4), round(0.2 + step / 2000, 4)


@pytest.mark.parametrize("form", EVALUATIONS)
def test_no_row_is_lost_and_each_data_set_has_its_values(form: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(EVALUATIONS[form]))
    run = opened(path)
    rows = content(run)
    assert not run.run.history.table.restarts
    assert [rows[s]["reward"] for s in sorted(rows)] == [round(0.2 + s / 1000, 4) for s in range(1, LAST + 1)]
    for step in range(20, LAST + 1, 20):
        assert set(scores(step)) <= set(rows[step].values())


def test_a_restart_is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    again = log(EVALUATIONS["problems"]).replace("reward 0.2", "reward 0.1").splitlines(keepends=True)
    path.write_text(log(EVALUATIONS["problems"]) + "".join(again[60:]))
    run = opened(path)
    assert len(run.run.history.table.restarts) == 1


MODELS = {
    "tags": ("[critic] step {s} loss {y:.4f} grad_norm 0.5", "[actor] step {s} loss {x:.4f} grad_norm 0.1 reward 0.3"),
    "bars": ("critic | step {s} | loss {y:.4f}", "actor | step {s} | loss {x:.4f} | reward 0.3"),
    "policy first": ("[policy] step {s} loss {x:.4f} reward 0.3", "[value] step {s} loss {y:.4f}"),
}


@pytest.mark.parametrize("form", MODELS)
def test_the_loss_of_the_critic_is_not_that_of_the_policy(form: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    steps = range(1, 41)
    path.write_text("".join(f"{line.format(s=s, x=s / 100, y=s / 10)}\n" for s in steps for line in MODELS[form]))
    rows = content(opened(path))
    assert [rows[s]["loss"] for s in steps] == [s / 100 for s in steps]
    assert [rows[s]["critic/loss"] for s in steps] == [s / 10 for s in steps]


INNER = {
    "minibatches": "    ppo_epoch {e} minibatch {m} pg_loss 0.0{m}1 v_loss 0.3{e}\n",
    "inner": "[inner {k}/8] pg_loss=0.0{m}1 ratio=0.9{e}\n",
}


@pytest.mark.parametrize("form", INNER)
def test_parts_of_a_step_above_its_line_are_no_steps(form: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    parts = "".join(INNER[form].format(e=e, m=m, k=4 * e + m + 1) for e in range(2) for m in range(4))
    steps = range(1, 41)
    path.write_text("".join(f"{parts}[iter {s}] mean_reward {s / 64} kl 0.001 entropy 1.1 (20.4s)\n" for s in steps))
    run = opened(path)
    assert {s: row["mean_reward"] for s, row in content(run).items()} == {s: s / 64 for s in steps}
    assert not run.run.history.table.restarts


PICTURES = ["   🏆 ", "  -> ", "  → ", "   ✅ ", "  => ", "   » "]


@pytest.mark.parametrize("mark", PICTURES)
def test_pictures_and_arrows_before_names(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    steps = range(1, 41)
    path.write_text("".join(f"🚀 Step {s}/40\n{mark}Reward: {s / 64}\n{mark}Loss: {s / 128}\n" for s in steps))
    assert content(opened(path)) == {s: {"Reward": s / 64, "Loss": s / 128} for s in steps}


BARS = [("[", "=", ">", ".", "]"), ("", "━", "╸", " ", ""), ("|", "█", "▌", " ", "|")]


@pytest.mark.parametrize(("opens", "full", "head", "empty", "closes"), BARS)
def test_the_last_row_of_a_bar_that_is_full(
    opens: str, full: str, head: str, empty: str, closes: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.log"
    steps = range(1, 101)
    bars = {s: (full * (s // 5) + (head if s < 100 else "")).ljust(21 if s < 100 else 20, empty) for s in steps}
    lines = (f"{opens}{bars[s]}{closes} {s}/100 reward: {s / 128} loss: {s / 256}\n" for s in steps)
    path.write_text("".join(lines))
    assert {s: row["reward"] for s, row in content(opened(path)).items()} == {s: s / 128 for s in steps}
