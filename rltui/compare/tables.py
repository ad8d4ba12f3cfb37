"""The data of a comparison: which metric ranks runs, which settings count, how findings read together."""

from __future__ import annotations

from pathlib import Path

from rltui.data_files import Record, kept, read


class PrimaryChoice(Record):
    """Metrics that rank runs alike: by their `names`, or parts of the reward whose name holds one of `components`."""

    label: str
    names: tuple[str, ...] = ()
    components: tuple[str, ...] = ()


class PrimaryOrder(Record):
    """`order`: the most telling first, and the `reason` for it. `lower_is_better`: words in names of such metrics."""

    reason: str
    order: tuple[PrimaryChoice, ...]
    lower_is_better: tuple[str, ...]


class Reading(Record):
    """How runs read that have one of the rules of `when` among their root findings."""

    when: tuple[str, ...]
    reading: str
    advice: str


class Readings(Record):
    """`ugly`: rule -> the flag of a condemned run. `not_settings`, `not_setting_words`: config keys that do not act on
    training, and parts of such. `health`: the metrics shown beside the primary one."""

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
