"""Lines of a form that is settled are read by many at once. What is read is what is read of each line alone."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from rltui.readers.base import Rows
from rltui.readers.console.own_words import OwnWords
from rltui.readers.console.reader import ConsoleReader

Cells = dict[tuple[int, str], list[float]]
N = 90


def read(lines: list[str], alone: bool = False) -> tuple[Cells, list[float], dict[str, int]]:
    """What a reader gives for these lines: values by step and name, times, and what it counts as left out. `alone`: it
    gets one line at a time."""
    reader, text = ConsoleReader(), [f"{line}\n".encode() for line in lines]
    records = [one for piece in (text if alone else [b"".join(text)]) for one in reader.feed(piece)]
    cells: Cells = {}
    times: list[float] = []
    for rows in [one for one in [*records, *reader.finish()] if isinstance(one, Rows)]:
        times += rows.times
        for name, column in rows.values.items():
            for step, x in zip(rows.steps, column, strict=True):
                if x == x:
                    cells.setdefault((step, name), []).append(x)
    return cells, [time for time in times if time == time], dict(reader.skipped)


def values(draw: random.Random, step: int) -> dict[str, float]:
    return {
        "loss": round(draw.gauss(0.0 if step > N / 2 else 3.0, 0.5), 4),
        "reward": round(draw.random(), 3),
        "kl": 0.0 if step < N / 3 else draw.random() * 10 ** -draw.randrange(1, 8),
        "lr": 1e-6,
        "clip": 0.0,
    }


FORMS: dict[str, Callable[[int, dict[str, float]], str]] = {
    "pipes": lambda s, v: f"step {s}/{N} | loss {v['loss']} | reward {v['reward']} | kl {v['kl']} | clip {v['clip']}",
    "pairs": lambda s, v: f"step={s} loss={v['loss']} reward={v['reward']} kl={v['kl']:.3g} clip={v['clip']:.1f}",
    "brackets": lambda s, v: f"[{s:>4}/{N}] loss={v['loss']:+.4f} reward={v['reward']} ({s % 7 + 0.5}s/it)",
    "iteration": lambda s, v: f"Iteration {s}: avg_reward={v['reward']} (std {v['kl']}) loss={v['loss']}",
    "stamped": lambda s, v: (
        f"2026-03-01 {9 + s // 60:02}:{s % 60:02}:07,123 - trainer - INFO - step {s} loss {v['loss']} kl {v['kl']}"
    ),
    "percent": lambda s, v: (
        f"step {s} of {N} :: accuracy {100 * v['reward']:.1f}% :: clip {v['clip']}% :: lr {v['lr']}"
    ),
    "epochs": lambda s, v: f"Epoch {s // 30} | Step {s % 30 + 1}/30 | loss: {v['loss']} | reward: {v['reward']}",
    "words": lambda s, v: f"Finished step {s}. The loss was {v['loss']} and the mean reward was {v['reward']}.",
    "nameless": lambda s, v: f"update {s} -> reward {v['reward']}, policy loss {v['loss']}, took ({s * 37 % 11})",
    "two counts": lambda s, v: f"epoch {s} | step {s} | episodes {s} | loss {v['loss']} | reward {v['reward']}",
    "rounds": lambda s, v: f"round {s // 30} step {s % 30 + 1} | loss: {v['loss']} | reward: {v['reward']}",
    "tags": lambda s, v: f"[round {s // 30}/4] [step {s % 30 + 1}/30] loss: {v['loss']} reward: {v['reward']}",
    "colours": lambda s, v: (
        f"\x1b[32mstep {s}\x1b[0m loss \x1b[{31 if v['loss'] < 0 else 32}m{v['loss']}\x1b[0m reward {v['reward']}"
    ),
    "minutes": lambda s, v: f"step {s} | loss {v['loss']} | reward {v['reward']} | took {1 + s // 40}m{s * 7 % 60:02}s",
    "clock": lambda s, v: f"step {s} | loss {v['loss']} | reward {v['reward']} | elapsed 0:{s // 60:02}:{s % 60:02}",
    "shares": lambda s, v: f"step {s}/{N} | loss {v['loss']} | reward {v['reward']} | correct {s * 7 % 65}/64",
    "ranks": lambda s, v: f"[rank{s % 2}] step {s} loss {v['loss']} reward {v['reward']}",
}
ODD: dict[str, Callable[[int, str, Callable[[int], str]], list[str]]] = {
    "nothing": lambda s, line, of: [line],
    "blank": lambda s, line, of: [line, ""],
    "evaluation": lambda s, line, of: [line, f"[eval] step {s}: pass@1=0.4{s % 10}"],
    "below": lambda s, line, of: [line, f"  entropy: 0.{s}", "  saved"],
    "not a number": lambda s, line, of: [line.replace("reward 0.", "reward nan").replace("reward=0.", "reward=nan")],
    "more": lambda s, line, of: [f"{line} | extra {s / 7:.3f}"],
    "again": lambda s, line, of: [line, line],
    "back": lambda s, line, of: [of(max(1, s - 9)), of(max(1, s - 8)), of(max(1, s - 7)), line],
    "skipped": lambda s, line, of: [],
    "words": lambda s, line, of: ["Resuming from checkpoint ckpt-3", line],
    "fault": lambda s, line, of: ["Traceback (most recent call last):", '  File "a.py", line 3', "ValueError: 3", line],
    "cut": lambda s, line, of: [line[: len(line) // 2]],
    "answer": lambda s, line, of: [line, "A: Step 2: loss: 5 and 7. Step 3: the answer is 12."],
    "dict": lambda s, line, of: [line, f"{{'grad_norm': 0.{s}, 'entropy': 1.{s}}}"],
    "far": lambda s, line, of: [line.replace("loss", "loss", 1), of(s + 400)],
    "huge": lambda s, line, of: [line.replace(f"{s}", "9" * 20, 1)],
}


def log(form: str, seed: int) -> list[str]:
    draw = random.Random(seed)
    known = {step: values(draw, step) for step in range(1, 2 * N + 400)}

    def of(step: int) -> str:
        return FORMS[form](step, known[step])

    odd = draw.sample(sorted(ODD), 3)
    out: list[str] = ["loading the model", "world size 8"]
    for step in range(1, N + 1):
        kind = draw.choice(odd) if draw.random() < 0.06 else "nothing"
        out += ODD[kind](step, of(step), of)
    return out


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(6))
def test_many_lines_are_read_as_each_alone(form: str, seed: int) -> None:
    lines = log(form, seed)
    assert read(lines) == read(lines, alone=True)


@pytest.mark.whole
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(6, 200))
def test_more_logs(form: str, seed: int) -> None:
    test_many_lines_are_read_as_each_alone(form, seed)


def words_read(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many lines are read word by word."""
    seen = []
    for name in ("named", "line"):
        usual = getattr(OwnWords, name)
        monkeypatch.setattr(OwnWords, name, lambda self, *a, usual=usual: (seen.append(0), usual(self, *a))[1])
    read(lines)
    return len(seen)


