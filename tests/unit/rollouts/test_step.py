"""One step: groups by prompt, best and worst, order, filters, numbers; the same prompt across steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.frameworks.load import keep_samples
from rltui.rollouts.index import nothing_found
from rltui.rollouts.step import StepRollouts
from tests.unit.rollouts.dumps import GOOD, LOOP, index, lines, trl, verl

ROWS = [
    ("2+2?", GOOD, 1.0),
    ("2+2?", "<think>5", 0.0),
    ("2+2?", LOOP, 0.0),
    ("1+1?", "2", 1.0),
    ("1+1?", "2", 1.0),
    ("9+9?", " \n ", 0.0),
]


@pytest.fixture
def step(tmp_path: Path) -> StepRollouts:
    verl(tmp_path, 1, ROWS)
    found = index(tmp_path)
    return found.read(found.entries[0])


def test_groups_by_prompt_with_spread_and_zero_variance(step: StepRollouts) -> None:
    assert [(g.members, g.mean, g.spread, g.zero_variance) for g in step.groups] == [
        ((0, 1, 2), pytest.approx(1 / 3), 1.0, False),
        ((3, 4), 1.0, 0.0, True),
        ((5,), 0.0, 0.0, None),
    ]
    assert (step.groups[0].best, step.groups[0].worst) == (0, 2), "of equal rewards the longer is the worse"


def test_best_and_worst_of_a_step(step: StepRollouts) -> None:
    assert step.best() == 3, "of equal rewards the shorter is the better"
    assert step.worst() == 2


def test_best_and_worst_need_a_reward(tmp_path: Path) -> None:
    lines(tmp_path / "rollouts" / "1.jsonl", [{"input": "a", "output": "b"}])
    found = index(tmp_path)
    step = found.read(found.entries[0])
    assert step.best() is None
    assert step.groups[0].mean is None
    assert step.groups[0].zero_variance is None


@pytest.mark.parametrize(
    ("wanted", "places"), [("empty", [5]), ("repeated", [2]), ("invalid", [1]), ("zero-variance", [3, 4])]
)
def test_filters(step: StepRollouts, wanted: str, places: list[int]) -> None:
    assert step.select(wanted=wanted) == places  # type: ignore[arg-type]


def test_what_nothing_tells_is_neither_cut_nor_complete(step: StepRollouts) -> None:
    assert step.truncated(0) is None
    assert step.select(wanted="truncated") == []
    assert step.stats().truncated is None


def test_truncated_by_tokens_by_flag_and_by_characters(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "response": "x" * n, "reward": 0.0, "response_length": t} for n, t in ((90, 32), (80, 31))]
    lines(tmp_path / "a" / "1.jsonl", rows)
    lines(tmp_path / "b" / "2.jsonl", [{**rows[1], "is_truncated": True}])
    trl(tmp_path / "c", 3, [("p", "x" * 32, 0.0, 0.0), ("p", "x" * 31, 0.0, 0.0)])
    trl(tmp_path / "d", 4, [("p", "x" * 32, 0.0, 0.0), ("p", "x" * 33, 0.0, 0.0)])
    found = index(tmp_path, cap=32)
    read = {entry.step: found.read(entry) for entry in found.entries}
    assert [read[1].truncated(i) for i in (0, 1)] == [True, False]
    assert read[2].truncated(0) is True
    assert [read[3].truncated(i) for i in (0, 1)] == [True, False]
    assert [read[4].truncated(i) for i in (0, 1)] == [None, None], "tokens of more than a character: nothing is told"


def test_order_and_search(step: StepRollouts) -> None:
    assert step.select(order="reward", reverse=True)[:3] == [0, 3, 4]
    assert step.select(order="length")[:2] == [3, 4]
    assert step.select(text="LET ME CHECK") == [2]
    assert step.select(text="1+1?", order="file", reverse=True) == [4, 3]


def test_samples_without_the_number_come_last(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "response": "b"}, {"prompt": "a", "response": "c", "reward": 0.5}]
    lines(tmp_path / "1.jsonl", rows)
    found = index(tmp_path)
    assert found.read(found.entries[0]).select(order="reward") == [1, 0]


def test_the_numbers_of_a_step(step: StepRollouts) -> None:
    stats = step.stats()
    assert (stats.samples, stats.examined) == (6, 6)
    assert stats.reward_mean == 0.5
    assert (stats.mode_value, stats.mode_share) == (1.0, 0.5)
    assert (stats.empty, stats.repeated, stats.invalid_format) == pytest.approx((1 / 6, 1 / 6, 1 / 6))
    assert stats.identical == pytest.approx(2 / 5), "of the five samples in groups of two or more"
    assert stats.zero_variance == 0.5
    assert [(b.low, b.count) for b in step.reward_histogram()] == [(0.0, 3), (1.0, 3)]


def test_a_format_reward_decides_before_the_tags(tmp_path: Path) -> None:
    trl(tmp_path, 1, [("p", "<think>", 1.0, 1.0), ("p", GOOD, 1.0, 0.0)])
    found = index(tmp_path)
    assert found.read(found.entries[0]).select(wanted="invalid") == [1]


def test_the_same_prompt_across_steps(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        verl(tmp_path, number, [("other", "x", 0.0), ("2+2?", f"try {number}", 0.0)][number % 2 :])
    found = index(tmp_path)
    where = found.same_prompt("2+2?")
    assert [(entry.step, places) for entry, places in where] == [(1, [0]), (2, [1]), (3, [0])]
    assert found.same_prompt("never asked") == []


def test_a_run_without_text_is_a_limitation_with_the_way_to_enable_it(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step:1 - critic/score/mean:0.5\n")
    found = index(tmp_path)
    said = nothing_found(found, "verl")
    assert "limit of the monitoring" in said[0]
    order = [next(i for i, line in enumerate(said) if word in line) for word in ("training log", "W&B", "folders")]
    assert order == sorted(order)
    assert "trainer.rollout_data_dir" in said[-1]
    assert keep_samples(None) != keep_samples("trl")
    assert "log_completions" in keep_samples("trl")


def test_many_steps_open_by_their_names_and_are_read_when_asked(tmp_path: Path) -> None:
    for number in range(30):
        verl(tmp_path, number, [("p", "c", 1.0)])
    (tmp_path / "rollouts" / "7.jsonl").write_text("no json\n")
    found = index(tmp_path)
    assert len(found.entries) == 30, "no content was parsed"
    broken = found.read(found.entries[7])
    assert len(broken) == 0
    assert broken.skipped == 1


def test_statistics_of_many_samples_read_an_even_spread(tmp_path: Path) -> None:
    verl(tmp_path, 1, [(f"p{i}", "loop " * 100 if i % 4 == 0 else f"text {i}", float(i % 2)) for i in range(4096)])
    found = index(tmp_path)
    step = found.read(found.entries[0])
    stats = step.stats()
    assert (stats.samples, stats.examined) == (4096, 512)
    assert stats.mode_share == 0.5, "rewards are counted over all"
    assert step.examined()[0] == 0
    assert step.examined()[-1] >= 4088
