"""Small runs around the thresholds of each rule, and what the rule says of each.

They were drawn at random (`tests.mutants.search`) and kept where a wrong threshold, window or comparison makes the rule
say something else. `GROUP.jsonl` holds one a line: the rule, courses of its metrics, settings, other findings that are
open, the level at each look, and what a reader is told at the last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rltui.evidence.look import Look
from rltui.rules.base import REGISTERED, Detect
from rltui.rules.catalogue import rules
from tests.unit.rules.given import NONE, N, Rows, feed_of

HERE = Path(__file__).parent
LOOKS = (5, 14, 30, 60, 100, 150, 200, 250, 275, N)
T = np.arange(N)


@dataclass(frozen=True)
class Course:
    """A metric: `start` until row `at`, `end` from `at + over` on, with `noise` parts of its size; logged every so many
    rows, and no more from row `until` on; spikes of so many times its size at some `rows`, or NaN there if `times` is
    0."""

    start: float
    end: float
    at: int = 0
    over: int = 1
    noise: float = 0.0
    every: int = 1
    rows: tuple[int, ...] = ()
    times: float = 1.0
    until: int = N

    def values(self, seed: int) -> list[float | None]:
        x = self.start + (self.end - self.start) * np.clip((T - self.at) / max(1, self.over), 0, 1)
        x = x * (1 + self.noise * np.random.default_rng(seed).standard_normal(N))
        x[list(self.rows)] *= self.times or np.nan
        return [float(v) if i % self.every == 0 and i < self.until else None for i, v in enumerate(x)]


@dataclass(frozen=True)
class Context:
    """`absent`: metrics of the run that learns, over which the courses are laid, that this one does not log."""

    rule: str
    courses: dict[str, Course]
    settings: dict[str, Any] = field(default_factory=dict)
    opened: dict[str, int] = field(default_factory=dict)
    framework: str = "verl"
    algorithm: str = "GRPO"
    planned: int | None = None
    restarts: tuple[int, ...] = ()
    absent: tuple[str, ...] = ()

    def rows(self) -> Rows:
        columns = dict.fromkeys(self.absent, NONE) | {
            name: course.values(n) for n, (name, course) in enumerate(self.courses.items())
        }
        return Rows(columns, self.settings, self.opened, self.framework, self.algorithm, self.planned, self.restarts)


class Says:
    """What a detector says of a context, look after look: its level, "-" if it cannot look; at the end its onset and
    its words."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.feed = feed_of(context.rows().run())

    def of(self, detect: Detect[Look], page: dict[str, float] | None = None) -> str:
        memory: dict[str, float] = {}
        rule = rules()[self.context.rule]
        page = rule.values() if page is None else page
        out, worst = "", None
        for n in LOOKS:
            look = Look(self.feed, n, self.context.opened)
            able = all(any(map(self.feed.holds, group)) for group in rule.needs)
            found = detect(look, page, memory) if able else []
            worst = max(found, key=lambda s: s.level, default=None)
            out += "-" if not able else "0" if worst is None else str(worst.level)
        if worst is None:
            return out
        since = "" if worst.onset_step is None else f" since {worst.onset_step}"
        proofs = "; ".join(f"{metric} {text}".strip() for metric, text in worst.proofs)
        return f"{out}{since}: {worst.said} ({proofs})"


def read_line(text: str) -> tuple[Context, str]:
    """A kept context, and what its rule says of it."""
    told = json.loads(text)
    says = told.pop("says")
    courses = {
        name: Course(**course | {"rows": tuple(course.get("rows", ()))}) for name, course in told["courses"].items()
    }
    rows = {key: tuple(told.get(key, ())) for key in ("restarts", "absent")}
    return Context(**told | {"courses": courses} | rows), says


def kept() -> dict[str, list[tuple[Context, str]]]:
    """Rule -> its contexts, and what it says of them."""
    out: dict[str, list[tuple[Context, str]]] = {}
    for path in sorted(HERE.glob("*.jsonl")):
        for text in path.read_text(encoding="utf-8").splitlines():
            context, says = read_line(text)
            out.setdefault(context.rule, []).append((context, says))
    return out


def line(context: Context, says: str) -> str:
    """One line of a file; what is as usual is left out."""
    usual = Context("", {})
    told: dict[str, Any] = {"rule": context.rule, "courses": {}}
    for name, course in context.courses.items():
        plain = Course(course.start, course.end)
        told["courses"][name] = {
            k: v for k, v in vars(course).items() if k in ("start", "end") or v != getattr(plain, k)
        }
    told |= {k: v for k, v in vars(context).items() if k not in ("rule", "courses") and v != getattr(usual, k)}
    return json.dumps(told | {"says": says})


def write() -> None:
    """Says of every kept context what its rule says of it now."""
    detect = {one.rule: one.detect for one in REGISTERED if one.sees is Look}
    texts: dict[str, list[str]] = {}
    for path in sorted(HERE.glob("*.jsonl")):
        for text in path.read_text(encoding="utf-8").splitlines():
            context = read_line(text)[0]
            texts.setdefault(path.stem, []).append(line(context, Says(context).of(detect[context.rule])))
    for group, lines in texts.items():
        (HERE / f"{group}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
