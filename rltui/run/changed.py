"""Settings that changed between the launches of a run, as its logs print them. A launch prints all its settings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from rltui.readers.base import ConfigRecord, Note
from rltui.run.history import History
from rltui.run.part import Part

_OWN = re.compile(
    r"(?:^|[._/-])(?:resume\w*|load_(?:checkpoint|enable)|(?:run|exp\w*|project|job|trial)_?name|(?:\w+_)?dir|port|id|rank"
    r"|(?:save|out|output|ckpt|checkpoint)_path|master_\w+|log\w*|time\w*|date\w*|wandb\w*|local_rank|max_steps"
    r"|total_\w*steps)$",
    re.IGNORECASE,
)
"""Keys that differ at each launch: names, output paths, the number of steps."""
ALIKE = 0.5
"""The share of keys that two prints must have in common before a key that one of them lacks counts as unset."""


MOST = 400
"""At most this many prints are kept: settings that are printed between all rows do not belong to a launch."""


class SettingsPrint(Struct, frozen=True):
    """Settings in a log. `form`: how they were printed, such as "printed dict". `after`: the newest step before
    them."""

    log: str
    form: str
    after: int | None
    values: Mapping[str, object]


class Changed(Struct, frozen=True):
    """A setting that changed at the launch whose first row is `step`. None: it was not set."""

    step: int
    key: str
    before: object
    now: object


class Prints:
    """The settings that the logs of a run print, in the order in which they are read."""

    def __init__(self) -> None:
        self._printed: list[SettingsPrint] = []

    def add(self, config: ConfigRecord, log: str) -> None:
        """Takes the settings of one log. Settings without a line number come from other containers and are left out."""
        form, at, _ = config.origin.partition(" at line ")
        if at and len(self._printed) < MOST:
            self._printed.append(SettingsPrint(log, form, config.after, config.values))

    def changed(self, resumes: Sequence[Note], history: History) -> tuple[Changed, ...]:
        """The changes, by step. Settings printed between two rows count only if the log says there that the run
        resumed."""
        if len(self._printed) < 2:
            return ()
        parts = {part.name: part for part in history.parts if part.table.n}
        launches: dict[str, dict[int, dict[str, list[object]]]] = defaultdict(dict)
        for one in self._printed:
            step = _launched(one, parts.get(one.log), resumes)
            if step is not None:
                said = launches[one.form].setdefault(step, {})
                for key, value in one.values.items():
                    said.setdefault(key, []).append(value)
        out = []
        for of_form in launches.values():
            for before, step in pairwise(sorted(of_form)):
                out += [Changed(step, *one) for one in _differ(of_form[before], of_form[step])]
        return tuple(sorted(out, key=lambda one: one.step))


def _launched(one: SettingsPrint, part: Part | None, resumes: Sequence[Note]) -> int | None:
    """The step of the first row of the launch that printed these settings; None if no launch printed them."""
    if part is None:
        return None
    steps = part.table.steps
    if one.after is None:
        return int(steps[0])
    note = next((note for note in resumes if note.after == one.after), None)
    if note is None:
        return None
    at = int(steps.searchsorted(one.after if note.step is None else note.step, "right"))
    return int(steps[at]) if at < len(steps) else None


def _differ(
    before: Mapping[str, list[object]], now: Mapping[str, list[object]]
) -> Iterable[tuple[str, object, object]]:
    """The keys whose value changed. A key with several values in one launch belongs to several models and is not
    comparable."""
    shared = len(before.keys() & now.keys())
    alike = shared >= ALIKE * max(len(before), len(now))
    for key in dict.fromkeys([*before, *now]):
        was, is_now = before.get(key, [None]), now.get(key, [None])
        single = all(one == values[0] for values in (was, is_now) for one in values)
        if single and was[0] != is_now[0] and (alike or (key in before and key in now)) and not _OWN.search(key):
            yield key, was[0], is_now[0]
