"""Counts that begin again in each round of an outer loop, whatever the outer count is called: each line is a step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.test_opened_and_grown import looked_at
from tests.unit.session.runs import content, opened

NUMBERS = "loss {loss:.6f} reward {reward:.6f}\n"
PAIRS = "loss={loss:.6f} reward={reward:.6f}\n"
FORMS = {
    "brackets": "[{e}/{E}] step {b}/{B} " + NUMBERS,
    "two brackets": "[{e}/{E}][{b}/{B}] " + NUMBERS,
    "a rank before": "[rank0] [{e}/{E}][{b}/{B}]: " + PAIRS,
    "two shares": "{e}/{E} {b}/{B} " + NUMBERS,
    "iter and step": "iter {e} step {b}/{B} " + NUMBERS,
    "iter of and step of": "iter {e}/{E} step {b}/{B} " + NUMBERS,
    "bars between": "iteration {e} | step {b} | loss {loss:.6f} | reward {reward:.6f}\n",
    "pairs": "iter={e} step={b} " + PAIRS,
    "a logger": "2026-11-20 10:00:00,123 - INFO - train - chunk={e} step={b} " + PAIRS,
    "round and batch": "Round {e} | batch {b}/{B} | loss {loss:.6f} | reward {reward:.6f}\n",
    "cut short": "epo {e} step {b} " + NUMBERS,
    "chunk": "chunk {e} update {b}: " + NUMBERS,
    "shard": "shard {e}, it {b}: " + NUMBERS,
    "a word of our own": "wibble {e} step {b}: " + NUMBERS,
    "generation": "generation {e}, step {b}: " + NUMBERS,
    "json": '{{"iter": {e}, "step": {b}, "loss": {loss:.6f}, "reward": {reward:.6f}}}\n',
}
SIZES = {"few long": (3, 40, 1), "short": (4, 12, 1), "from 0": (3, 12, 0), "many short": (15, 6, 1)}


def log(form: str, rounds: int, each: int, first: int, **more: int) -> str:
    out = []
    for e in range(rounds):
        for b in range(each):
            n = e * each + b + 1
            cells = {"e": e + first, "E": rounds, "b": b + first, "B": each, "loss": 1 / n, "reward": n / 1024}
            out.append(form.format(**cells, **more))
    return "".join(out)


def losses(path: Path) -> list[float | None]:
    rows = content(opened(path))
    return [rows[step].get("loss") for step in sorted(rows)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", FORMS)
def test_each_line_is_a_step(form: str, size: str, tmp_path: Path) -> None:
    rounds, each, first = SIZES[size]
    (path := tmp_path / "train.log").write_text(log(FORMS[form], rounds, each, first))
    assert losses(path) == [pytest.approx(1 / n, abs=1e-6) for n in range(1, rounds * each + 1)]


@pytest.mark.parametrize("form", [form for form in FORMS if form != "json"])
def test_where_it_was_opened_makes_no_difference(form: str) -> None:
    data = log(FORMS[form], 3, 8, 1).encode()
    whole, _ = looked_at([data])
    assert len(whole) == 24
    for at in cuts(data):
        assert looked_at([data[:at], data[at:]])[0] == whole


@pytest.mark.parametrize("name", ["iter", "Round", "outer_step", "chunk", "curriculum_level"])
def test_rows_whose_steps_begin_again(name: str, tmp_path: Path) -> None:
    form = f'{{{{"{name}": {{e}}, "step": {{b}}, "loss": {{loss:.6f}}, "reward": {{reward:.6f}}}}}}\n'
    for rounds, each in ((4, 12), (40, 3)):
        (path := tmp_path / "log.jsonl").write_text(log(form, rounds, each, 1))
        assert losses(path) == [pytest.approx(1 / n, abs=1e-6) for n in range(1, rounds * each + 1)]


def test_a_table_whose_steps_begin_again_in_each_iteration(tmp_path: Path) -> None:
    (path := tmp_path / "log.csv").write_text(
        "Iteration,step,loss,reward\n" + log("{e},{b},{loss},{reward}\n", 4, 12, 1)
    )
    assert losses(path) == [pytest.approx(1 / n) for n in range(1, 49)]


TITLES = (
    "=== Shard {e}/3 ===\n",
    "--- Part {e} ---\n",
    "Level {e}\n",
    "Starting chunk {e}\n",
    "Outer step {e}\n",
    "Buffer {e} filled (512 samples)\n",
    "2026-11-20 10:00:00 INFO Collected rollouts for block {e}\n",
    "Loaded 12000 prompts\nDifficulty {e}:\nsampler is warm\n",
)
BELOW = (
    "step {b}/{B} " + NUMBERS,
    "step={b} " + PAIRS,
    "{{'loss': {loss:.6f}, 'reward': {reward:.6f}, 'step': {b}}}\n",
)


def titled(title: str, below: str, rounds: int, each: int, between: str = "") -> str:
    lines = log(below, rounds, each, 1).splitlines(keepends=True)
    parts = [lines[each * e : each * (e + 1)] for e in range(rounds)]
    return "".join(title.format(e=e + 1) + between.join(part) for e, part in enumerate(parts))


@pytest.mark.parametrize("between", ["", "saved 8 answers\n"])
@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("title", TITLES)
def test_a_title_may_count_the_rounds(title: str, below: str, between: str, tmp_path: Path) -> None:
    for rounds, each in ((3, 12), (12, 5)):
        (path := tmp_path / "train.log").write_text(titled(title, below, rounds, each, between))
        assert losses(path) == [pytest.approx(1 / n, abs=1e-6) for n in range(1, rounds * each + 1)]


@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("title", TITLES)
def test_where_a_log_with_titles_was_opened_makes_no_difference(title: str, below: str) -> None:
    data = titled(title, below, 3, 6).encode()
    whole, _ = looked_at([data])
    for at in cuts(data):
        assert looked_at([data[:at], data[at:]])[0] == whole


@pytest.mark.parametrize(
    "title",
    [
        "=== attempt {e} ===\n",
        "restart count: {e}\n",
        "Resuming from checkpoint {e}\n",
        "launch {e}\n",
        "Job {e} started on node7\n",
        "worker {e} is up\n",
        "using 8 GPUs\n",
        "reward model version: {e}\n",
    ],
)
def test_a_launch_that_begins_from_the_start_is_no_round(title: str, tmp_path: Path) -> None:
    (path := tmp_path / "train.log").write_text(titled(title, BELOW[1], 2, 12))
    assert len(content(opened(path))) == 12


AGAIN: dict[str, Callable[[int, int], str]] = {
    "another attempt": lambda k, b: f"attempt {k + 1} step {b}: loss {b / 64} reward {0.25 * k}\n",
    "another launch in pairs": lambda k, b: f"launch={k + 1} step={b} loss={b / 64} reward={0.25 * k}\n",
    "another rank": lambda k, b: f"gpu {k} step {b}: loss {b / 64} reward {0.25 * k}\n",
    "the same number": lambda k, b: f"[1/3] step {b}/12 loss {b / 64} reward {0.25 * k}\n",
    "two more": lambda k, b: f"[{1 + 2 * k}/9] step {b}/12 loss {b / 64} reward {0.25 * k}\n",
}


@pytest.mark.parametrize("how", AGAIN)
def test_steps_that_were_made_again_are_no_other_ones(how: str, tmp_path: Path) -> None:
    """What was made again counts: the number before the steps tells no round of an outer loop."""
    text = "".join(AGAIN[how](k, b) for k in range(2) for b in range(1, 13))
    (path := tmp_path / "train.log").write_text(text)
    assert len(content(opened(path))) == 12


def test_a_resume_in_the_middle_is_no_round(tmp_path: Path) -> None:
    """A number that happens to be one more as the steps go back to a checkpoint."""
    rows = [(1, b) for b in range(1, 21)] + [(2, b) for b in range(11, 31)]
    text = "".join(f"[{k}/5] step {b}/30 loss {b / 64} reward {k / 4}\n" for k, b in rows)
    (path := tmp_path / "train.log").write_text(text)
    run = opened(path)
    assert sorted(content(run)) == list(range(1, 31))
    assert run.run.history.table.restarts == [11]
