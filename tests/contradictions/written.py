"""Runs that a seeded generator writes: containers, lengths, plans, ends and courses drawn at random, so that no two
of them have been looked at when the program was built."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

LONG_AGO_S = 2 * 86400.0
"""A run that does not run any more ended so long ago."""

Row = dict[str, float]


@dataclass(frozen=True)
class Draw:
    """What was drawn of a run: `course` what happens in it, `end` how it ends."""

    name: str
    course: str
    container: str
    rows: int
    plan: int | None
    end: str
    resumed: bool
    saves: int | None
    validates: int | None
    step_s: float
    seed: int
    until: int | None = None
    """The step that its log has come to, if it is cut: nothing that comes later is there."""
    odd: str = ""
    """What is unusual about its log: one of `ODD`."""
    age_s: float | None = None
    """How long ago it was written; None: as its end says."""

    @property
    def began(self) -> float:
        """Seconds since the epoch. Commands and screens judge by the clock whether a run is running, so that times are
        those of now."""
        usual = 0.0 if self.end == "running" else LONG_AGO_S
        return time.time() - self.step_s * self.rows - (usual if self.age_s is None else self.age_s)


COURSES = (
    *("learns", "solved", "flat", "collapse", "late-collapse", "dead-groups", "bimodal-groups", "hacking", "outage"),
    *("kl-up-score-up", "penalty-down-score-up", "entropy-dies", "truncates", "nan", "rise-and-fall", "spiky", "slow"),
    *("peak-then-half", "loss-only", "invariant-broken"),
)
CONTAINERS = ("jsonl", "csv", "verl-console", "trainer-state", "trl-console", "json-of-verl")
ENDS = ("finished", "crashed", "cut", "running")
ODD: dict[str, tuple[str, ...]] = {
    "every fifth row": CONTAINERS,
    "some metrics every fourth row": CONTAINERS,
    "several validation sets": CONTAINERS,
    "percent": CONTAINERS,
    "holes": CONTAINERS,
    "few metrics": CONTAINERS,
    "validation after the end": ("jsonl", "verl-console", "trl-console"),
    "resumed twice": ("jsonl", "csv", "verl-console", "json-of-verl"),
    "several attempts": ("jsonl", "verl-console", "json-of-verl"),
    "two files": ("verl-console", "trl-console"),
    "of some age": CONTAINERS,
}
"""What may be unusual about a log -> containers in which it is so."""
HOLES = 0.1
AGES_S = (5.0, 90.0, 400.0, 1500.0, 5000.0, 40000.0)
SELDOM = ("kl", "entropy", "grad_norm", "clip_frac")
FEW = ("score", "reward", "loss", "length", "val")


def draw(number: int, seed: int) -> Draw:
    """The `number`-th run of a seed. Every course and container comes round."""
    chance = random.Random(f"{seed}/{number}")
    course = COURSES[number % len(COURSES)]
    container = CONTAINERS[chance.randrange(len(CONTAINERS))]
    rows = chance.choice((3, 9, 24, 61, 120, 180, 260))
    if course not in ("learns", "flat", "loss-only"):
        rows = max(rows, 61)
    end = chance.choice(ENDS)
    plan = rows if end == "finished" else chance.choice((None, 2 * rows, 10 * rows))
    return Draw(
        name=f"w{number:02d}-{course}",
        course=course,
        container=container,
        rows=rows,
        plan=plan,
        end=end,
        resumed=chance.random() < 0.2 and rows > 60,
        saves=chance.choice((None, None, 20, 50)),
        validates=chance.choice((None, 10, 20)),
        step_s=chance.choice((0.5, 12.0, 190.0)),
        seed=seed * 1000 + number,
    )


def odd(number: int, seed: int) -> Draw:
    """The `number`-th run with something unusual about its log. Every oddity comes round."""
    chance = random.Random(f"odd/{seed}/{number}")
    name = list(ODD)[number % len(ODD)]
    plain = draw(chance.randrange(1000), seed)
    rows = max(61, plain.rows) * (3 if name == "every fifth row" else 1)
    return replace(
        plain,
        name=f"o{number:02d}-{name.replace(' ', '-')}-{plain.course}",
        odd=name,
        container=chance.choice(ODD[name]),
        rows=rows,
        plan=rows if plain.end == "finished" else chance.choice((None, 2 * rows)),
        resumed=False,
        validates=10 if "validation" in name else plain.validates,
        age_s=chance.choice(AGES_S) if name == "of some age" else None,
    )


def rows_of(d: Draw) -> Iterator[tuple[int, Row]]:
    """(step, values by canonical-like short name) of each row."""
    chance = random.Random(d.seed)
    n = d.rows
    for i in range(n):
        t, late = i / max(1, n - 1), max(0.0, (i / n - 0.6) / 0.4)

        def noise(scale: float) -> float:
            return chance.gauss(0, scale)

        reward, kl, entropy, length, cut = 0.2 + 0.5 * min(1, t / 0.8), 0.05 * t, 0.9 - 0.4 * t, 300 + 60 * t, 0.01
        dead, grad, val, penalty = 0.2 + 0.1 * t, 0.4, 0.3 + 0.3 * t, 0.01
        match d.course:
            case "solved":
                reward, dead, val = min(0.99, 0.3 + 3 * t), min(0.95, 0.2 + 2 * t), min(0.98, 0.35 + 2.5 * t)
            case "flat" | "slow":
                reward, val = 0.3, 0.3
            case "collapse":
                reward, val, entropy = reward * (t < 0.6), val * (t < 0.6), entropy + 3 * late
            case "late-collapse":
                reward *= t < 0.94
            case "dead-groups":
                dead = 0.3 + 0.69 * min(1, 2 * t)
            case "bimodal-groups":
                dead = 1.0 if chance.random() < 0.5 + 0.3 * late else 0.1
            case "hacking":
                reward, val, length = 0.2 + 0.75 * t, 0.5 - 0.4 * late, 300 + 900 * late
            case "outage":
                reward = 0.0 if 0.7 < t < 0.8 else reward
            case "kl-up-score-up":
                kl = 0.01 * math.exp(6 * t)
            case "penalty-down-score-up":
                kl, penalty = 0.3 + 2.5 * t, 0.3 + 2.5 * t
            case "entropy-dies":
                entropy, reward = 0.9 * math.exp(-6 * t), reward - 0.3 * late
            case "truncates":
                cut, reward = 0.02 + 0.8 * late, reward * (1 - 0.7 * late)
            case "rise-and-fall":
                reward, val = 0.2 + 0.6 * math.sin(math.pi * t), 0.3 + 0.3 * math.sin(math.pi * t)
            case "peak-then-half":
                reward = 0.1 + 0.8 * min(1, 3 * t) - 0.35 * (t > 0.55)
            case "spiky":
                grad = 40.0 if chance.random() < 0.03 else 0.4
        row: Row = {
            "score": min(1.0, max(0.0, reward + noise(0.03) * (d.course != "solved" or t < 0.3))),
            "kl": abs(kl + noise(0.002)),
            "entropy": max(0.0, entropy + noise(0.02)),
            "grad_norm": abs(grad * math.exp(noise(0.2))),
            "length": max(1.0, length * math.exp(noise(0.05))),
            "cut": min(1.0, max(0.0, cut + abs(noise(0.003)))),
            "dead": min(1.0, max(0.0, dead if d.course == "bimodal-groups" else dead + noise(0.03))),
            "loss": noise(0.01),
            "lr": 1e-6,
            "clip_frac": abs(0.01 + noise(0.003)),
            "step_time": d.step_s * (1 + (1.5 * late if d.course == "slow" else 0)) * math.exp(noise(0.04)),
            "spread": max(0.0, 0.3 + noise(0.02)),
            "adv_max": 1.8 + noise(0.05),
        }
        row["reward"] = row["score"] - penalty * (1.0 if d.course == "penalty-down-score-up" else 0.0) * 0.4
        row["adv_min"] = -row["adv_max"]
        if d.course == "nan" and t > 0.8:
            row["grad_norm"] = row["loss"] = math.nan
        if d.course == "invariant-broken" and t > 0.4:
            row["adv_max"], row["adv_min"] = 1e-6, -1e-6
        if d.validates is not None and i % d.validates == 0:
            row["val"] = min(1.0, max(0.0, val + noise(0.01)))
        if d.course == "loss-only":
            row = {name: row[name] for name in ("loss", "lr", "step_time")}
        if (told := _oddly(d, i, row, chance)) is not None:
            yield i + 1, told


def _oddly(d: Draw, i: int, row: Row, chance: random.Random) -> Row | None:
    """The row as this run's log has it, None if it is not logged."""
    match d.odd:
        case "every fifth row":
            return row if i % 5 == 4 else None
        case "some metrics every fourth row":
            return {name: value for name, value in row.items() if name not in SELDOM or i % 4 == 0}
        case "several validation sets" if "val" in row:
            return row | {"val_2": row["val"] * 0.6, "val_3": max(0.0, 0.5 - row["val"] / 2)}
        case "percent":
            return {name: value * (100 if name in ("score", "reward", "val") else 1) for name, value in row.items()}
        case "holes":
            return {name: math.nan if chance.random() < HOLES else value for name, value in row.items()}
        case "few metrics":
            return {name: value for name, value in row.items() if name in FEW}
    return row
