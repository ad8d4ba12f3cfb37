"""The same steps under several names, several sets in one evaluation, other programs' counts, and rows over lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.readers.exporting import Rows, exported

STEPS = range(1, 31)


def reward(i: int) -> float:
    return round(0.1 + i / 100, 3)


def column(rows: Rows, name: str) -> list[float]:
    return [row[name] for row in rows if name in row]


PHASES = {
    "brackets": ("[rollout {i}] reward_mean={r} len_mean=30{i}", "[update {i}] loss=0.{i:03} kl=0.0{i:03}"),
    "words": ("Rollout {i}: mean reward {r}, mean length 30{i}", "Update {i}: loss 0.{i:03}, kl 0.0{i:03}"),
    "other words": ("generation {i} | reward {r} | len 30{i}", "optimisation {i} | loss 0.{i:03} | kl 0.0{i:03}"),
}


@pytest.mark.parametrize("form", PHASES)
def test_phases_that_each_count_the_steps(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.format(i=i, r=reward(i)) for i in STEPS for line in PHASES[form]]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]
    assert column(rows, "total_loss") == [i / 1000 for i in STEPS]
    assert column(rows, "kl_ref") == [i / 10000 for i in STEPS]


def test_a_count_of_something_else_is_no_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs beside the steps, and not with them."""
    lines = [
        f"{name} {n} {told}"
        for i in STEPS
        for name, n, told in (("step", i, f"reward {reward(i)}"), ("push", 2 * i, "lag 0.5"))
    ]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]


def test_rank_0_beside_ranks_with_numbers_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in STEPS:
        lines += [f"[rank {k}] step {i} local_reward 0.{k}{i:02} local_len 3{k}.5" for k in (2, 1, 3)]
        lines += [f"[rank 0] step {i} reward {reward(i)} loss 0.{i:03} kl 0.0{i:03}"]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]
    assert column(rows, "kl_ref") == [i / 10000 for i in STEPS]


EVALUATIONS = {
    "tag with the set": ["[eval/gsm8k] step {i} acc 0.4{i:02}", "[eval/math500] step {i} acc 0.2{i:02}"],
    "tag, colon": ["[val: gsm8k] step {i} acc 0.4{i:02}", "[val: math500] step {i} acc 0.2{i:02}"],
    "structured": [
        "2026-05-01T12:03:36Z [info ] eval      [grpo.eval] dataset=gsm8k step={i} accuracy=0.4{i:02} n=500",
        "2026-05-01T12:03:36Z [info ] eval      [grpo.eval] dataset=math500 step={i} accuracy=0.2{i:02} n=500",
    ],
    "set behind": ["Eval on gsm8k: acc 0.4{i:02} (n=500)", "Eval on math500: acc 0.2{i:02} (n=500)"],
    "set behind, pairs": [
        "Eval gsm8k: accuracy=0.4{i:02} mean_len=301",
        "Eval math500: accuracy=0.2{i:02} mean_len=301",
    ],
    "set in brackets": ["eval (gsm8k) step {i}: acc 0.4{i:02}", "eval (math500) step {i}: acc 0.2{i:02}"],
    "names": ["eval/gsm8k_acc: 0.4{i:02} eval/math500_acc: 0.2{i:02}"],
    "pairs": ["eval gsm8k 0.4{i:02} math500 0.2{i:02}"],
    "pairs, colon": ["eval: gsm8k 0.4{i:02} | math500 0.2{i:02}"],
    "shares": ["[rl.eval] gsm8k: 4.{i:02}% | math500: 2.{i:02}%"],
}


@pytest.mark.parametrize("form", EVALUATIONS)
def test_each_set_of_an_evaluation(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in STEPS:
        lines += [f"[train] step {i} reward {reward(i)} loss 0.{i:03} kl 0.0{i:03}"]
        lines += [line.format(i=i) for line in EVALUATIONS[form]] if i % 5 == 0 else []
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    for name, first in (("gsm8k", "4"), ("math500", "2")):
        (found,) = {key for row in rows for key in row if key.startswith("val_score") and name in key}
        share = 0.1 if form == "shares" else 1.0
        told = {row["step"]: row[found] for row in rows if found in row}
        expected = {i: share * float(f"0.{first}{i:02}") for i in STEPS if i % 5 == 0}
        assert told == pytest.approx(expected)


def test_the_count_of_an_engine_is_no_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """DeepSpeed writes of its own updates, two in each step of this loop, behind what pdsh writes before each line."""
    lines = []
    for i in STEPS:
        lead = f"10.0.0.1: [2026-05-01 12:{i:02}:00,120] [INFO] [logging.py:96:log_dist] [Rank 0]"
        lines += [f"{lead} step={2 * i}, skipped=0, lr=[1.5e-06], mom=[(0.9, 0.95)]"]
        lines += [f"10.0.0.1: step {i}: reward {reward(i)} loss 0.{i:03} kl 0.0{i:03}"]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]


