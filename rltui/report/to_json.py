"""A report as strict JSON: keys in the order of `schema.json`, the same bytes for the same report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import floor, isfinite, log10

from rltui.records import is_record, names
from rltui.report.answer import answer
from rltui.report.model import ConfigEntry, Report

DIGITS = 6
"""The significant digits of a number: finer than any trainer's noise, and few enough to be equal on all machines."""

FIRST_KEYS = (
    "schema",
    "as_of",
    "run",
    "config",
    "verdict",
    "answer",
    "findings",
    "metrics",
    "phases",
    "pipeline",
    "hardware",
    "rollouts",
    "coverage",
    "moved",
    "checks_failed",
    "unknowns",
)


NOT_WRITTEN = ("at_step", "machine", "recording")
"""The fields that are left out: what the report is built from, and what only screens show."""


def to_json(report: Report) -> str:
    """One JSON object and a line end. Numbers that are not finite are null; see `rounded` for the rest."""
    return dumps(to_dict(report))


def dumps(value: object) -> str:
    """Strict JSON text of plain values, for one report or a list of them."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def to_dict(report: Report) -> dict[str, object]:
    """The report as plain values (dict, list, str, int, float, bool, None)."""
    plain = {name: plain_of(getattr(report, name)) for name in names(report) if name not in NOT_WRITTEN}
    plain["other_config"] = {_text(key): _as_written(value) for key, value in report.other_config.items()}
    plain["not_evaluable"] = [
        {"title": _text(title), "needs": _text(needs), "enable": _text(enable)}
        for title, needs, enable in report.not_evaluable
    ]
    plain["not_applicable"] = [{"title": _text(title), "why": _text(why)} for title, why in report.not_applicable]
    plain["answer"] = plain_of(answer(report).as_dict())
    return {key: plain.pop(key) for key in FIRST_KEYS} | plain


def rounded(x: float) -> float | None:
    """The number with six significant digits, never coarser than 1 (a time stamp keeps its seconds); None if it is not
    finite."""
    if not isfinite(x):
        return None
    if x == 0:
        return 0.0
    return round(x, max(0, DIGITS - 1 - floor(log10(abs(x)))))


def plain_of(value: object) -> object:
    """A value as JSON has it (dict, list, str, int, float, bool, None); a record by its fields."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return rounded(value)
    if isinstance(value, ConfigEntry):
        head = {"value": _as_written(value.value)}
        return head | {name: plain_of(getattr(value, name)) for name in names(value) if name != "value"}
    if is_record(value):
        return {name: plain_of(getattr(value, name)) for name in names(value)}
    if isinstance(value, Mapping):
        return {_text(str(key)): plain_of(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain_of(item) for item in value]
    return _text(str(value))


def _as_written(value: object) -> object:
    """A config value to its last digit: 0.30000001 in a config is meant."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {_text(str(key)): _as_written(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_as_written(item) for item in value]
    return plain_of(value)


def _text(text: str) -> str:
    """Half a surrogate pair (from a byte that is not UTF-8) cannot be written: it becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
