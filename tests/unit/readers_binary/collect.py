"""What a reader yielded, in a form that does not depend on how rows are spread over blocks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import isnan

from rltui.readers.base import Reader, Record, Rows

Steps = dict[int, dict[str, float]]
"""Step -> key -> value; NaN was logged as NaN or an infinity."""


def read(reader: Reader, data: bytes, cuts: Iterable[int] = ()) -> list[Record]:
    """All records of a file that is fed in the pieces between the cuts."""
    edges = [0, *sorted(c for c in cuts if c <= len(data)), len(data)]
    out: list[Record] = []
    for begin, end in pairwise(edges):
        out += reader.feed(data[begin:end])
    return out + reader.finish()


def by_step(records: list[Record]) -> Steps:
    """Cells by step, a later row of the same step over an earlier one."""
    steps: Steps = {}
    for block in records:
        if not isinstance(block, Rows):
            continue
        assert len(block.times) == len(block)
        for key, values in block.values.items():
            assert len(values) == len(block)
            unfit = set(block.nonfinite.get(key, ()))
            for i, value in enumerate(values):
                if value == value or i in unfit:
                    steps.setdefault(block.steps[i], {})[key] = value
    return steps


def rows(records: list[Record]) -> list[tuple[int, float | None, dict[str, str]]]:
    """Rows in order, as step, time and cells in comparable form; consecutive rows of one step are one."""
    out: list[tuple[int, float | None, dict[str, str]]] = []
    for block in records:
        if not isinstance(block, Rows):
            continue
        for i, step in enumerate(block.steps):
            cells = {k: repr(v[i]) for k, v in block.values.items() if v[i] == v[i]}
            cells |= {k: "nan" for k, bad in block.nonfinite.items() if i in bad}
            time = None if isnan(block.times[i]) else block.times[i]
            if out and out[-1][0] == step:
                out[-1] = (step, time if time is not None else out[-1][1], out[-1][2] | cells)
            else:
                out.append((step, time, cells))
    return out


def others(records: list[Record]) -> list[Record]:
    return [r for r in records if not isinstance(r, Rows)]
