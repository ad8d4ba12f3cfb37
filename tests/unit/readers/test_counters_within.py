"""Lines with two counters: the one that goes on tells the step, not the one that begins anew within it."""

from __future__ import annotations

import pytest

from tests.unit.readers.reading import cuts, read
from tests.unit.readers.test_opened_and_grown import looked_at

EACH_LINE = (
    "inner iter: {k}/8 | global iter: {g}/5000 | loss: 0.5 | reward: 0.{g:03}",
    "[iter {k}/8] [step {g}/5000] loss 0.5 reward 0.{g:03}",
    "micro step {k}, global step {g}, loss=0.5, reward=0.{g:03}",
    "local_step={k} step={g} loss=0.5 reward=0.{g:03}",
    "train | data_epochs  0/10 | inner iter:   {k}/  8 | global iter: {g:6}/  5000| loss: 0.5 | reward: 0.{g:03}",
    "update {g}/100 | step {h}/51200 | loss 0.5 | reward 0.{g:03}",  # both count the run: the first tells the step
    "step {g}/100 | update {h} | loss 0.5 | reward 0.{g:03}",
)
EACH_EIGHT = (
    "inner iter: {k}/8 | global iter: {o}/5000 | loss: 0.5 | reward: 0.{g:03}",
    "Iteration {o}/100 | PPO update {k}/8 | loss 0.5 | reward 0.{g:03}",
)