def test_any_name_right_below_what_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Words stand between a heading and its numbers."""
    lines = []
    for i in STEPS:
        lines += ["=====", f"Iteration {i}/60", "=====", "Generating 64 completions ... done in 12.1s"]
        lines += [f"  Mean reward:   {reward(i)}", f"  Mean length:   30{i}.5", f"  Spread:   0.{i:03}", ""]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "response_length_mean") == [float(f"30{i}.5") for i in STEPS]
    assert column(rows, "Spread") == [i / 1000 for i in STEPS]


@pytest.mark.parametrize("told", ["{t} sec/step", "{t}s/it", "{t} sec/iter"])
def test_seconds_of_a_step_by_their_unit(told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"step {i}, reward {reward(i)}, " + told.format(t=20 + i / 10) for i in STEPS]
    assert column(exported(tmp_path / "run.log", lines, capsys), "time_per_step_s") == [20 + i / 10 for i in STEPS]


def test_pairs_of_a_home_made_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"step {i} loss 0.{i:03} rewards/chosen 0.{i:02} rewards/rejected -0.{i:02} margin 0.{i:03} acc 0.5{i:02}"
        for i in STEPS
    ]
    rows = exported(tmp_path / "run.log", lines, capsys)
    names = {"step", "total_loss", "dpo_reward_chosen", "dpo_reward_rejected", "dpo_reward_margin", "dpo_accuracy"}
    assert set(rows[0]) == names


def text(i: int) -> str:
    return f'"Let me think, step {i}: 3+4=7\n2, 0.5, 1.0\nso ""the"" answer is 7"'


@pytest.mark.parametrize("rows_of", [30, 3000])
def test_a_row_over_several_lines(rows_of: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text in quotes may hold line breaks, commas and steps."""
    lines = ["step,reward,loss,note,kl"]
    lines += [f"{i},{i / 10000},0.{i:04},{text(i) if i % 3 == 0 else 'none'},0.0{i:04}" for i in range(1, rows_of + 1)]
    rows = exported(tmp_path / "log.csv", lines, capsys)
    assert [row["step"] for row in rows] == list(range(1, rows_of + 1))
    assert column(rows, "reward_mean") == [i / 10000 for i in range(1, rows_of + 1)]
    assert column(rows, "kl_ref") == [float(f"0.0{i:04}") for i in range(1, rows_of + 1)]


def test_a_mark_that_is_never_closed_costs_its_own_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["step,reward,note,kl", *(f"{i},{reward(i)},fine,0.0{i:03}" for i in STEPS)]
    lines[11] = '11,0.2,"torn,0.3'
    rows = exported(tmp_path / "log.csv", lines, capsys)
    assert [row["step"] for row in rows] == [i for i in STEPS if i != 11]


def test_lines_of_samples_with_their_number_of_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in STEPS:
        lines += [f"Step {i} | Sample {k}/4 | reward {float(k % 2)} | length 4{k}2" for k in range(1, 5)]
        lines += [f"Step {i} | mean reward {reward(i)} | loss 0.{i:03} | kl 0.0{i:03}"]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]


def test_a_section_of_rewards_holds_parts_and_their_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"step {i} | rewards: format=0.3{i:02} correctness={reward(i)} total=0.5{i:02} | loss=0.{i:03} kl=0.0{i:03}"
        for i in STEPS
    ]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert column(rows, "reward_mean") == [float(f"0.5{i:02}") for i in STEPS]
    assert column(rows, "reward_component_mean:correctness") == [reward(i) for i in STEPS]
    assert column(rows, "kl_ref") == [i / 10000 for i in STEPS]


def test_a_list_of_named_results_in_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The row was left out as that of a sample."""
    lines = []
    for i in STEPS:
        row: dict[str, object] = {"step": i, "train": {"reward": reward(i), "loss": i / 1000}}
        if i % 5 == 0:
            row["eval"] = [{"name": "gsm8k", "acc": 0.4 + i / 1000}, {"name": "math500", "acc": 0.2 + i / 1000}]
        lines.append(json.dumps(row))
    rows = exported(tmp_path / "log.jsonl", lines, capsys)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]
    assert column(rows, "val_score:gsm8k/acc") == [0.4 + i / 1000 for i in STEPS if i % 5 == 0]
    assert column(rows, "val_score:math500/acc") == [0.2 + i / 1000 for i in STEPS if i % 5 == 0]


def test_a_mark_that_is_never_closed_before_a_restart_costs_no_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The steps behind it are lower than those before."""
    lines = ["step,reward,note,kl", *(f"{i},{reward(i)},fine,0.0{i:03}" for i in STEPS), '"open']
    lines += [f"{i},{reward(i)},again,0.5" for i in range(20, 26)]
    rows = exported(tmp_path / "log.csv", lines, capsys)
    assert [row["kl_ref"] for row in rows if row["step"] in range(20, 26)] == [0.5] * 6
