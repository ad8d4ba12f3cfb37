"""Numbers of something else beside those of the step: held-out data, a part of the data, one sample, an inner epoch.
They get a name of their own, or are left out, and never take the place of the step's."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.readers.exporting import Rows, exported

STEPS = range(1, 41)


def reward(i: int) -> float:
    return round(0.1 + i / 100, 3)


def column(rows: Rows, name: str) -> list[float]:
    return [row[name] for row in rows if name in row]


@pytest.mark.parametrize("tag", ["[dev]  ", "[DEV] ", "[heldout] ", "dev ", "dev: ", "[holdout] | "])
def test_a_word_for_held_out_data_before_the_step(tag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in STEPS:
        lines.append(f"[train] step {i} loss 0.{i:03} reward {reward(i)} kl 0.0{i:03}")
        lines += [f"{tag}step {i} loss 0.5 reward 0.9"] if i % 5 == 0 else []
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]
    assert column(rows, "total_loss") == [i / 1000 for i in STEPS]
    held_out = [name for name in rows[4] if name.startswith("val_score")]
    assert len(held_out) == 1
    assert column(rows, held_out[0]) == [0.9] * 8


@pytest.mark.parametrize("tags", ["[math] [code]", "[agent_0] [agent_1]", "(easy) (hard)", "<a> <b>"])
def test_each_part_of_the_data_keeps_its_numbers(tags: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tags.split()
    lines = [f"{tag} step {i} loss 0.{k}{i:02} reward 0.{k}" for i in STEPS for k, tag in ((3, one), (7, other))]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "reward_mean") == [0.3] * len(STEPS)
    assert column(rows, f"{other.strip('[](<>)')}/reward") == [0.7] * len(STEPS)


@pytest.mark.parametrize("first", ["[rank0] [rank1]", "[train] [train]", "[INFO] [INFO]"])
def test_a_tag_that_tells_no_part_is_no_name(first: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"{tag} step {i} loss 0.3 reward {reward(i)}" for i in STEPS for tag in first.split()[:1]]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert set(rows[0]) == {"step", "total_loss", "reward_mean"}


SAMPLES = {
    "rollout": ("[rollout] step {i} prompt {k}: reward {r} tokens 3{k}", "[update] step {i}: reward {x} kl 0.002"),
    "equal signs": ("sample step={i} idx={k} reward={r} adv=0.1", "train step={i} reward={x} kl=0.002"),
    "brackets": ("step {i} [sample {k}] reward {r} len 10{k}", "step {i} reward {x} kl 0.002"),
}


@pytest.mark.parametrize("style", SAMPLES)
@pytest.mark.parametrize("after", [False, True])
def test_one_sample_of_a_step_is_not_the_step(
    style: str, after: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample, own = SAMPLES[style]
    lines = []
    for i in STEPS:
        each = [sample.format(i=i, k=k, r=float(k % 2)) for k in range(4)]
        step = own.format(i=i, x=reward(i))
        lines += [step, *each] if after else [*each, step]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]
    assert main(["doctor", str(tmp_path / "run.log")]) in (0, 1)
    assert "160 lines about one sample of a step" in " ".join(capsys.readouterr().out.split())


def test_a_prompt_length_counts_no_samples(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"step {i} prompt {200 + i} reward {reward(i)} kl 0.002" for i in STEPS]
    assert column(exported(tmp_path / "run.log", lines, capsys), "reward_mean") == [reward(i) for i in STEPS]


INNER = {
    "epochs": ("ppo epoch {k}/4: pg_loss 0.{k} clipfrac 0.09", "iteration {i}/40: reward {x} kl 0.004"),
    "epochs and parts": ("    epoch {k}/4 mb 1/1 pg_loss 0.{k} ratio 1.1", "step {i}/40 reward {x} kl 0.004"),
}


@pytest.mark.parametrize("style", INNER)
def test_epochs_within_a_step_are_no_steps(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner, own = INNER[style]
    lines = []
    for i in STEPS:
        lines += [*(inner.format(k=k) for k in range(1, 5)), own.format(i=i, x=reward(i))]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]


def test_numbers_of_inner_epochs_belong_to_the_step_below(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in STEPS:
        lines += [f"ppo epoch {k}/3: pg_loss {i}.{k} clipfrac 0.09" for k in range(1, 4)]
        lines.append(f"iteration {i}/40: reward {reward(i)} kl 0.004")
    assert column(exported(tmp_path / "run.log", lines, capsys), "pg_loss") == [i + 0.3 for i in STEPS]


@pytest.mark.parametrize("last", [3, 12])
def test_a_training_that_counts_epochs_up_to_its_plan(
    last: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"Epoch {i}/{last}: loss={1 / i:.3f} acc=0.{i:02}" for i in range(1, last + 1)]
    assert [row["step"] for row in exported(tmp_path / "run.log", lines, capsys)] == list(range(1, last + 1))


OVERALL = {
    "equal signs": "round={r} step={k} global_step={i} loss=0.3 acc={x}",
    "brackets": "round {r} step {k}/8 (gs {i}) loss 0.3 acc {x}",
    "stage": "[stage {r}] iter {k}/8 total_iters {i} loss 0.3 acc {x}",
}


@pytest.mark.parametrize("style", OVERALL)
def test_the_count_over_all_is_the_step(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [OVERALL[style].format(r=(i - 1) // 8 + 1, k=(i - 1) % 8 + 1, i=i, x=reward(i)) for i in STEPS]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert [row["step"] for row in rows] == list(STEPS)
    assert column(rows, "score_mean") == [reward(i) for i in STEPS]


@pytest.mark.parametrize("marks", ["()", "{}", "[]"])
def test_groups_in_brackets_behind_their_names(marks: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, z = marks
    lines = [
        f"step {i} policy{a}loss=0.01, kl=0.002{z} value{a}loss=0.5{z} reward{a}mean={reward(i)}, std=0.3{z}"
        for i in STEPS
    ]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]
    wanted = {"pg_loss": 0.01, "kl_ref": 0.002, "vf_loss": 0.5, "reward_std": 0.3}
    assert {name: rows[0].get(name) for name in wanted} == wanted


def test_two_numbers_behind_two_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"step {i} | reward {reward(i)} | loss pg/vf -0.06/0.65 | done 3/8 | clip hi/lo 0.09/0.02" for i in STEPS]
    row = exported(tmp_path / "run.log", lines, capsys)[0]
    assert (row["pg_loss"], row["vf_loss"], row["clip hi"], row["clip lo"]) == (-0.06, 0.65, 0.09, 0.02)


def test_several_scores_of_several_sets_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in STEPS:
        lines.append(f"it {i}/40 >> rew: {reward(i)}, ent: 1.3")
        lines += (
            [f"it {i}/40 ## EVAL gsm8k pass@1=0.3 pass@8=0.4 | math500 pass@1=0.1 pass@8=0.2"] if i % 5 == 0 else []
        )
    row = exported(tmp_path / "run.log", lines, capsys)[4]
    assert {name.split(":")[1]: x for name, x in row.items() if ":" in name} == {
        "gsm8k/pass@1": 0.3,
        "gsm8k/pass@8": 0.4,
        "math500/pass@1": 0.1,
        "math500/pass@8": 0.2,
    }


@pytest.mark.parametrize("head", ["trainer: Finished step {i}", "learner: Iteration {i}"])
def test_whose_heading_it_is(head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in STEPS:
        lines += [f"2026-11-03 09:{i:02}:40 [INFO] {head.format(i=i)}", f"    kl                   0.0{i:02}"]
        lines += [f"    tokens               26{i}.5 (max 1,024)", f"    reward_mean          {reward(i)}"]
    rows = exported(tmp_path / "run.log", lines, capsys)
    assert column(rows, "reward_mean") == [reward(i) for i in STEPS]
    assert any(262.5 <= x <= 2640.5 for name, x in rows[1].items() if name not in ("step", "time"))
