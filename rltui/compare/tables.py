"""The data of a comparison: which metric ranks runs, which settings count, what findings of several runs mean."""

from __future__ import annotations

from pathlib import Path

from rltui.data_files import Record, kept, read


class PrimaryChoice(Record):
    """The metrics at one place in the order: those called `names`, or reward components whose name contains one of
    `components`."""

    label: str
    names: tuple[str, ...] = ()
    components: tuple[str, ...] = ()


class PrimaryOrder(Record):
    """`order`: the most informative first; `reason`: why this order. `lower_is_better`: words in the names of metrics
    for which lower is better."""

    reason: str
    order: tuple[PrimaryChoice, ...]
    lower_is_better: tuple[str, ...]


class Reading(Record):
    """What it means if a run has one of the rules in `when` among its root findings, and what to do."""

    when: tuple[str, ...]
    reading: str
    advice: str


class Readings(Record):
    """`ugly`: rule -> the flag of a run that should not continue. `not_settings`: config keys that do not change
    training; `not_setting_words`: parts of such keys. `health`: the metrics shown beside the primary one."""

    ugly: dict[str, str]
    readings: tuple[Reading, ...]
    not_settings: frozenset[str]
    not_setting_words: tuple[str, ...]
    health: tuple[str, ...]


@kept
def primary_order() -> PrimaryOrder:
    return read(Path(__file__).with_name("primary.json"), PrimaryOrder)


@kept
def readings() -> Readings:
    return read(Path(__file__).with_name("readings.json"), Readings)
