"""The same run, told otherwise: does the verdict change?

    python -m tests.evaluation metamorphic [--every N] [--part K] [--change NAME] [--jobs J] [-v] [--runs DIR]

Each labelled run is read, written again as JSONL with its config beside it (the plain telling), and once more for each
change below. Changes that leave the run what it is must leave the decision and the loud findings what they are.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rltui.discovery.found import NotARun
from rltui.frameworks.resolve import resolve
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conftest import labelled_runs

Row = dict[str, Any]
TOTAL = ("score_mean", "reward_mean", "score_min", "score_max", "reward_min", "reward_max")
PARTS = ("reward_component_mean",)
SPREAD = ("reward_std",)
SAME = 1e-4
SPARSE = 0.4
"""A metric in fewer rows than this share is told again beside the next kept row when rows are left out."""


@dataclass(frozen=True)
class Telling:
    """Rows of a run with the raw key of each metric, what the keys mean, and the config."""

    rows: list[Row]
    meaning: dict[str, str]
    config: dict[str, Any]

    def named(self, names: tuple[str, ...]) -> list[str]:
        return [k for k, canonical in self.meaning.items() if canonical.split(":")[0] in names]


Change = Callable[[Telling], Telling]


def _each(t: Telling, do: Callable[[Row, int], Row]) -> Telling:
    return Telling([do(dict(row), i) for i, row in enumerate(t.rows)], t.meaning, t.config)


def _numbers(row: Row, do: Callable[[str, float], float]) -> Row:
    return {k: do(k, v) if k not in ("step", "timestamp") and isinstance(v, float) else v for k, v in row.items()}


def _with_copies(t: Telling, keys: list[str]) -> set[str]:
    """Also the columns that hold the same numbers as one of these but for rounding, and not one and the same: an
    advantage that is the reward itself goes with it."""
    names = dict.fromkeys(k for row in t.rows for k in row)
    columns = {k: np.array([row.get(k, np.nan) for row in t.rows], float) for k in names}
    vary = {k for k, x in columns.items() if len(set(x[~np.isnan(x)])) > 1}
    alike = {k for k in vary for r in keys if np.allclose(columns[k], columns[r], rtol=SAME, atol=SAME, equal_nan=True)}
    for group in ("advantage", "return"):  # their means may be of tokens
        if alike.intersection(t.named((f"{group}_min", f"{group}_max"))):
            alike |= set(t.named((f"{group}_mean", f"{group}_min", f"{group}_max")))
    return {*keys, *alike}


def scaled(times: float) -> Change:
    def change(t: Telling) -> Telling:
        keys = _with_copies(t, t.named(TOTAL + PARTS + SPREAD))
        return _each(t, lambda row, _: _numbers(row, lambda k, v: v * times if k in keys else v))

    return change


def shifted(by: float) -> Change:
    """The total alone: it would move by as many times more if each of its parts did."""

    def change(t: Telling) -> Telling:
        keys = _with_copies(t, t.named(TOTAL))
        return _each(t, lambda row, _: _numbers(row, lambda k, v: v + by if k in keys else v))

    return change


def rounded(t: Telling) -> Telling:
    def short(_: str, v: float) -> float:
        return float(f"{v:.4g}") if math.isfinite(v) else v

    return _each(t, lambda row, _: _numbers(row, short))


def noisy(t: Telling) -> Telling:
    """Values that move by themselves move by another 1e-4 of themselves."""
    rng = np.random.default_rng(1)

    def do(_: str, v: float) -> float:
        return v * (1 + 1e-4 * float(rng.standard_normal())) if not float(v).is_integer() else v

    return _each(t, lambda row, _: _numbers(row, do))


def thinned(t: Telling) -> Telling:
    """Every second row. What is logged now and then stands beside the next row that is kept."""
    count: dict[str, int] = {}
    for row in t.rows:
        for k in row:
            count[k] = count.get(k, 0) + 1
    sparse = {k for k, n in count.items() if n < SPARSE * len(t.rows)}
    out: list[Row] = []
    carried: Row = {}
    for i, row in enumerate(t.rows):
        carried |= {k: v for k, v in row.items() if k in sparse}
        if i % 2 == 1 or i == len(t.rows) - 1:
            out.append({**row, **carried})
            carried = {}
    return Telling(out, t.meaning, t.config)


PLANNED = ("max_steps", "total_training_steps", "total_steps", "planned_steps", "num_steps", "save_steps", "eval_steps")


def stretched(t: Telling) -> Telling:
    """Each row ten times as far from the one before: logged every ten steps."""
    config = {
        k: v * 10 if k.split(".")[-1] in PLANNED and isinstance(v, int | float) else v for k, v in t.config.items()
    }
    rows = [{**row, "step": row["step"] * 10} for row in t.rows]
    return Telling(rows, t.meaning, config)


TIMES = 10
WIDTHS = (5, 9, 17, 33, 65)
"""Rows of a running median, of which each metric takes the one that tells its rows best from those around them."""
AT_ONCE = 4.0
"""A move from row to row is a jump if it is so many times the noise, and twice all moves beside it."""


def _course(x: np.ndarray) -> tuple[np.ndarray, int]:
    """Running median of the width that tells a row best without that row, and half of the width. A narrow one would
    take noise for course, and ten rows for each of its bends make a wander of it that the run does not have."""
    found = []
    for width in WIDTHS[: max(1, sum(2 * w <= len(x) for w in WIDTHS))]:
        others = _medians(x, width // 2, without=True)
        found.append((float(np.abs(x - others).mean()), width // 2))
    half = min(found)[1]
    return _medians(x, half), half


def _medians(x: np.ndarray, half: int, without: bool = False) -> np.ndarray:
    """Medians of `half` rows on each side, fewer towards both ends; `without` the row itself."""
    n, out = len(x), np.empty(len(x))
    for i in [*range(min(half, n)), *range(max(half, n - half), n)]:
        h = max(2, min(half, i, n - 1 - i))
        around = x[max(0, i - h) : i + h + 1]
        out[i] = np.median(np.delete(around, min(i, h)) if without else around)
    if n > 2 * half:
        wide = np.lib.stride_tricks.sliding_window_view(x, 2 * half + 1)
        out[half : n - half] = np.median(np.delete(wide, half, axis=1) if without else wide, axis=1)
    return out


def _jumps(course: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Between which neighbours the course jumps: what changed from one row to the next does so here too."""
    moves = np.abs(np.diff(course))
    beside = np.convolve(moves, (1, 1, 0, 1, 1))[2:-2] if len(moves) else moves
    return (moves > AT_ONCE * float(np.std(noise))) & (moves > 2 * beside)


