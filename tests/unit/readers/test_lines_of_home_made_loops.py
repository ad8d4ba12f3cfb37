"""Lines as people write them in loops of their own: what is a time, what is of an evaluation, whose number counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main

STEPS = 60
ROW = {"loss": 1.25, "reward": 0.25, "kl": 0.125, "gen": 20.5, "length": 311}


def rows(tmp_path: Path, text: str | None) -> dict[int, dict[str, float]]:
    """Step -> the numbers of a log under the names of a report. None: it is written already."""
    log, out = tmp_path / "train.log", tmp_path / "rows.jsonl"
    if text is not None:
        log.write_text(text, encoding="utf-8")
    assert main(["export", str(log), "--output", str(out)]) == 0
    read = [json.loads(row) for row in out.read_text(encoding="utf-8").splitlines()]
    return {row.pop("step"): row for row in read}


def steps(tmp_path: Path, form: str) -> dict[int, dict[str, float]]:
    """The rows of a log that has this text for each step: `{n}` is the step, `{x}` grows with it."""
    return rows(tmp_path, "".join(form.format(n=n, x=f"{n / 1000:.3f}", **ROW) + "\n" for n in range(1, STEPS + 1)))


TIMES = {
    "seconds per step": ("#{n} loss {loss} reward {x} kl {kl} | 31 s/step", {"time_per_step_s": 31.0}),
    "alone in brackets": ("step {n} reward {x} loss {loss} kl {kl} [31.5s]", {"time_per_step_s": 31.5}),
    "a dict of times": (
        "step={n} reward={x} loss={loss} time={{'gen': {gen}, 'reward': 1.5, 'update': 9.25}} kl={kl}",
        {"phase:rollout": 20.5, "phase:reward": 1.5, "phase:update_actor": 9.25, "kl_ref": 0.125},
    ),
    "below a title": (
        "step {n}/60\n  reward: {x}\n  loss: {loss}\n  Timing:\n    generation : {gen}s\n    reward : 1.5s",
        {"phase:rollout": 20.5, "phase:reward": 1.5},
    ),
    "with its parts behind it": (
        "Step {n}/60\n  reward: {x}  loss: {loss}\n  time: 31.5s (rollout {gen}s, update 9.25s)\n  length: {length}",
        {"time_per_step_s": 31.5, "phase:rollout": 20.5, "phase:update_actor": 9.25, "response_length_mean": 311},
    ),
    "of parts that tags name": (
        "[rollout] step {n}: reward {x}, took {gen}s\n[train ] step {n}: loss {loss}, took 9.25s",
        {"phase:rollout": 20.5, "phase:update_actor": 9.25},
    ),
    "of parts that titles name": (
        "step {n}/60\n  rollout: 512 samples, {gen}s\n  reward {x}, length {length}\n  update: loss {loss}, 9.25s",
        {"phase:rollout": 20.5, "phase:update_actor": 9.25, "response_length_mean": 311},
    ),
    "in the name": (
        "   Step {n}/60\n┃ Metric ┃ Value ┃\n│ reward │ {x} │\n│ generation (s) │ {gen} │\n"
        "│ learning rate │ 1e-06 │\n│ loss │ {loss} │",
        {"phase:rollout": 20.5, "lr": 1e-6},
    ),
}


@pytest.mark.parametrize("form", TIMES)
def test_times(form: str, tmp_path: Path) -> None:
    text, wanted = TIMES[form]
    found = steps(tmp_path, text)
    assert list(found) == list(range(1, STEPS + 1))
    assert [row["reward_mean"] for row in found.values()] == [pytest.approx(n / 1000) for n in found]
    for row in found.values():
        assert row["total_loss"] == 1.25
        assert {name: row[name] for name in wanted} == wanted


EVALUATIONS = (
    "step {n} eval: reward={b} accuracy={a}",
    "[step {n}] VAL acc={a} reward={b}",
    "step {n} (eval) acc {a} reward {b}",
    "step {n} validation | acc {a} | reward {b}",
    "val@{n}: acc {a} reward {b}",
    "EVAL {n}/60 accuracy: {a} reward: {b}",
    "eval_done     reward={b} accuracy={a} step={n}",
    "evaluating on 200 prompts ... accuracy {a} (took 12.3s)",
    "Validation accuracy after {n} steps: {a}",
    "eval_acc={a} eval_reward={b} (step {n})",
)


@pytest.mark.parametrize("line", EVALUATIONS)
def test_an_evaluation_is_none_of_training(line: str, tmp_path: Path) -> None:
    text = ""
    for n in range(1, STEPS + 1):
        text += f"step {n} | loss 1.25 | reward {n / 1000:.3f} | acc 0.125 | kl 0.01\n"
        text += line.format(n=n, a=0.9, b=0.8) + "\n" if n % 10 == 0 else ""
    found = rows(tmp_path, text)
    assert [row["reward_mean"] for row in found.values()] == [pytest.approx(n / 1000) for n in found]
    assert {row["score_mean"] for row in found.values()} == {0.125}
    held_out = {n: row["val_score"] for n, row in found.items() if "val_score" in row}
    assert list(held_out) == [10, 20, 30, 40, 50, 60]
    assert set(held_out.values()) <= {0.9, 0.8}


def test_data_sets_of_an_evaluation_stay_apart(tmp_path: Path) -> None:
    text = ""
    for n in range(1, STEPS + 1):
        text += f"step {n} | loss 1.25 | reward {n / 1000:.3f} | kl 0.01\n"
        text += f"step {n} | Evaluation on MATH500: accuracy 0.5\nstep {n} | Evaluation on AIME: accuracy 0.1\n" * (
            n % 10 == 0
        )
    found = rows(tmp_path, text)[60]
    assert (found["val_score:MATH500/accuracy"], found["val_score:AIME/accuracy"]) == (0.5, 0.1)


@pytest.mark.parametrize("line", ["Eval batch {n}/30: accuracy=0.5", "Eval example {n}: reward=1.0 correct=1"])
def test_parts_of_an_evaluation_are_no_score(line: str, tmp_path: Path) -> None:
    text = "".join(
        f"step {n} | loss 1.25 | reward {n / 1000:.3f} | kl 0.01\n" + "".join(line.format(n=k) + "\n" for k in range(3))
        for n in range(1, STEPS + 1)
    )
    assert not {name for row in rows(tmp_path, text).values() for name in row if name.startswith(("val", "eval"))}


RANKS = {
    "brackets": "[rank{k}] step {n}/60 loss {y} reward {x} kl 0.01",
    "assigned": "rank={k} step={n} loss={y} reward={x} kl=0.01",
    "round brackets": "(rank {k}) step {n} | loss {y} | reward {x} | kl 0.01",
}


@pytest.mark.parametrize("form", RANKS)
def test_of_several_ranks_the_first_counts_wherever_it_stands(form: str, tmp_path: Path) -> None:
    text = "".join(
        RANKS[form].format(n=n, k=k, x=f"{n / 1000:.3f}", y=f"{1.25 + k}") + "\n"
        for n in range(1, STEPS + 1)
        for k in ((2, 0, 3, 1) if n % 2 else (1, 3, 0, 2))
    )
    found = rows(tmp_path, text)
    assert list(found) == list(range(1, STEPS + 1))
    assert {row["total_loss"] for row in found.values()} == {1.25}


def test_a_rank_that_alone_tells_the_metrics_counts(tmp_path: Path) -> None:
    text = "".join(
        f"[rank3] step {n}/60 loss 1.25 reward {n / 1000:.3f} kl 0.01\n[rank0] step {n}/60 tokens 1000 mem 41.2GB\n"
        for n in range(1, STEPS + 1)
    )
    assert {row["total_loss"] for row in rows(tmp_path, text).values()} == {1.25}


def test_what_is_done_within_a_step_belongs_to_it(tmp_path: Path) -> None:
    inner = "".join(f"  epoch {e}/4 | pg_loss 0.{e} | clipfrac 0.0{e}\n" for e in range(1, 5))
    found = steps(tmp_path, "step {n} | reward {x} | kl {kl} | len {length}\n" + inner.rstrip())
    assert list(found) == list(range(1, STEPS + 1))
    assert {(row["pg_loss"], row["clip_frac"]) for row in found.values()} == {(0.4, 0.04)}


NAMED = {
    "answers told apart": (
        "step {n} | reward {x} | length {length} (correct 290, wrong 340) | kl {kl}",
        {"response_length_mean": 311, "length/correct": 290, "length/wrong": 340},
    ),
    "a share by its count": ("step {n}: reward {x}, 125/500 correct (25.0%), loss {loss}", {"score_mean": 0.25}),
    "two statistics": (
        "step {n} | reward mean/std {x}/0.5 | length mean/max {length}/512 | kl {kl}",
        {"reward_std": 0.5, "response_length_mean": 311, "length max": 512},
    ),
    "a panel with marks": (
        "╭─ step {n}/60 ─────╮\n│ reward   {x}  ▲ │\n│ kl   {kl} │\n"
        "│ len   {length} tok │\n│ step time {gen}s │\n╰────╯",
        {"kl_ref": 0.125, "response_length_mean": 311, "time_per_step_s": 20.5},
    ),
    "keys of a tracker": ("train/step {n}\ntrain/reward {x}\ntrain/kl {kl}\n", {"kl_ref": 0.125}),
    "a rate by the update": ("update {n}, {gen} s/update, reward {x}, kl {kl}", {"time_per_step_s": 20.5}),
    "sentences": (
        "[INFO] Policy. Step: {n}. Mean Reward: {x}. Loss: {loss}. Length: {length}. Training.",
        {"total_loss": 1.25, "response_length_mean": 311},
    ),
    "objects by name": (
        "StepStats(step={n}, reward=Stat(mean={x}, std=0.5), loss={loss}, kl={kl})",
        {"reward_std": 0.5, "total_loss": 1.25, "kl_ref": 0.125},
    ),
    "a value that was not measured": (
        "step={n} reward={x} eval_acc=- best=None loss={loss} entropy: n/a kl={kl}",
        {"total_loss": 1.25, "kl_ref": 0.125, "val_score": None, "entropy": None},
    ),
    "times in a dict within one": (
        'step {n}: {{"reward": {x}, "loss": {loss}, "timing": {{"gen": {gen}, "train": 3.5}}}}',
        {"total_loss": 1.25, "phase:rollout": 20.5, "phase:update_actor": 3.5},
    ),
    "arguments": ("step {n} | reward {x} | KL(pi||ref) {kl} | loss {loss}", {"kl_ref": 0.125}),
}


@pytest.mark.parametrize("form", NAMED)
def test_names(form: str, tmp_path: Path) -> None:
    text, wanted = NAMED[form]
    found = steps(tmp_path, text)
    assert [row["reward_mean"] for row in found.values()] == [pytest.approx(n / 1000) for n in found]
    for row in found.values():
        assert {name: row.get(name) for name in wanted} == wanted


def test_a_message_that_begins_on_the_line_below_its_lead(tmp_path: Path) -> None:
    lead = "2026-08-27 18:10:18,415 | trainer | INFO | "
    text = f"{lead}\nStep {{n}} | Time: 19.5s\n{lead}  Loss: {{loss}}\n{lead}  Reward: {{x}}"
    found = steps(tmp_path, text)
    assert {(row["time_per_step_s"], row["total_loss"]) for row in found.values()} == {(19.5, 1.25)}
    assert [row["reward_mean"] for row in found.values()] == [pytest.approx(n / 1000) for n in found]


def test_a_block_and_a_line_of_the_same_step(tmp_path: Path) -> None:
    block = "=== ROLLOUT DETAILS (Step {n}) ===\nNumber of samples: 64\nRewards: mean={x}, std=0.5\n"
    found = steps(tmp_path, block + "one sample of it was right\nStep {n} | Time: 19.5s\n  Loss: {loss}\n  KL: {kl}")
    assert list(found) == list(range(1, STEPS + 1))
    assert {(row["time_per_step_s"], row["total_loss"], row["kl_ref"]) for row in found.values()} == {
        (19.5, 1.25, 0.125)
    }
    assert [row["reward_mean"] for row in found.values()] == [pytest.approx(n / 1000) for n in found]


LANGUAGES = (
    "步数 {n}/60 | 平均奖励 {x} | 损失 {loss} | 熵 0.5 | 响应长度 {length} | 耗时 {gen}s",
    "étape {n} | récompense moyenne {x} | perte {loss} | entropie 0.5 | longueur {length} | durée {gen}s",
    "шаг {n} | награда {x} | потери {loss} | энтропия 0.5 | длина {length} | время {gen}с",
    "ステップ {n}/60 報酬 {x} 損失 {loss} エントロピー 0.5 応答長 {length} 時間 {gen}秒",
    "스텝 {n} | 보상 {x} | 손실 {loss} | 엔트로피 0.5 | 길이 {length} | 시간 {gen}초",
    "paso {n} | recompensa {x} | pérdida {loss} | entropía 0.5 | longitud {length} | tiempo {gen}s",
)


@pytest.mark.parametrize("line", LANGUAGES)
def test_the_words_of_other_languages(line: str, tmp_path: Path) -> None:
    found = steps(tmp_path, line)
    wanted = {"total_loss": 1.25, "entropy": 0.5, "response_length_mean": 311, "time_per_step_s": 20.5}
    for n, row in found.items():
        assert row == {"reward_mean": pytest.approx(n / 1000), **wanted}
