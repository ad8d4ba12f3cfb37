"""Runs that go back: written as a trainer writes them, resumed from a checkpoint, with the truth beside them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

Cells = dict[str, float]
KEYS = ("reward", "loss", "kl", "grad_norm")


@dataclass
class Told:
    """What a written run says. `values`: the newest launch's of each step; `resumed`: steps at which a launch began
    that does anew what the one before did, two steps or more; `torn`: the cells of steps of which a part was written;
    `glued`: steps whose row of CSV is glued to a torn one, which nobody could take apart."""

    values: dict[int, Cells] = field(default_factory=dict)
    resumed: list[int] = field(default_factory=list)
    torn: dict[int, Cells] = field(default_factory=dict)
    glued: set[int] = field(default_factory=set)


def verl(step: int, cells: Cells) -> str:
    return f"step:{step} - " + " - ".join(f"{key}:{value}" for key, value in cells.items()) + "\n"


def jsonl(step: int, cells: Cells) -> str:
    return json.dumps({"step": step, **cells}) + "\n"


def csv(step: int, cells: Cells) -> str:
    return ",".join(map(str, (step, *cells.values()))) + "\n"


def own_words(step: int, cells: Cells) -> str:
    return f"[run] Step {step}/9000 | " + " | ".join(f"{key}: {value}" for key, value in cells.items()) + "\n"


def assignments(step: int, cells: Cells) -> str:
    return f"GRPO update={step} done, " + " ".join(f"{key}={value}" for key, value in cells.items()) + "\n"


WRITERS: dict[str, tuple[str, Callable[[int, Cells], str]]] = {
    "verl": ("train.log", verl),
    "jsonl": ("metrics.jsonl", jsonl),
    "csv": ("metrics.csv", csv),
    "own words": ("train.log", own_words),
    "assignments": ("train.log", assignments),
}


def cells_of(source: random.Random) -> Cells:
    return {key: round(source.uniform(0.01, 2.0), 4) for key in KEYS}


def write(folder: Path, style: str, seed: int) -> tuple[Path, Told]:
    """One run of a few launches. Each goes on from a checkpoint before where the one before it ended; what it does
    again has the values of before at first or to the end (a deterministic trainer), or others. A launch may be killed
    within a line, and the next one writes right behind what stands there."""
    source = random.Random(seed)
    name, line = WRITERS[style]
    told, text = Told(), "step," + ",".join(KEYS) + "\n" if style == "csv" else ""
    every = source.choice((1, 1, 2, 5))
    begin, last, wrote, torn = every, 0, 0, False
    launches = source.randint(2, 4)
    for launch in range(launches):
        same = source.choice((0, 0, 3, 10_000))  # so many of the steps done again have the values of before
        if launch and begin + every <= wrote and begin + same * every <= wrote:
            told.resumed.append(begin)
        told.values = {step: cells for step, cells in told.values.items() if step < begin} | {
            step: cells for step, cells in told.values.items() if step >= begin and same
        }
        old, told.values = told.values, {step: c for step, c in told.values.items() if step < begin}
        if torn and style == "csv":
            told.glued.add(begin)
        rows = source.randint(6, 40)
        for at, step in enumerate(range(begin, begin + rows * every, every)):
            told.values[step] = old[step] if at < same and step in old else cells_of(source)
            text += line(step, told.values[step])
        reached, last = last, begin + (rows - 1) * every
        wrote = last
        if same == 10_000 and last < reached:  # it ended before it did anything anew: the old rows stand
            told.values = old | told.values
            last = reached
        torn = source.random() < 0.5 and launch < launches - 1
        if torn:
            cut = begin + rows * every
            told.torn[cut] = told.values[cut] if same == 10_000 and cut in told.values else cells_of(source)
            whole = line(cut, told.torn[cut])
            text += whole[: source.randint(max(3, len(str(last)) + 4), len(whole) - 2)]
        steps = list(range(every, last + 1, every))
        begin = source.choice(steps[-12:-1]) + every if source.random() > 0.1 else every
        if begin == last:  # one step again may be a correction
            begin += every
    path = folder / name
    path.write_text(text)
    return path, told
