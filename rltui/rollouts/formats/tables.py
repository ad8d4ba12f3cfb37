"""W&B tables (`media/table/*.table.json`): one row a sample, or verl's `val/generations` with many samples in a row."""

from __future__ import annotations

import re
from typing import Any

import orjson

from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Block, Raw

_WIDE = re.compile(r"(.+?)_(\d+)")


def read(data: bytes) -> Block:
    """The samples of a W&B table. Raises ValueError with the reason where it is none."""
    try:
        table = orjson.loads(data)
        columns, rows = table["columns"], table["data"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise ValueError("not a W&B table") from None
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise ValueError("not a W&B table")
    names = [str(column) for column in columns]
    wide = _wide(names)

    def parse(row: Any) -> list[Raw]:
        record = dict(zip(names, row, strict=True))
        if not wide:
            found = fields.raw(record)
            return [] if found is None else [found]
        shared = {name: value for name, value in record.items() if not _WIDE.fullmatch(name)}
        samples = [fields.raw({**shared, **{key: record[name] for key, name in one.items()}}) for one in wide]
        return [sample for sample in samples if sample is not None]

    return Block(rows, parse)


def is_cumulative(head: bytes) -> bool:
    """verl's validation table holds all earlier steps again each time: of those files only the newest says all."""
    return b'"input_1"' in head[:4096] and b'"output_1"' in head[:4096]


def _wide(names: list[str]) -> list[dict[str, str]]:
    """Of columns `input_1, output_1, score_1, input_2, ...`, for each number its columns by their bare names."""
    numbered: dict[int, dict[str, str]] = {}
    for name in names:
        if match := _WIDE.fullmatch(name):
            numbered.setdefault(int(match[2][:9]), {})[match[1]] = name
    return [numbered[n] for n in sorted(numbered) if len(numbered[n]) > 1]