def log(form: str) -> bytes:
    lines = (form.format(g=g, k=(g - 1) % 8 + 1, o=(g - 1) // 8 + 1, h=512 * g) + "\n" for g in range(1, 41))
    return "".join(lines).encode()


@pytest.mark.parametrize("form", EACH_LINE)
def test_the_number_that_goes_on_is_the_step(form: str) -> None:
    found, _ = looked_at([log(form)])
    assert {step: cells["reward"] for step, cells in found.items()} == {g: g / 1000 for g in range(1, 41)}


@pytest.mark.parametrize("form", EACH_EIGHT)
def test_a_step_of_several_lines_has_the_numbers_of_the_last(form: str) -> None:
    found, _ = looked_at([log(form)])
    assert {step: cells["reward"] for step, cells in found.items()} == {o: 8 * o / 1000 for o in range(1, 6)}


@pytest.mark.parametrize("form", [EACH_LINE[0], EACH_EIGHT[1]])
def test_where_it_was_opened_makes_no_difference(form: str) -> None:
    data = log(form)[:1180]
    whole = looked_at([data])[0]
    ends = [at for at in cuts(data) if looked_at([data[:at], data[at:]])[0] != whole]
    assert ends == []


def passes(parts: int, within: str = "Example step {p} | Pass 0 | ") -> bytes:
    """Four steps of two parts each, then so many parts of the fifth."""
    out = ""
    for i in range(5):
        for p in range(2 if i < 4 else parts):
            out += f"Step {i}/40 | {within.format(p=p)}loss: 0.{i}{p + 1} | Average reward: 0.9{p + 1}\n"
        if i < 4:
            out += f"Step {i}/40 | Average reward: 0.{i + 1} | Average length: 20{i}\n"
    return out.encode()


@pytest.mark.parametrize("within", ["Example step {p} | Pass 0 | ", "micro step {p} | ", "inner iter {p} | "])
@pytest.mark.parametrize("parts", [0, 1, 2])
def test_what_a_whole_step_tells_is_not_that_of_its_parts(parts: int, within: str) -> None:
    found, _ = looked_at([passes(parts, within)])
    expected = {
        i: {"loss": float(f"0.{i}2"), "Average reward": (i + 1) / 10, "Average length": 200.0 + i} for i in range(4)
    }
    newest = {4: {"loss": float(f"0.4{parts}")}} if parts else {}
    assert found == expected | newest


def test_where_a_log_of_parts_was_opened_makes_no_difference() -> None:
    data = passes(1)
    whole = looked_at([data])[0]
    assert [at for at in cuts(data) if looked_at([data[:at], data[at:]])[0] != whole] == []


@pytest.mark.parametrize("count", ["epoch 1", "episode 40", "env steps 4000", "samples 512", "batch 3"])
def test_other_counts_are_of_the_whole_step(count: str) -> None:
    text = "".join(f"Step {i}/40 | {count} | loss: 0.{i} | reward: 0.5\n" for i in range(1, 9))
    found, _ = looked_at([text.encode()])
    name, _, number = count.rpartition(" ")
    assert found == {i: {"loss": i / 10, "reward": 0.5, name: float(number)} for i in range(1, 9)}


def test_shares_right_in_several_tries_are_an_evaluation() -> None:
    text = "".join(
        f"Step {i}/40 | loss: 0.5 | reward: 0.{i}\n"
        + (f"Step {i} | Pass@1: 0.{i}, Pass@8: 0.9\n" if i % 4 == 0 else "")
        for i in range(1, 9)
    )
    found, _ = looked_at([text.encode()])
    assert {i: cells for i, cells in found.items() if "eval/pass@1" in cells}.keys() == {4, 8}


PARTS = (
    "微批次 {j}/{n} loss 0.{j:02d}",
    "mb[{j}/{n}] loss=0.{j:02d}",
    "part {j}/{n} loss: 0.{j:02d}",
    "widget {j} of {n} | loss 0.{j:02d} | kl 0.5",
)


@pytest.mark.parametrize("before", ["", "  "])
@pytest.mark.parametrize(
    "head", ["step {i}: reward=0.{i:02d} entropy=0.5", "步 {i}/12 奖励 0.{i:02d}", "[{i}/90] reward=0.{i:02d}"]
)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("n", [1, 4, 16])
def test_a_part_of_any_name_belongs_to_its_step(part: str, head: str, before: str, n: int) -> None:
    def told(i: int) -> str:
        parts = "".join(before + part.format(j=j, n=n) + "\n" for j in range(1, n + 1))
        return head.format(i=i) + "\n" + parts

    found: dict[int, dict[str, float | None]] = {}
    for step, cells in read("console", "".join(map(told, range(1, 13)))).rows:
        found.setdefault(step, {}).update(cells)
    assert sorted(found) == list(range(1, 13))
    for cells in found.values():
        assert cells["loss"] == n / 100  # of the last one
        assert not any(any(map(str.isdigit, name)) for name in cells)
        assert cells.keys() <= {"reward", "奖励", "entropy", "loss", "kl"}


@pytest.mark.parametrize("line", ["sample {j}/16 reward: 0.5", "  chunk {j}/16 loss: 0.5"])
def test_of_a_sample_no_number_counts(line: str) -> None:
    """Nor is its count a part of a name."""
    text = "".join(f"step {i}: reward=0.{i:02d} kl=0.5\n" + line.format(j=i) + "\n" for i in range(1, 13))
    found = read("console", text)
    assert found.rows == [(i, {"reward": i / 100, "kl": 0.5}) for i in range(1, 13)]


@pytest.mark.parametrize("n", [8, 32, 64, 200])
@pytest.mark.parametrize("part", ["Rollout {j}/{n} reward 0.{j:03d}", "episode {j} of {n} | return 1.5 | length {j}"])
def test_many_parts_above_the_line_of_their_step(part: str, n: int) -> None:
    def told(i: int) -> str:
        return "".join(part.format(j=j, n=n) + "\n" for j in range(1, n + 1)) + f"step {i} reward=0.{i:02d} kl=0.5\n"

    found = read("console", "".join(map(told, range(1, 6))))
    assert [(step, cells["reward"], cells["kl"]) for step, cells in found.rows if "kl" in cells] == [
        (i, i / 100, 0.5) for i in range(1, 6)
    ]
    assert set(found.steps) == set(range(1, 6))


def test_a_short_training_of_such_lines_is_shown_as_it_goes_on() -> None:
    lines = "".join(f"Rollout {i}/64 reward 0.{i:03d}\n" for i in range(1, 9))
    assert looked_at([lines.encode()])[0].keys() == set(range(1, 9))
