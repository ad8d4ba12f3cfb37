"""A count with a small plan that begins again below each next count of another one: the outer one is the step, and the
last numbers of the inner lines are its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.session import run_reader
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader

STEPS = 12
OUTER = (
    *("Round {i}/12", "Iteration {i}/12", "Outer step {i} of 12", "=== Round {i}/12 ===\nreward: {r:.3f}"),
    *("[{i}/12] reward={r:.3f}", "Round {i}/12: reward={r:.3f}", "Rollout {i}/12 | reward {r:.3f} | len {n}"),
)
INNER = (
    *("  update {k}/3 loss={x:.2f}", "inner step {k}/3: loss {x:.2f}, kl {q:.3f}", "  ppo epoch {k}/3 | loss {x:.2f}"),
    *("    [update {k}/3] loss={x:.2f} kl={q:.3f}", "  mb {k}/3: loss={x:.2f}", "  minibatch {k} loss={x:.2f}"),
)


def told(outer: str, inner: str, counts: range = range(1, 4), steps: range = range(1, STEPS + 1)) -> str:
    lines: list[str] = []
    for i in steps:
        lines.append(outer.format(i=i, r=0.2 + i / 100, n=100 + i))
        lines += [inner.format(i=i, k=k, x=i + k / 10, q=k / 1000) for k in counts]
    return "\n".join([*lines, ""])


def cells(log: Path, text: str) -> dict[str, list[tuple[int, float]]]:
    log.write_text(text)
    opened = RunReader(locate([str(log)])[0])
    opened.load()
    table = opened.run.history.table
    found = {key: table.series(key) for key in table.columns}
    opened.close()
    assert not table.restarts
    return {key: [*zip(s.steps.tolist(), s.values.tolist(), strict=True)] for key, s in found.items() if s is not None}


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
def test_the_last_one_counts(outer: str, inner: str, tmp_path: Path) -> None:
    found = cells(tmp_path / "train.log", told(outer, inner))
    assert found["loss"] == [(i, i + 0.3) for i in range(1, STEPS + 1)]
    if "{r" in outer:
        assert [x for _, x in found["reward"]] == [pytest.approx(0.2 + i / 100) for i in range(1, STEPS + 1)]


@pytest.mark.parametrize("outer", OUTER[3:])
def test_they_may_be_called_steps(outer: str, tmp_path: Path) -> None:
    """As long as something is measured for each round: else they may be the steps of the training."""
    found = cells(tmp_path / "train.log", told(outer, "  step {k}/3 | loss {x:.2f} | kl {q:.3f}"))
    assert found["loss"] == [(i, i + 0.3) for i in range(1, STEPS + 1)]


STEPS_OF_ROUNDS = {
    "more of them than rounds": ("Round {i}/12", "step {k}/20 loss={x:.2f} kl={q:.3f}", range(1, 21)),
    "nothing else is measured": ("Round {i}/12", "step {k}/3 loss={x:.2f} kl={q:.3f}", range(1, 4)),
    "of epochs": ("Epoch {i}/12", "step {k}/3 loss={x:.2f} kl={q:.3f}", range(1, 4)),
}


@pytest.mark.parametrize(("outer", "inner", "counts"), STEPS_OF_ROUNDS.values(), ids=STEPS_OF_ROUNDS)
def test_steps_of_rounds_go_on(outer: str, inner: str, counts: range, tmp_path: Path) -> None:
    found = cells(tmp_path / "train.log", told(outer, inner, counts))
    assert [step for step, _ in found["loss"]] == list(range(1, STEPS * len(counts) + 1))


def test_a_count_that_does_not_begin_again_is_the_step(tmp_path: Path) -> None:
    lines = [
        f"Phase {i}/30: lr={i}e-6\nstep {k}/20 | loss {k / 10:.2f} | kl 0.01"
        for i, k in enumerate(range(1, 21), start=1)
    ]
    found = cells(tmp_path / "train.log", "\n".join([*lines, ""]))
    assert [step for step, _ in found["loss"]] == list(range(1, 21))


@pytest.mark.parametrize("inner", [INNER[2], *INNER[4:]])
def test_parts_above_the_step_are_of_the_one_below(inner: str, tmp_path: Path) -> None:
    lines = [
        line.format(i=i, k=k, x=i + k / 10, q=k / 1000, r=0.2 + i / 100)
        for i in range(1, 2 * STEPS + 1)
        for k, line in ((1, inner), (2, inner), (3, inner), (0, "iteration {i}/24: reward {r:.3f} kl 0.004"))
    ]
    found = cells(tmp_path / "train.log", "\n".join([*lines, ""]))
    assert found["loss"][-STEPS:] == [(i, i + 0.3) for i in range(STEPS + 1, 2 * STEPS + 1)]


@pytest.mark.parametrize("inner", INNER[:2])
def test_followed_as_read_whole(inner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_reader, "REST_S", -1.0)
    text, log = told("Round {i}/12", inner), tmp_path / "train.log"
    whole = cells(log, text)
    log.write_text(text[:60])
    opened = RunReader(locate([str(log)], format_in="console")[0], follow=True)
    opened.load()
    for at in range(60, len(text), 37):
        with log.open("a") as file:
            file.write(text[at : at + 37])
        opened.poll()
        opened.rest()
    table = opened.run.history.table
    found = {key: table.series(key) for key in table.columns}
    opened.close()
    assert {key: [*zip(s.steps.tolist(), s.values.tolist(), strict=True)] for key, s in found.items() if s} == whole


@pytest.mark.parametrize(
    "head", ["Step {i}", "Step {i} | lr 1e-6 | entropy 0.5", "upd#{i} finished, lr 1e-6 | entropy 0.5"]
)
@pytest.mark.parametrize("part", ["  ppo pass {k}: kl {x:.2f} clip 0.03", "  ppo epoch {k}: kl {x:.2f} clip 0.03"])
def test_what_the_step_itself_tells_below_its_parts_counts(part: str, head: str, tmp_path: Path) -> None:
    outer = "{head}\n{parts}\nloss {y:.3f}; reward 0.25; kl {z:.4f}\n"
    text = "".join(
        outer.format(
            head=head.format(i=i),
            parts="\n".join(part.format(k=k, x=i + k / 10) for k in range(1, 4)),
            y=1 / i,
            z=i / 1000,
        )
        for i in range(1, STEPS + 1)
    )
    found = cells(tmp_path / "train.log", text)
    kl = next(told for name, told in found.items() if "kl" in name)
    assert [x for _, x in kl] == [pytest.approx(i / 1000) for i in range(1, STEPS + 1)]
    assert not any("pass" in name for name in found)


def test_what_the_line_of_the_step_tells_counts_before_its_parts_above(tmp_path: Path) -> None:
    parts = "  ppo pass 1: kl 0.{i}1 clip 0.03\n  ppo pass 2: kl 0.{i}2 clip 0.03\n"
    text = "".join((parts + "[train] step {i} of 12 | loss 0.5; kl 0.0{i}\n").format(i=10 + i) for i in range(1, 13))
    kl = next(
        told for name, told in cells(tmp_path / "train.log", "lr=1e-6 beta=0.04\n" + text).items() if "kl" in name
    )
    assert [x for _, x in kl] == [pytest.approx((10 + i) / 1000) for i in range(1, 13)]