@pytest.mark.parametrize("form", sorted(FORMS.keys() - {"ranks", "epochs", "rounds", "tags", "two counts"}))
def test_most_lines_of_a_long_log_are_not_read_word_by_word(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    lines = [FORMS[form](step, values(draw, step)) for step in range(1, 1001)]
    assert words_read(lines, monkeypatch) < 150


def test_lines_that_end_as_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(3)
    lines = [FORMS["pipes"](step, values(draw, step)) for step in range(1, 1001)]
    assert read([f"{line}\r" for line in lines]) == read(lines)
    assert words_read([f"{line}\r" for line in lines], monkeypatch) < 150


def test_a_duration_in_other_parts_is_read_word_by_word() -> None:
    """A duration that was equal to the count of steps so far, and one that has hours for the first time."""
    lines = [f"step {i} | loss 0.{i:03} | took {i // 60}m{i % 60:02}s" for i in range(1, 90)]
    lines += [f"step {i} | loss 0.{i:03} | took {i // 6}m{i % 50:02}s" for i in range(90, 130)]
    lines += [f"step {i} | loss 0.{i:03} | took 1h{i % 60}m{i % 50:02}s" for i in range(130, 160)]
    cells, _, _ = read(lines)
    assert [cells[i, "took"] for i in (80, 100, 140)] == [[80], [16 * 60], [3600 + 20 * 60 + 40]]
    assert read(lines) == read(lines, alone=True)


def test_numbers_that_were_equal_so_far_part() -> None:
    """Which of two equal numbers has which name is open until they differ."""
    lines = [f"step {i} | kl 0.0 clip 0.0 | loss {1 / i:.4f} | reward 0.{i:03}" for i in range(1, 60)]
    lines += [f"step {i} | kl 0.25 clip 0.75 | loss {1 / i:.4f} | reward 0.{i:03}" for i in range(60, 120)]
    cells, _, _ = read(lines)
    assert (cells[90, "kl"], cells[90, "clip"]) == ([0.25], [0.75])
    assert read(lines) == read(lines, alone=True)


def test_a_first_sign_or_exponent_is_read_word_by_word() -> None:
    lines = [f"step {i}: loss 0.{i:03}, kl 0.0{i:03}" for i in range(1, 60)]
    lines += [f"step {i}: loss -0.{i:03}, kl {i}e-05" for i in range(60, 120)]
    cells, _, _ = read(lines)
    assert (cells[90, "loss"], cells[90, "kl"]) == ([-0.09], [90e-5])


def test_lines_of_another_rank_stay_left_out() -> None:
    lines = [f"[rank0] step {i} loss 0.{i:03} reward 0.5" for i in range(1, 60)]
    lines += [f"[rank{i % 2}] step {i} loss 0.{i:03} reward 0.5" for i in range(60, 120)]
    cells, _, left_out = read(lines)
    assert (61, "loss") not in cells
    assert (62, "loss") in cells
    assert left_out == read(lines, alone=True)[2]


def test_a_number_that_is_whole_for_the_first_time_is_read_word_by_word() -> None:
    """A whole number with the name of a count may state the step."""
    draw = random.Random(0)
    shares = [0 if i % 50 == 49 else round((i + 0.1) % 50 / 50, 3) for i in range(150)]
    lines = [f"[{i}/500] iter: {shares[i]}, loss: {draw.random():.3f}, kl: {i * 0.03:.2f}" for i in range(1, 150)]
    assert read(lines) == read(lines, alone=True)