def slower(t: Telling) -> Telling:
    """Everything takes ten times as many steps, and each row is as noisy as before. Of each metric the course is
    stretched, and the noise is that of rows nearby, some in a row as they stood. What is exactly 0, or no number, there
    stays so, and no value leaves the range of the rows nearby."""
    rng = np.random.default_rng(3)
    n = len(t.rows)
    keys = [k for k in dict.fromkeys(k for row in t.rows for k in row) if k not in ("step", "timestamp")]
    rows: list[Row] = [{"step": t.rows[0]["step"] * TIMES + i} for i in range(TIMES * (n - 1) + 1)]
    draws = rng.uniform(-1, 1, len(rows))
    for k in keys:
        at = [i for i, row in enumerate(t.rows) if k in row]
        x = np.array([t.rows[i][k] for i in at], float)
        finite = np.isfinite(x)
        if len(at) < max(SPARSE * n, 3) or finite.sum() < 3:
            for i, v in zip(at, x, strict=True):
                rows[TIMES * i][k] = float(v)
            continue
        told = np.where(finite, x, np.interp(at, np.array(at)[finite], x[finite]))
        course, half = _course(told)
        noise = told - course
        places = np.arange(TIMES * at[0], TIMES * at[-1] + 1)
        where = np.interp(places / TIMES, at, np.arange(len(x)))
        length = min(TIMES, 2 * half + 1)
        first = (places // length) * length
        begin = np.interp(first / TIMES, at, np.arange(len(x))) + half * draws[first]
        own = np.round(where).astype(int)
        jumps = _jumps(course, noise)
        level = np.concatenate(([0], np.cumsum(jumps)))
        low, high = (np.searchsorted(level, level[own], side) for side in ("left", "right"))
        near = np.clip(np.round(begin).astype(int) + places - first - length // 2, low, high - 1)
        wide = np.lib.stride_tricks.sliding_window_view(np.pad(told, half, mode="edge"), 2 * half + 1)
        left = np.minimum(where.astype(int), len(x) - 2)
        part = np.where(jumps[left], np.round(where - left), where - left)
        value = course[left] + part * (course[left + 1] - course[left]) + noise[near]
        value = np.clip(value, wide.min(axis=1)[own], wide.max(axis=1)[own])
        value = np.where(told[near] == 0.0, 0.0, value)
        value = np.where(finite[own], value, x[own])
        for i, v in zip(places.tolist(), value.tolist(), strict=True):
            rows[i][k] = v
    steps = np.round(np.interp(np.arange(len(rows)), np.arange(n) * TIMES, [TIMES * row["step"] for row in t.rows]))
    for row, step in zip(rows, steps.tolist(), strict=True):
        row["step"] = int(step)
    return Telling(rows, t.meaning, stretched(t).config)


def offset(t: Telling) -> Telling:
    return Telling([{**row, "step": row["step"] + 1000} for row in t.rows], t.meaning, t.config)


def foreign(t: Telling) -> Telling:
    """Columns that mean nothing to anybody, one of them wild."""
    rng = np.random.default_rng(2)
    return _each(
        t, lambda row, i: {**row, "my/counter": float(i), "zz_blob": float(rng.standard_normal() * 1e3), "flag_x": 1.0}
    )


CHANGES: dict[str, Change] = {
    "reward x 10": scaled(10.0),
    "reward / 10": scaled(0.1),
    "reward + 1": shifted(1.0),
    "rounded to 4 digits": rounded,
    "noise of 1e-4": noisy,
    "every 2nd row": thinned,
    "steps x 10": stretched,
    "ten times as slow": slower,
    "steps + 1000": offset,
    "foreign columns": foreign,
    "as CSV": lambda t: t,
}


def telling(path: Path) -> Telling | None:
    """What rltui reads of a run; None if that is nothing."""
    try:
        opened = RunReader(locate([str(path)])[0])
    except NotARun:
        return None
    try:
        opened.load()
        run, table = opened.run, opened.run.history.table
        if table.n < 5:
            return None
        rows: list[Row] = [{"step": int(s)} for s in table.steps]
        for row, at in zip(rows, table.times, strict=True):
            if math.isfinite(at):
                row["timestamp"] = float(at)
        for key in table.columns:
            series = table.series(key)
            if series is None:
                continue
            for i, v in zip(series.rows, series.values, strict=True):
                rows[int(i)][key] = float(v)
        meaning = {key: canonical for canonical, keys in run.keys.items() for key in keys}
        config = {k: v.value for k, v in run.raw_config.items()}
        return Telling(rows, meaning, config)
    finally:
        opened.close()


def write(t: Telling, folder: Path, csv: bool = False) -> None:
    folder.mkdir(parents=True)
    if t.config:
        (folder / "config.json").write_bytes(orjson.dumps(t.config, option=orjson.OPT_SERIALIZE_NUMPY, default=str))
    if csv:
        keys = list(dict.fromkeys(k for row in t.rows for k in row))
        lines = [",".join(keys)]
        lines += [",".join(repr(row[k]) if k in row else "" for k in keys) for row in t.rows]
        (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    else:
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in t.rows))


@dataclass(frozen=True)
class Said:
    decision: str
    loud: frozenset[str]


def said(folder: Path) -> Said:
    opened = RunReader(locate([str(folder)])[0])
    try:
        opened.load()
        d = opened.diagnosis()
        return Said(
            d.verdict.decision, frozenset(f.id for f in d.findings if f.status == "active" and f.severity != "info")
        )
    finally:
        opened.close()


def one(path: Path, only: tuple[str, ...] = ()) -> dict[str, tuple[Said, Said]] | None:
    """For each change, or only these: what is said of the plain telling, and of the changed one."""
    plain = telling(path)
    if plain is None:
        return None
    out = {}
    with tempfile.TemporaryDirectory() as scratch:
        write(plain, Path(scratch) / "plain")
        before = said(Path(scratch) / "plain")
        names = plain.named(TOTAL[:2])
        values = [row[k] for row in plain.rows for k in names if k in row]
        varies = len(set(values)) > 1 and all(resolve(k, None).scale == 1.0 for k in names)  # 190 in a hundred is none
        for i, (name, change) in enumerate(CHANGES.items()):
            if (only and name not in only) or (name == "reward + 1" and not varies):
                continue
            folder = Path(scratch) / f"run{i}"
            write(change(plain), folder, csv=name == "as CSV")
            try:
                out[name] = before, said(folder)
            except NotARun:
                out[name] = before, Said("not a run", frozenset())
    return out


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation metamorphic", description=__doc__)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--runs", type=Path, default=labelled_runs())
    parser.add_argument("--change", action="append", choices=list(CHANGES), default=[])
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args(words)
    labels = [orjson.loads(line) for line in (args.runs / "LABELS.jsonl").read_bytes().splitlines()]
    paths = [args.runs / label["path"] for label in labels[args.part :: args.every]]
    with ProcessPoolExecutor(args.jobs) as pool:
        results = list(zip(paths, pool.map(partial(one, only=tuple(args.change)), paths), strict=True))
    print("| change | runs | same decision | same loud findings |\n|---|---|---|---|")
    for name in CHANGES:
        pairs = [r[name] for _, r in results if r is not None and name in r]
        if not pairs:
            continue
        same = sum(a.decision == b.decision for a, b in pairs)
        loud = sum(a.loud == b.loud for a, b in pairs)
        print(f"| {name} | {len(pairs)} | {same} ({same / len(pairs):.1%}) | {loud} ({loud / len(pairs):.1%}) |")
    if args.v:
        for path, r in results:
            for name, (a, b) in (r or {}).items():
                if a != b:
                    gone, new = sorted(a.loud - b.loud), sorted(b.loud - a.loud)
                    print(f"{path.name}, {name}: {a.decision} -> {b.decision}; gone {gone}, new {new}")
