"""The newest values of a run, from only the ends of its files, for the screen while everything else is loaded.

This needs no numpy, history or diagnosis: importing them takes longer than all of this. The values are those that the
report will show. If the ends do not determine them for sure, there are none."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import nan

from msgspec import Struct, field

from rltui.discovery.found import Found
from rltui.frameworks.detect import MODULE, detect_dialect
from rltui.frameworks.load import dialect
from rltui.frameworks.resolve import bare_key
from rltui.frameworks.schema import GENERIC
from rltui.readers.base import NO_STEP, ConfigRecord, Counted, Note, Record, Rows, RunInfo
from rltui.readers.formats import formats
from rltui.run.names import Names
from rltui.session.choice import left_out
from rltui.session.ends import NEWEST, QUIET_S, read_ends
from rltui.sources.base import SourceError

LOOKED_AT = 3
"""Two files are compared by this many of a metric's newest common points."""
ROUNDED = 0.01
"""The share of a value that a console may round away."""


class Newest(Struct, frozen=True):
    """`values`: raw key -> values of the last rows, the newest last, in canonical units; a value is NaN if NaN or an
    infinity was logged. `first_step`, `last_step`: those of these rows. `bytes`: the size of all files."""

    id: str
    path: str
    framework: str | None
    names: Names
    values: dict[str, array[float]]
    first_step: int
    last_step: int
    bytes: int


class _End(Struct):
    """The rows at the end of one file. `cells`: key -> steps and values."""

    cells: dict[str, tuple[list[int], array[float]]] = field(default_factory=dict)
    step: int = NO_STEP

    def add(self, rows: Rows) -> bool:
        """Takes rows that continue the known ones. False for rows that state no step, go back, or change a value."""
        for row, step in enumerate(rows.steps):
            if step == NO_STEP or step < self.step:
                return False
            again = step == self.step
            self.step = step
            for key, column in rows.values.items():
                value = column[row]
                if value != value and row not in rows.nonfinite.get(key, ()):
                    continue
                steps, values = self.cells.setdefault(key, ([], array("d")))
                if again and steps and steps[-1] == step:
                    if value != values[-1]:
                        return False
                    continue
                steps.append(step)
                values.append(value)
        return True


def newest(found: Found, key_map: Mapping[str, str]) -> Newest | None:
    """The newest values of a run on this machine. None if its files cannot be read from their ends, are several
    attempts, state different values for one step, or restart within these ends."""
    away = left_out(found)
    files = [(path, format) for path, format in found.candidate.files if path not in away]
    of_several = any(key for _, key in found.candidate.inside)
    if (
        found.place.name
        or of_several
        or not all(formats()[format].states_step or formats()[format].copies for _, format in files)
    ):
        return None
    ends: dict[str, _End] = {}
    config: set[str] = set()
    hints: list[str] = []
    written = found.listing.by_path
    for path, format in files:
        if formats()[format].copies:
            continue
        read = read_ends(found.place, path, format, written[path].size, NEWEST)
        if read is None or isinstance(read, SourceError):
            return None
        finished = time.time() - written[path].mtime > QUIET_S
        records = [*read.first, *read.newest, *(read.reader.finish() if finished else [])]
        if read.other_epoch or any(isinstance(record, Counted) for record in records):
            return None  # if counted from the end alone, the rows would get other steps
        end = _End()
        if not all(end.add(record) for record in records if isinstance(record, Rows)):
            return None
        if format == "wandb":
            from rltui.readers.wandb.rows import TIMER  # imported here: its reader is already loaded

            for key in [key for key in end.cells if key.startswith(TIMER)]:
                del end.cells[key]  # timers are sums from the first row on and are split over several rows
        _signs(records, config, hints)
        kind = "console" if format.endswith("console") else format
        if end.cells and kind in ends:
            return None  # successive attempts
        if end.cells:
            ends[kind] = end
    keys = list(dict.fromkeys(key for end in ends.values() for key in end.cells))
    detected = detect_dialect(keys, config, hints)
    spoken = dialect(GENERIC if detected is None else detected.dialect)
    framework = spoken.framework if detected is not None else None
    cells: dict[str, tuple[list[int], array[float]]] = {}
    for end in ends.values():  # the preferred file comes first
        for key, (steps, values) in end.cells.items():
            name = bare_key(key, framework)
            held = cells.get(name)
            if held is not None and _differ(dict(zip(*held, strict=True)), steps, values):
                return None
            if held is None or steps[-1] > held[0][-1]:
                cells[name] = steps, values
    if not cells:
        return None
    names = Names()
    names.forced = dict(key_map)
    names.refresh(cells, spoken.name)
    for key in names.open:
        del cells[key]  # only the whole run shows what it means
    return Newest(
        id=found.candidate.name,
        path=found.candidate.root,
        framework=framework,
        names=names,
        values={key: _converted(values, names, key) for key, (_, values) in cells.items()},
        first_step=min(steps[0] for steps, _ in cells.values()),
        last_step=max(steps[-1] for steps, _ in cells.values()),
        bytes=sum(file.size for file in found.files),
    )


def _differ(held: Mapping[int, float], steps: Sequence[int], values: Sequence[float]) -> bool:
    """Whether all newest points that two files share differ by more than rounding explains. Only the whole run then
    shows which file counts."""
    both = [(held[step], value) for step, value in zip(reversed(steps), reversed(values), strict=True) if step in held]
    some = both[:LOOKED_AT]
    return bool(some) and all(abs(a - b) > max(ROUNDED * max(abs(a), abs(b)), ROUNDED**2) for a, b in some)


def _signs(records: Iterable[Record], config: set[str], hints: list[str]) -> None:
    """Collects what else identifies the framework: config keys and words of the log."""
    for record in records:
        if isinstance(record, ConfigRecord):
            config.update(record.values)
        elif isinstance(record, Note):
            hints.append(f"{MODULE}{record.text}" if record.kind == "module" else record.text)
        elif isinstance(record, RunInfo):
            hints += record.values.values()


def _converted(values: array[float], names: Names, key: str) -> array[float]:
    """The values in canonical units."""
    meaning = names.meanings[key]
    if (meaning.scale, meaning.shift) == (1.0, 0.0):
        return values
    return array("d", [value * meaning.scale + meaning.shift if value == value else nan for value in values])
