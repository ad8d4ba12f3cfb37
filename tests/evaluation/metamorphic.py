"""The same run, told otherwise: does the verdict change?

    python -m tests.evaluation metamorphic [--every N] [--part K] [--jobs J] [-v] [--runs DIR]

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
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rltui.discovery.found import NotARun
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


def slower(t: Telling) -> Telling:
    """Everything takes ten times as many steps: between two rows nine more, on the line between the running medians,
    each with the noise of a row near it, the same row for equal metrics. What is exactly 0 there stays so, and no value
    leaves the range of the rows near it: a gradient below 0, or one that is almost 0, would be another run's."""
    rng = np.random.default_rng(3)
    n = len(t.rows)
    keys = [k for k in dict.fromkeys(k for row in t.rows for k in row) if k not in ("step", "timestamp")]
    rows: list[Row] = [{"step": t.rows[0]["step"] * 10 + i} for i in range(10 * (n - 1) + 1)]
    draws: list[tuple[list[int], np.ndarray, np.ndarray]] = []
    for k in keys:
        at = [i for i, row in enumerate(t.rows) if k in row]
        x = np.array([t.rows[i][k] for i in at], float)
        if len(at) < SPARSE * n or not np.isfinite(x).all():
            for i, v in zip(at, x, strict=True):
                rows[10 * i][k] = float(v)
            continue
        drawn = next((d for where, y, d in draws if where == at and np.allclose(x, y, rtol=SAME, atol=SAME)), None)
        if drawn is None:
            drawn = rng.integers(-2, 3, len(rows))
            draws.append((at, x, drawn))
        wide = np.concatenate((x[:2], x, x[-2:]))
        course = np.array([np.median(wide[i : i + 5]) for i in range(len(x))])
        noise = x - course
        around = np.lib.stride_tricks.sliding_window_view(wide, 5)
        low, high = around.min(axis=1), around.max(axis=1)
        places = np.array(at) * 10
        for i in range(places[0], places[-1] + 1):
            near = int(np.clip(np.searchsorted(places, i) + drawn[i], 0, len(x) - 1))
            value = float(np.clip(np.interp(i, places, course) + noise[near], low[near], high[near]))
            rows[i][k] = 0.0 if x[near] == 0.0 else value
    steps = [round(np.interp(i, np.arange(n) * 10, [10 * row["step"] for row in t.rows])) for i in range(len(rows))]
    for row, step in zip(rows, steps, strict=True):
        row["step"] = step
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


def one(path: Path) -> dict[str, tuple[Said, Said]] | None:
    """For each change: what is said of the plain telling, and of the changed one."""
    plain = telling(path)
    if plain is None:
        return None
    out = {}
    with tempfile.TemporaryDirectory() as scratch:
        write(plain, Path(scratch) / "plain")
        before = said(Path(scratch) / "plain")
        values = [row[k] for row in plain.rows for k in plain.named(TOTAL[:2]) if k in row]
        varies = len(set(values)) > 1
        for i, (name, change) in enumerate(CHANGES.items()):
            if name == "reward + 1" and not varies:
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
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args(words)
    labels = [orjson.loads(line) for line in (args.runs / "LABELS.jsonl").read_bytes().splitlines()]
    paths = [args.runs / label["path"] for label in labels[args.part :: args.every]]
    with ProcessPoolExecutor(args.jobs) as pool:
        results = list(zip(paths, pool.map(one, paths), strict=True))
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
