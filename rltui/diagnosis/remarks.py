"""Remarks: moves of metrics, alone and together, that published guides call findings.

Here they are lines beside a rule's own evidence, never findings: each names the rule that it belongs to. A metric has
moved only where the change stands out of its own noise, where it follows the step, and where it is large enough; the
limits of share and correlation are the guides' own, the noise floor is ours (a correlation above .4 appears in a third
of short series in which nothing happens).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import orjson

from rltui.diagnosis.look import Look
from rltui.diagnosis.shapes import window_rows
from rltui.diagnosis.signal import num, percent
from rltui.diagnosis.trends import sd_d
from rltui.run.medians import median
from rltui.run.table import Floats

LEAST = 20  # points
CORRELATION = 0.4  # with the step
ERRORS = 4.0  # standard errors between first and last window
GAIN = 2.0  # sd of the noise that count as gain
SIGNS = {"rises": 1, "falls": -1}


@dataclass(frozen=True, slots=True)
class Remark:
    """`rule` is the rule that the line belongs to; `text` says what moved, with its numbers, and how it reads."""

    id: str
    rule: str
    metrics: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Move:
    """A metric that moved: means of the first and last window in its own unit."""

    metric: str
    first: float
    last: float

    @property
    def text(self) -> str:
        """`kl_ref 0.01 → 0.05 (+400 %)`."""
        share = (
            f" ({'+' if self.last > self.first else '−'}{percent(abs(self.share))})" if self.share is not None else ""
        )
        return f"{self.metric} {num(self.first)} → {num(self.last)}{share}"

    @property
    def share(self) -> float | None:
        """Change as a share of the first window, None where that is 0."""
        return None if self.first == 0 else (self.last - self.first) / abs(self.first)


@lru_cache(maxsize=1)
def _catalogue() -> tuple[dict[str, Any], ...]:
    data = orjson.loads((files("rltui.diagnosis") / "data" / "remarks.json").read_bytes())
    return tuple(data["remarks"])


def remarks(look: Look) -> tuple[Remark, ...]:
    """Every remark that holds for these rows, in the order of the catalogue."""
    out: dict[str, Remark] = {}
    for entry in _catalogue():
        if entry.get("unless") in out:
            continue
        if entry.get("only_kl_in") not in (None, look.settings.kl_where):
            continue
        moves = [moved(look, name, way, share) for name, way, share in entry["moves"]]
        seen = [m for m in moves if m is not None]
        if len(seen) < len(moves) or not _still(look, entry.get("without_gain_of")):
            continue
        reading = entry.get("kl_in", {}).get(look.settings.kl_where, entry["text"])
        text = f"{'; '.join(m.text for m in seen)}: {reading}"
        out[entry["id"]] = Remark(entry["id"], entry["rule"], tuple(m.metric for m in seen), text)
    return tuple(out.values())


def moved(look: Look, name: str, way: str, share: float) -> Move | None:
    """The move of a metric this way, by at least `share` of its first window; None where noise explains it."""
    series = look.series(name)
    if series is None or len(series) < LEAST:
        return None
    x, sign = series.values, SIGNS[way]
    w = window_rows(len(x))
    move = Move(name, float(x[:w].mean()), float(x[-w:].mean()))
    if sign * (move.last - move.first) <= 0 or sign * look.change(name) < ERRORS:
        return None
    if share and (move.share is None or abs(move.share) <= share):
        return None
    return move if sign * _correlation(x) > CORRELATION else None


def _still(look: Look, name: str | None) -> bool:
    """The metric, where one is named, is logged and stands where it began. A gain of the first rows is a gain."""
    if name is None:
        return True
    x = look.values(name)
    return len(x) >= LEAST and median(x[-LEAST:]) - median(x[:5]) < GAIN * sd_d(x)


def _correlation(x: Floats) -> float:
    d, t = x - x.mean(), np.arange(len(x)) - (len(x) - 1) / 2
    scale = float(np.sqrt((d * d).sum() * (t * t).sum()))
    return float((d * t).sum()) / scale if scale > 0 else 0.0
