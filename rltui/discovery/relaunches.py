"""Finds the logs of one run that several launches wrote, one each: a requeued job that continues from its checkpoint
has a new number, and so a new log. Also finds the logs of one launch that hold the same, one from each node.

The logs are in one folder, or in one folder for each job, whose name is the job's number.

Names alone cannot distinguish a requeued job from the next experiment, because both differ only in a number. So the
contents of the logs decide: a later launch of a run says that it resumes, or its first step is the next one after the
last of the earlier launch. Two logs that both begin at the first step are two runs.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rltui.discovery.units import STREAMS, Unit
from rltui.lazy_regex import lazy

KINDS = ("text", "table")
MOST = 64
"""The most logs of one name that are looked at, the newest ones: each must be opened."""
APART_S = 60.0
"""Copied files have the time of the copy, so their order within a minute means nothing."""
SAME = 0.75
"""The smallest share of equal numbers in the logs of two nodes: each node may measure its own times."""
FEWEST = 3
"""The fewest rows that two logs must have in common to count as the same."""
_NUMBER = lazy(
    r"(?:(?<![^\W_])|(?<=[^A-Za-z0-9][oe]))\d+(?![^\W_])"
    r"|(?<![^\W_])(?P<node>(?:node|host|worker|gpu|proc|task)[-_]?\d+)(?![^\W_])",
    re.IGNORECASE,
)
"""A number that is a word of its own (`slurm-101.out`), a job's number (`job.o123`), or a node's number."""
_AGAIN = lazy(
    r"[-_.]?(?:resumed?|restart(?:ed)?|continued?|cont|requeued?|retry|again)[-_]?(\d*)(?=[-_.]|$)", re.IGNORECASE
)
"""Words in the name of a later launch's log: `train_resume.log`."""
_JOB = lazy(r"((?:slurm|job|jobid|pbs|lsf|sge)[-_.]?)?(\d+)", re.IGNORECASE)
"""A folder whose name is the number of a job."""


class LogBegin(Struct, frozen=True):
    """How a log begins. `first`: its first step. `stride`: steps from row to row. `rows`: the first rows, by step.
    `resumes`: whether it says that it continues from a checkpoint. `time`: when the first row was written, or NaN."""

    first: int
    stride: int
    rows: Mapping[int, Mapping[str, float]]
    resumes: bool
    time: float

    @property
    def names(self) -> frozenset[str]:
        """The names of its metrics."""
        return frozenset(name for cells in self.rows.values() for name in cells)


class LogEnd(Struct, frozen=True):
    """How a log ends so far: its newest step, and when that row was written, or NaN."""

    last: int
    time: float


class Looks(Struct, frozen=True):
    """Functions that look into a log: path and format -> how it begins, or ends; None if it states no steps. `end` is
    only called if another log may continue there."""

    begin: Callable[[str, str], LogBegin | None]
    end: Callable[[str, str], LogEnd | None]


NONE = Looks(lambda path, format: None, lambda path, format: None)
"""Looks into no log, for callers that only know names."""


class _Log(Struct, frozen=True):
    """`numbers`: the numbers in its name, by which launches are ordered. `of_node`: whether the name's last number is
    that of a node."""

    unit: Unit
    numbers: tuple[int, ...]
    of_node: bool
    file: tuple[str, str]
    begun: LogBegin
    written: float


def together(
    units: Sequence[Unit], looks: Looks, written: Mapping[str, float]
) -> tuple[list[Unit], dict[str, list[str]]]:
    """Joins the logs of one run into one unit. Returns all units, and for the log of a node the logs of other nodes
    that hold the same, which are left out. `written`: path -> when it was last written."""
    families: dict[tuple[str, str, str], list[tuple[tuple[int, ...], bool, Unit]]] = defaultdict(list)
    in_home = Counter(unit.home for unit in units)
    for unit in units:
        if unit.kind in KINDS and not unit.inside and len({os.path.splitext(path)[0] for path, _ in unit.files}) == 1:
            place, number = _job_folder(unit) if in_home[unit.home] == 1 else (unit.home, ())
            name, numbers, of_node = _family(unit.files[0][0])
            families[place, unit.kind, name].append(((*number, *numbers), of_node, unit))
    out = {id(unit): unit for unit in units}
    repeated: dict[str, list[str]] = {}
    for members in families.values():
        if len(members) < 2:
            continue
        own: list[_Log] = []
        for numbers, of_node, unit in sorted(members, key=lambda one: one[0])[-MOST:]:
            seen = ((file, looks.begin(*file)) for file in unit.files)
            file, begun = next((one for one in seen if one[1] is not None), (unit.files[0], None))
            if begun is None:
                continue
            log = _Log(unit, numbers, of_node, file, begun, max(written.get(path, 0.0) for path, _ in unit.files))
            same = next((other for other in own if _says_the_same(other, log)), None)
            if same is None:
                own.append(log)
            else:
                repeated.setdefault(same.unit.files[0][0], []).extend(path for path, _ in unit.files)
                del out[id(unit)]
        for chain in _chains(own, looks):
            if len(chain) > 1:
                for log in chain:
                    del out[id(log.unit)]
                whole = _joined([log.unit for log in chain])
                out[id(whole)] = whole
    return list(out.values()), repeated


