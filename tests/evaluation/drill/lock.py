"""A small sample of the drill that is measured in every test run: no rule may become worse on it.

The sample is one run of each fault, with seeds that neither tuning nor the shipped rates have seen. `lock.json` holds
what each rule and the verdict did on them when it was written; better is always allowed. After a change that is meant:

    python -m tests.evaluation drill --lock
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rltui.data_files import Record, read
from tests.evaluation.drill.faults import FAULTS
from tests.evaluation.drill.measure import LOOKS, Course, course

FILE = Path(__file__).with_name("lock.json")
FIRST_SEED = 8000
SLOWER = 2
"""A fault may be found after so many times the rows, or one look later if that is more."""


class Locked(Record):
    """One run. `found`: rule that names the fault -> rows with the fault until it spoke; `look`: rows between looks;
    `false_alarms`: rule -> how often; the others as the drill counts them."""

    seed: int
    look: int
    found: dict[str, int]
    false_alarms: dict[str, int]
    false_resolves: int
    false_stop: bool
    false_clear: bool


def locked() -> dict[str, Locked]:
    return read(FILE, dict[str, Locked])


def now() -> dict[str, Locked]:
    """The sample as the diagnosis does on it today."""
    return {fault: seen(course(fault, FIRST_SEED + i)) for i, fault in enumerate(FAULTS)}


def seen(c: Course) -> Locked:
    return Locked(
        seed=c.world.seed,
        look=-(-c.rows // LOOKS),
        found={rule: rows for rule in sorted(c.truth.rules) if (rows := c.found(frozenset({rule}))) is not None},
        false_alarms=dict(Counter(c.false_alarms())),
        false_resolves=c.false_resolves(),
        false_stop=c.false_stop(),
        false_clear=c.false_clear(),
    )


def worse(was: Locked, found: Locked) -> Iterator[str]:
    """What is worse than it was, rule by rule."""
    for rule, rows in was.found.items():
        late = found.found.get(rule)
        if late is None:
            yield f"{rule} no longer finds it (it did after {rows} rows)"
        elif late > max(SLOWER * rows, rows + was.look):
            yield f"{rule} finds it after {late} rows (it did after {rows})"
    for rule, times in found.false_alarms.items():
        if times > (before := was.false_alarms.get(rule, 0)):
            yield f"{rule} has {times} false alarms (it had {before})"
    if found.false_resolves > was.false_resolves:
        yield f"its findings end {found.false_resolves} times while it stands (they did {was.false_resolves} times)"
    if found.false_stop and not was.false_stop:
        yield "the run is told to stop for nothing"
    if found.false_clear and not was.false_clear:
        yield "the run is told to go on at the end as if nothing were wrong"
