"""Units behind the numbers of a line: percent, thousands, minutes and milliseconds are what they say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.readers.reading import Cells, read


def cells(line: Callable[[int], str], below: str = "", n: int = 6) -> Cells:
    """What the first step of a log of such lines tells."""
    found = read("console", "".join(f"{line(i)}\n{below}" for i in range(1, n + 1)))
    assert set(found.steps) == set(range(1, n + 1))
    return {name: x for step, row in found.rows if step == 1 for name, x in row.items()}


LEADS = ("step {i} | loss 0.25 | ", "Iter {i}/90: loss=0.25, ", "🚀 update {i} – loss: 0.25 – ")


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("cut off: 12.5%", "cut off", 0.125),
        ("clip frac 2 %", "clip frac", 0.02),
        ("accuracy=40%", "accuracy", 0.4),
        ("rate 18.7k tok/s", "rate", 18700),
        ("rate: 1.5M tokens/s", "rate", 1.5e6),
        ("rate: 18.7ktok/s", "rate", 18700),
        ("tokens 2.5k", "tokens", 2500),
        ("time 12,500 ms", "time", 12.5),
        ("time 12500 ms", "time", 12.5),
        ("step time: 2.5 min", "step time", 150),
        ("elapsed: 1.5 hours", "elapsed", 5400),
        ("elapsed 1.5h", "elapsed", 5400),
        ("took 4 minutes", "took", 240),
        ("took 4m", "took", 240),
        ("gain −0.5", "gain", -0.5),
    ],
)
def test_units(lead: str, said: str, name: str, value: float) -> None:
    assert cells(lambda i: lead.format(i=i) + said)[name] == value


@pytest.mark.parametrize("below", ["  loss: 0.25\n  clipped: 12.5%\n", "• loss: 1\n• clipped: 12.5% | time: 800 ms\n"])
def test_units_below_the_line_of_the_step(below: str) -> None:
    assert cells(lambda i: f"=== Step {i} ===", below)["clipped"] == 0.125


def test_an_evaluation_has_units_too() -> None:
    text = "".join(f"step {i} | loss 0.25 | reward 0.5\n" for i in range(1, 5)) + "[eval] step 4 | accuracy 45%\n"
    assert (4, {"eval/accuracy": 0.45}) in read("console", text).rows


@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("clipped (%): 12.5%", "clipped (%)", 12.5),  # the name says it
        ("clip_pct=12.5%", "clip_pct", 12.5),
        ("time (ms): 800 ms", "time (ms)", 800),
        ("reward 0.5 min 0.25", "reward min", 0.25),
        ("reward: mean 0.5 min 0.25 max 0.75", "reward mean", 0.5),
        ("gsm8k 0.5", "gsm8k", 0.5),
        ("range 4m", "range", 4),
        ("right 0.5 (50%)", "right", 0.5),
        ("length 512 tokens", "length", 512),
        ("memory 61.5GB", "memory", 61.5),
    ],
)
def test_words_that_are_no_units(said: str, name: str, value: float) -> None:
    assert cells(lambda i: f"step {i} | loss 0.25 | {said}")[name] == value


def test_a_plan_with_a_comma_in_it() -> None:
    found = read("console", "".join(f"step 1,{i}00/12,000 loss: 0.5 reward: 0.25\n" for i in range(1, 7)))
    assert found.steps[:2] == [1100, 1200]
    assert next(note for note in reversed(found.notes) if note.kind == "progress").total == 12000


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(
    ("said", "name", "value"),
    [
        ("Time: 0:00:31", "Time", 31),
        ("step time 00:01:20.5", "step time", 80.5),
        ("took=1:02:03", "took", 3723),
        ("wall time: 1 day, 0:00:31", "wall time", 86431),
        ("mem 40960MB", "mem", 40),
        ("peak memory: 10,240 MiB", "peak memory", 10),
        ("vram 20480/81920MB", "vram", 20),
        ("lr 1.5×10⁻⁶", "lr", 1.5e-6),
        ("lr: 2 x 10^-5", "lr", 2e-5),
        ("lr=10⁻⁶", "lr", 1e-6),
        ("kl 0.5, 335 tok/resp", "tok/resp", 335),
        ("kl 0.5 (335 tokens/response, 20s)", "tokens/response", 335),
        ("r̄ 0.5", "r_mean", 0.5),
        ("‖g‖ 0.5", "||g||", 0.5),
        ("∇=0.5", "grad", 0.5),
        ("|y| 335", "|y|", 335),
    ],
)
def test_durations_sizes_and_signs_of_print(lead: str, said: str, name: str, value: float) -> None:
    told = cells(lambda i: lead.format(i=i) + said)
    assert told[name] == pytest.approx(value)
    assert told["loss"] == 0.25


@pytest.mark.parametrize("said", ["time 12:30:15", "at 09:00:00", "eta: 1:00:00", "file size 512MB"])
def test_a_time_of_day_a_forecast_and_other_sizes_stay(said: str) -> None:
    told = cells(lambda i: f"step {i} | loss 0.25 | reward 0.5 | {said}")
    assert set(told) - {"file size"} == {"loss", "reward"}
    assert told.get("file size", 512) == 512
