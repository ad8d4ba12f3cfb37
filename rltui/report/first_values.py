"""The newest values of a run under the names of its report, before there is a report. Light to import."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rltui.discovery.found import Found


class FirstValue(NamedTuple):
    """The end of one metric; what it is called stands in the report under the same words. `values`: of the last rows,
    the newest last, NaN where one was logged as NaN or an infinity."""

    key: str
    label: str
    unit: str
    group: str
    canonical: str | None
    values: array[float]

    @property
    def last_value(self) -> float | None:
        """The last logged value, None where that was not finite."""
        return self.values[-1] if self.values[-1] == self.values[-1] else None


class FirstValues(NamedTuple):
    """What the screen shows of a run before it is read. `first_step`, `last_step`: of the rows of its end."""

    id: str
    path: str
    framework: str | None
    metrics: Mapping[str, FirstValue]
    first_step: int
    last_step: int
    bytes: int


def first_values(found: Found, key_map: Mapping[str, str]) -> FirstValues | None:
    """The first values of a run, None where `session.newest` has none."""
    from rltui.report.names import report_names, sharing
    from rltui.session.newest import newest

    seen = newest(found, key_map)
    if seen is None:
        return None
    names = seen.names.meanings
    shared = sharing(names, seen.values, seen.names.sources)
    judged = {name: next((key for key in own if any(seen.values[key])), own[0]) for name, own in shared.items()}
    called = report_names(names, seen.values, judged)
    return FirstValues(
        id=seen.id,
        path=seen.path,
        framework=seen.framework,
        metrics={
            called[key]: FirstValue(key, name.label, name.unit, name.group, name.canonical, values)
            for key, values in seen.values.items()
            for name in [names[key]]
        },
        first_step=seen.first_step,
        last_step=seen.last_step,
        bytes=seen.bytes,
    )
