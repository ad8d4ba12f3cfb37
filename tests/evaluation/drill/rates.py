"""Counts over many courses: what each rule and the verdict did. `rltui/rules/error_rates.py` says what is counted.

A fault may have several right rules (one that falls at once and one that declines are both right of a fall), so each of
them has all runs of that fault among its own, and says beside in how many another one spoke instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec

from rltui.data_files import Record
from rltui.rules.error_rates import ErrorRates, RuleRates, VerdictRates
from tests.evaluation.drill.measure import LOOKS, Course

HOW = (
    "Runs of metrics that a program writes, each of another length, noise, scale of reward, way of logging and set of "
    "metrics, healthy or with one fault at a known step. Each grows before the diagnosis, which is asked at even "
    "distances. No rule was tuned on these seeds."
)


def measured(courses: Sequence[Course]) -> ErrorRates:
    """Of whole rounds: as many courses of each fault, their seeds counting up."""
    seeds = [c.world.seed for c in courses]
    kinds = len({c.fault for c in courses})
    command = f"python -m tests.evaluation drill --from {seeds[0]} --seeds {len(courses) // kinds} --write"
    known = {r for c in courses for r in c.truth.rules} | {r for c in courses for g in c.glances for r in g.loud}
    rules = {rule: of_rule(rule, courses) for rule in sorted(known)}
    return ErrorRates(HOW, command, seeds[0], len(courses), kinds, LOOKS, of_verdict(courses), rules)


def of_rule(rule: str, courses: Sequence[Course]) -> RuleRates:
    able = [c for c in courses if rule not in c.unable]
    planted = [c for c in able if rule in c.truth.rules]
    delays = [rows for c in planted if (rows := c.found(frozenset({rule}))) is not None]
    return RuleRates(
        planted=len(planted),
        found=len(delays),
        named=sum(c.found() is not None for c in planted),
        unable=sum(rule in c.truth.rules for c in courses) - len(planted),
        median_rows=float(median(delays)) if delays else None,
        false_alarms=sum(c.false_alarms().count(rule) for c in able),
        healthy_steps=sum(c.well_steps() for c in able),
        false_resolves=sum(c.false_resolves() for c in planted),
    )


def of_verdict(courses: Sequence[Course]) -> VerdictRates:
    planted = [c for c in courses if c.truth.rules and not c.truth.clear]
    delays = [rows for c in planted if (rows := c.found()) is not None]
    return VerdictRates(
        planted=len(planted),
        named=len(delays),
        median_rows=float(median(delays)) if delays else None,
        false_alarms=sum(len(c.false_alarms()) for c in courses),
        healthy_steps=sum(c.well_steps() for c in courses),
        false_resolves=sum(c.false_resolves() for c in courses),
        false_clears=sum(c.false_clear() for c in courses),
        false_stops=sum(c.false_stop() for c in courses),
        calm=sum(not c.truth.stop for c in courses),
        flips=sum(c.flips() for c in courses),
    )


def write(told: Record | dict[str, Record], file: Path) -> None:
    file.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")
