"""Names that occur twice in one line: a word before them says whose each number is. Through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.exporting import Rows, exported
from tests.unit.readers.reported import reported

N = 24


def rows(form: str, path: Path, capsys: pytest.CaptureFixture[str], every: int = 1, rest: str = "") -> Rows:
    """The rows of a log of `form`, with `rest` behind it on each line, or on each `every`th."""
    lines = []
    for i in range(1, N + 1):
        there = form + (rest if i % every == 0 else "")
        lines.append(there.format(i=i, a=0.2 + i / 100, b=1.5 + i / 100, x=0.1 + i / 50, y=0.05 + i / 50))
        if i % 7 == 0:
            lines.append("INFO vllm engine: throughput 812.5 tok/s, train cache hits 3, val cache hits 9")
    return exported(path / "train.log", lines, capsys)


@pytest.mark.parametrize(
    "form",
    [
        "step {i} | train loss={a:.3f} reward={x:.3f} | val loss={b:.3f} reward={y:.3f}",
        "Epoch {i}/24 - train loss {a:.3f} reward {x:.3f} - validation loss {b:.3f} reward {y:.3f}",
        "[{i}] train loss={a:.3f} reward={x:.3f} eval loss={b:.3f} reward={y:.3f}",
        "iter {i} TRAIN loss={a:.3f} reward={x:.3f} || TEST loss={b:.3f} reward={y:.3f}",
        "step {i} train(loss={a:.3f}, reward={x:.3f}) val(loss={b:.3f}, reward={y:.3f})",
        "step {i} loss: {a:.3f} reward: {x:.3f} (val loss: {b:.3f} reward: {y:.3f})",
        "step {i} train loss {a:.3f} reward {x:.3f} val loss {b:.3f} reward {y:.3f}",
        "step {i} [train] loss={a:.3f} reward={x:.3f} [eval] loss={b:.3f} reward={y:.3f}",
        "step {i} loss {a:.3f}, reward {x:.3f} | test: loss {b:.3f}, reward {y:.3f}",
    ],
)
def test_an_evaluation_beside_the_training_has_its_own_names(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows(form, tmp_path, capsys)
    assert [row["step"] for row in found] == list(range(1, N + 1))
    for i, row in enumerate(found, 1):
        assert row["total_loss"] == pytest.approx(0.2 + i / 100)
        assert row["reward_mean"] == pytest.approx(0.1 + i / 50)
        assert row["val_loss"] == pytest.approx(1.5 + i / 100)
        assert row["val_score"] == pytest.approx(0.05 + i / 50)


@pytest.mark.parametrize(
    "rest",
    [
        " | val loss={b:.3f} reward={y:.3f}",
        " | eval: loss={b:.3f} reward={y:.3f}",
        " [val] loss={b:.3f} reward={y:.3f}",
        " (test loss={b:.3f} reward={y:.3f})",
        " - dev: loss={b:.3f} reward={y:.3f}",
    ],
)
def test_an_evaluation_at_some_steps_leaves_the_training_as_it_is(
    rest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = rows("step {i} loss={a:.3f} reward={x:.3f}", tmp_path, capsys, 6, rest)
    assert [row["total_loss"] for row in found] == pytest.approx([0.2 + i / 100 for i in range(1, N + 1)])
    assert [row["reward_mean"] for row in found] == pytest.approx([0.1 + i / 50 for i in range(1, N + 1)])
    scores = {row["step"]: row["val_score"] for row in found if "val_score" in row}
    assert scores == pytest.approx({i: 0.05 + i / 50 for i in (6, 12, 18, 24)})


def test_the_length_and_time_of_an_evaluation_are_not_those_of_the_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    form = "step {i} loss={a:.3f} reward={x:.3f} time=31.5"
    found = rows(form, tmp_path, capsys, 6, " | eval: reward={y:.3f} len=288 time=99.5")
    assert {row["time_per_step_s"] for row in found} == {31.5}
    assert not any("response_length_mean" in row for row in found)
    assert [row["step"] for row in found if "val_score" in row] == [6, 12, 18, 24]


@pytest.mark.parametrize(
    "form",
    [
        "step {i} | actor loss={a:.3f} gnorm={x:.3f} | critic loss={b:.3f} gnorm={y:.3f} | reward=0.7",
        "step {i} | critic loss: {b:.3f}, gnorm: {y:.3f} | actor loss: {a:.3f}, gnorm: {x:.3f} | reward: 0.7",
        "step {i} [actor] loss={a:.3f} gnorm={x:.3f} [critic] loss={b:.3f} gnorm={y:.3f} | reward=0.7",
        "step {i} actor: loss {a:.3f} gnorm {x:.3f} critic: loss {b:.3f} gnorm {y:.3f} reward 0.7",
    ],
)
def test_two_models_of_a_step_keep_their_numbers_apart(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for i, row in enumerate(rows(form, tmp_path, capsys), 1):
        assert row["grad_norm"] == pytest.approx(0.1 + i / 50)
        assert row["critic_grad_norm"] == pytest.approx(0.05 + i / 50)
        assert row["vf_loss"] == pytest.approx(1.5 + i / 100)
        assert row.get("total_loss", row.get("pg_loss")) == pytest.approx(0.2 + i / 100)
        assert row["reward_mean"] == 0.7


def test_times_of_parts_are_not_the_time_of_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = rows("step {i} reward {x:.3f} | gen: time 21.5s | train: time 43.0s", tmp_path, capsys)
    assert {(row["phase:rollout"], row["phase:update_actor"]) for row in found} == {(21.5, 43.0)}
    assert not any("time_per_step_s" in row for row in found)


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("epoch {i} train loss 0.5 val loss 0.6 val acc 0.7 lr 1e-4 time 12s", {"lr": 1e-4, "time_per_step_s": 12.0}),
        (
            "step {i} policy loss 0.1 value loss 0.2 entropy 0.5 kl 0.01 reward 0.3",
            {"entropy": 0.5, "reward_mean": 0.3},
        ),
        ("step {i}, val loss 0.6, reward 0.3, kl 0.01", {"reward_mean": 0.3, "kl_ref": 0.01}),
        ("step {i} | loss 0.1 | reward 0.3 | val loss 0.6 | kl 0.01", {"reward_mean": 0.3, "kl_ref": 0.01}),
        ("step {i} | rollout reward 0.3 len 200 | train loss 0.1 kl 0.01", {"reward_mean": 0.3, "kl_ref": 0.01}),
        ("[test] step {i} reward=0.3 len=200", {"reward_mean": 0.3, "response_length_mean": 200.0}),
    ],
)
def test_a_group_word_takes_no_number_that_only_the_training_has(
    form: str, wanted: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for row in rows(form, tmp_path, capsys):
        assert {name: row.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    "form", ["step {i} loss={a:.3f} kl=0.01 loss={b:.3f}", "run x: upd {i}, loss {a:.3f}, loss {b:.3f}"]
)
def test_of_two_numbers_with_one_name_the_first_counts_and_the_other_is_told(form: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(form.format(i=i, a=0.2 + i / 100, b=1.5) + "\n" for i in range(1, N + 1)))
    found = reported(path)
    assert found["metrics"]["total_loss"]["first_value"] == pytest.approx(0.21)
    assert found["metrics"]["total_loss"]["last_value"] == pytest.approx(0.2 + N / 100)
    told = [one for one in found["run"]["sources"][0]["left_out"] if "name of another" in one["reason"]]
    assert [(one["count"], one["first"]) for one in told] == [(N, "line 1")]
