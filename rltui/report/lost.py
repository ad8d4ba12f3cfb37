"""The parts of a run's logs that were not read and would matter: files without rows, lines that name a metric that is
reported as missing, and rows that others of the same step replaced. If a report says that a metric is not logged, it
must also say that the log names it."""

from __future__ import annotations

from pathlib import Path

from rltui.evidence.model import Coverage
from rltui.frameworks.load import metrics
from rltui.frameworks.resolve import SPEED, resolve
from rltui.prose import counted, ended, listed
from rltui.readers.base import Recurring
from rltui.readers.console.untaken import as_argument
from rltui.run.source_info import SourceInfo
from rltui.session.frame import RunSnapshot

MOST_FORMS = 2
"""The most forms of lines that are reported, each with its pattern."""


def lost(run: RunSnapshot, coverage: Coverage) -> str:
    """Sentences about what was left out; empty if nothing of the kind was."""
    used = [source for source in run.sources if source.used]
    return " ".join([*_unread(used), *_left_out(run, used, _missing(coverage)), *_replaced(used)])


def _unread(sources: list[SourceInfo]) -> list[str]:
    """A sentence for each file of a run without rows that is known to hold no rows, or only rows that were not read."""
    if any(source.rows for source in sources):
        return []
    return [ended(f"No row of {Path(source.path).name} was read: {source.note}") for source in sources if source.note]


def _missing(coverage: Coverage) -> set[str]:
    """All metrics that would fill a gap. Not times: any program that writes a line may say how long it took."""
    if not coverage.missing:
        return set()
    from rltui.rules.coverage import stand_for  # late: it is loaded already if something is missing

    wanted = {name for gap in coverage.missing for name in stand_for(gap.metric)}
    return {name for name in wanted if metrics()[name].group != SPEED}


def _left_out(run: RunSnapshot, sources: list[SourceInfo], missing: set[str]) -> list[str]:
    """A sentence for each form of lines that names a missing metric, the most frequent first. A metric that an earlier
    one named is not repeated."""
    said: list[str] = []
    for source in sources:
        for one in source.recurring if missing else ():
            meant = {name: resolve(name, run.dialect).canonical for name in one.names}
            named = {name: canonical for name, canonical in meant.items() if canonical in missing}
            if not named or len(said) == MOST_FORMS:
                continue
            missing = missing - set(named.values())
            said.append(_told(one, list(named), Path(source.path).name))
    return said


def _told(one: Recurring, names: list[str], file: str) -> str:
    called = listed([f"“{name.removeprefix('eval/')}”" for name in names])
    text = f"{counted(one.count, 'line')} of {file} with {called} were left out, as {one.first}: “{one.text}”"
    way = f" The option --line {as_argument(one.pattern)} reads them, beside a --line for each other kind of line."
    return f"{ended(f'{text} ({one.reason})')}{way if one.pattern else ''}"


def _replaced(sources: list[SourceInfo]) -> list[str]:
    """A sentence for each file in which rows of a step replaced others."""
    return [
        f"{counted(source.replaced, 'row')} of {Path(source.path).name} came a second time for their step, with other"
        " values that replaced the first."
        for source in sources
        if source.replaced
    ]