def _family(path: str) -> tuple[str, tuple[int, ...], bool]:
    """The name of a log without what distinguishes its launches; the numbers that distinguish them; and whether the
    last of these, apart from that of a resume, is a node's number."""
    stem, suffix = os.path.splitext(os.path.basename(path))
    name = stem if suffix in STREAMS else stem + suffix
    again = _AGAIN.search(name)
    name = name if again is None else name[: again.start()] + name[again.end() :]
    found = list(_NUMBER.finditer(name))
    numbers = (int(re.sub(r"\D", "", one[0])) for one in found)
    later = 0 if again is None else int(again[1] or 1)
    return _NUMBER.sub("#", name), (*numbers, later), bool(found) and found[-1]["node"] is not None


def is_of_job(folder: str) -> bool:
    """Whether a folder of this name may belong to a job."""
    return _JOB.fullmatch(folder) is not None


def _job_folder(unit: Unit) -> tuple[str, tuple[int, ...]]:
    """The place of a log that is alone in its home, and the number of the job after which the home is named. Homes that
    differ only in this number are one place."""
    above, name = os.path.split(unit.home)
    job = _JOB.fullmatch(name)
    if job is None:
        return unit.home, ()
    below = os.path.relpath(os.path.dirname(unit.files[0][0]), unit.home)
    return os.path.join(above, f"{job[1] or ''}#", below), (int(job[2]),)


def _says_the_same(one: _Log, other: _Log) -> bool:
    """Whether two logs come from nodes of one launch that print the same rows."""
    if one.unit.home != other.unit.home:
        return False
    *job, node, _ = one.numbers if len(one.numbers) > 1 else (0, *one.numbers)
    *other_job, _, _ = other.numbers if len(other.numbers) > 1 else (0, *other.numbers)
    if job != other_job or one.numbers == other.numbers or not (job or node == 0 or one.of_node):
        return False
    steps = one.begun.rows.keys() & other.begun.rows.keys()
    if len(steps) < FEWEST or not _same_names(one.begun, other.begun):
        return False
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for step in steps:
        theirs = other.begun.rows[step]
        for name, x in one.begun.rows[step].items():
            if name in theirs:
                pairs[name].append((x, theirs[name]))
    telling = [pair for found in pairs.values() if len({x for x, _ in found}) > 1 for pair in found]
    return bool(telling) and sum(a == b for a, b in telling) >= SAME * len(telling)


def _same_names(one: LogBegin, other: LogBegin) -> bool:
    return 2 * len(one.names & other.names) >= min(len(one.names), len(other.names))


def _chains(logs: Sequence[_Log], looks: Looks) -> list[list[_Log]]:
    """The logs by run, each in the order of launches. A log that may continue several runs is a run of its own."""
    chains: list[list[_Log]] = []
    for log in logs:
        fits = [chain for chain in chains if _goes_on(chain, log, looks)]
        if len(fits) > 1:  # keep the run of the same task in another job
            fits = [chain for chain in fits if chain[-1].numbers[1:] == log.numbers[1:] != (0,)]
        if len(fits) == 1:
            fits[0].append(log)
        else:
            chains.append([log])
    return chains


def _goes_on(chain: Sequence[_Log], log: _Log, looks: Looks) -> bool:
    """Whether a log belongs to the next launch of a run."""
    before, now = chain[-1], log.begun
    stride = max(1, before.begun.stride, now.stride)
    begun = min(one.begun.first for one in chain)
    if now.first <= (begun if now.resumes else max(begun, now.stride)) or not _same_names(before.begun, now):
        return False
    ends = [end for one in chain if (end := looks.end(*one.file)) is not None]
    if len(ends) < len(chain):
        return False
    timed = now.time == now.time and ends[-1].time == ends[-1].time
    if now.time < ends[-1].time if timed else log.written < before.written - APART_S:
        return False  # both ran at the same time
    if now.resumes:
        # a killed job loses the rows since its last flush, but not more than it wrote
        last = max(end.last for end in ends)
        return now.first <= last + stride + (last - begun)
    return ends[-1].last < now.first <= ends[-1].last + stride


def _joined(units: Sequence[Unit]) -> Unit:
    """One unit, with the name of the newest launch."""
    attempts = tuple(tuple(path for path, _ in unit.files) for unit in units)
    files = tuple(file for unit in units for file in unit.files)
    return replace(units[-1], files=files, is_known=any(unit.is_known for unit in units), attempts=attempts)
