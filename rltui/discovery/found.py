"""Finds the runs below a directory: which of its files belong to one run.

Nothing in a directory tree says "this is a run", so names and formats decide, in this order:

1. **Role.** Each file is a metric file (then its format is sniffed), a config, a rollout dump, or of no interest
   (`file_roles`). Folders of weights are checkpoints.
2. **Home.** The home of a metric file is its folder, or the first folder above it that does more than sort (`outputs/`,
   `logs/`, `checkpoint-100/`, `wandb/run-.../files/`, `runs/Nov20_.../` only sort). It is never above the listed root.
3. **Several runs in one home?** Only if one kind of file is there under several labels: `a.log` and `b.log`,
   `tensorboard_log/p/exp1` and `.../exp2`. Files of different kinds belong to one run (console, jsonl, TensorBoard,
   W&B), and so do names that only state a role (`train.log`, `eval.log`, `vllm_server.log`). Beside metric containers,
   a log of an unknown trainer never makes a second run.
4. **Several launches in one home?** W&B ids, TensorBoard folders or logs that differ only by a time stamp or job number
   are restarts of one run if the home holds one set of checkpoints, because launches that share checkpoints continue
   each other. Logs are also restarts if the later ones say that they resume, or begin where the one before ended
   (`relaunches`). Without checkpoints they are separate runs, as in a project folder whose `wandb/` collects
   everything. Files without a stamp then belong to the newest.
5. **Homes within homes.** If a run has exactly one home below it, and that home holds one run of other kinds, the two
   are one run (verl's `<project>/<experiment>.jsonl` beside the console log). Otherwise each is a run: a folder of run
   folders holds many.

So `baseline-20260427/train_metrics.jsonl` beside `ablation-20260429/train_metrics.jsonl`, or `grpo/metrics.jsonl`
beside `grpo_trl/metrics.jsonl`, are two runs: a report on one of them under the folder's name would hide the other. A
user who means one of them can name it.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from rltui.agent.tree import is_checkpoint_dir
from rltui.discovery import file_roles
from rltui.discovery.rank_files import of_other_ranks
from rltui.discovery.relaunches import NONE, Looks, together
from rltui.discovery.units import (
    FORMATS,
    RUN_MARK,
    Unit,
    argument,
    beside_their_events,
    climb,
    nearest,
    no_runs,
    relative,
    step_files_of,
    table_units,
    tracked_units,
    units_of,
)
from rltui.readers.base import ContainedRun
from rltui.readers.formats import CONSOLES, MESSAGES, SAMPLES, SEVERAL, in_order_of_belief
from rltui.readers.step_files import FEWEST
from rltui.readers.step_files import FORMAT as STEP_FILES
from rltui.sources.base import FileStat, Listing, Place
from rltui.text import clean, shown

if TYPE_CHECKING:
    from rltui.sources.slurm import Job

MAX_ID = 300
ROWS = ("jsonl", "csv")


class NotARun(Exception):  # noqa: N818  (a message for the user, not a fault)
    """The argument names nothing that can be opened. The exception's text is the whole message: what, where, what to
    do."""


class NothingYet(NotARun):
    """There is no run yet, but what is there may become one: it is empty, or is being written now."""


class NotListed(NotARun):
    """The place itself cannot be read, so its contents are unknown."""


class RunCandidate(Struct, frozen=True):
    """Files that belong to one run. `files`: (path, format), the most trusted first. `attempts`: the files of each
    launch, if they are known."""

    id: str  # unique in its listing: path below the listed root, and a label if one folder holds several runs
    root: str  # the run's directory, or its one file if the directory holds other runs too
    files: tuple[tuple[str, str], ...]
    rollouts: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()  # directories
    dirs: tuple[str, ...] = ()  # where new files of this run may appear
    note: str = ""  # what was left out or joined
    inside: tuple[tuple[str, str], ...] = ()  # file that can hold several runs, and the key of this run in it
    attempts: tuple[tuple[str, ...], ...] = ()
    repeats: tuple[str, ...] = ()  # logs of other ranks or nodes, not read because they hold the same
    name: str = ""  # the run's name, the same for any listed root; several runs below one root may share it

    def __post_init__(self) -> None:
        for field, value in (("id", self.id), ("name", self.name or self.id)):  # a directory may be called anything
            force_setattr(self, field, clean(shown(value), MAX_ID))


class Found(Struct, frozen=True):
    """A run that can be opened: its files with their formats, and the place where they are."""

    candidate: RunCandidate
    place: Place
    listing: Listing
    job: Job | None = None  # the Slurm job, if the user named the run by it
    unreadable: tuple[tuple[str, str], ...] = ()  # files below its root that cannot be read, and why

    @property
    def files(self) -> list[FileStat]:
        """The metric files, as they were when found."""
        known = self.listing.by_path
        return [known[path] for path, _ in self.candidate.files if path in known]


_Run = list[Unit]


def group(
    listing: Listing,
    sniff: Callable[[str], str | None],
    runs_in: Callable[[str, str], list[ContainedRun]] = no_runs,
    looks: Looks = NONE,
) -> list[RunCandidate]:
    """The runs of a listing, sorted by id. `sniff`: path -> format, None if it is not a metric file; called only for
    files whose names fit a metric file. `runs_in`: path and format -> the runs in a database or a file store; empty if
    that does not belong to a tracker. `looks`: what logs hold; called only for logs that may belong to one run."""
    root = listing.root
    if len(listing.files) == 1 and not listing.dirs:
        return _named_by_the_user(listing.files[0].path, sniff, runs_in)
    checkpoints = [path for path in listing.dirs if path != root and is_checkpoint_dir(path)]
    by_role = _by_role(listing, root, set(checkpoints))
    own_meta = os.path.join(root, file_roles.MLFLOW_RUN)
    if own_meta in by_role["metrics"]:  # the root is a run of a file store: the other files are its metrics and params
        by_role["metrics"] = [own_meta]
    families = step_files_of(by_role["metrics"])
    of_steps = {first for first in families if sniff(first) == STEP_FILES}
    others_of = {path for first in of_steps for path in families[first]}
    sniffed = {path: sniff(path) for path in by_role["metrics"] if path not in others_of}
    _rows_called_samples(by_role, root, sniffed, sniff)
    messages = [path for path, found in sniffed.items() if found == MESSAGES]
    formats = {path: found for path, found in sniffed.items() if found not in (None, SAMPLES, MESSAGES, STEP_FILES)}
    formats |= dict.fromkeys(of_steps, STEP_FILES)
    dumped = [*by_role["rollouts"], *(path for path, found in sniffed.items() if found == SAMPLES)]
    if not formats and len(dumped) == 1 and sniff(dumped[0]) == SAMPLES:
        formats = {dumped[0]: SAMPLES}  # the means of its samples are the run
    else:
        formats |= dict.fromkeys(_lone_dumps(sniffed, dumped, formats, root), SAMPLES)
    others_ranks = of_other_ranks(formats)
    for path in [path for others in others_ranks.values() for path in others]:
        del formats[path]
    named = {path: formats.pop(path) for path in [p for p, found in formats.items() if found in FORMATS]}
    contained = [(path, found, runs_in(path, found)) for path, found in named.items()]
    logs = {path: runs[0].format for path, _, runs in contained if len(runs) == 1 and runs[0].format in CONSOLES}
    contained = [one for one in contained if one[0] not in logs]
    units = beside_their_events(units_of(root, formats | logs, set(checkpoints)))
    units, others_nodes = together(units, looks, {file.path: file.mtime for file in listing.files})
    for path, repeated in others_nodes.items():
        others_ranks[path] = [*others_ranks.get(path, ()), *repeated]
    units += tracked_units(root, [(path, runs) for path, found, runs in contained if found != SEVERAL])
    units += table_units(root, [(path, runs) for path, found, runs in contained if found == SEVERAL])
    homes: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        homes[unit.home].append(unit)
    for home in [home for home, found in homes.items() if all(_is_lone_result(unit, families) for unit in found)]:
        del homes[home]
    runs = {home: _split(found, _has_one_checkpoint_set(home, checkpoints, homes)) for home, found in homes.items()}
    _absorb(runs)
    candidates = [
        _candidate(root, home, run, is_alone=len(found) == 1) for home, found in runs.items() for run in found
    ]
    candidates = [_with_ranks(candidate, others_ranks) for candidate in candidates]
    candidates = _with_messages(candidates, messages, root)
    others = {"rollouts": by_role["rollouts"], "configs": by_role["config"], "checkpoints": checkpoints}
    return sorted(_with_others(_unique(candidates), root, others), key=lambda candidate: candidate.id)


def _lone_dumps(
    sniffed: Mapping[str, str | None], dumped: Iterable[str], metrics: Iterable[str], root: str
) -> list[str]:
    """Files that are named like logs, hold samples, and are all that a run left: there is no other dump and no file of
    metrics in their home, above it or below it. A dump with another name may belong to a run beside it."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in (*dumped, *metrics):
        homes[climb(os.path.dirname(path), root)].append(path)
    below = {above for home in homes if (above := nearest(os.path.dirname(home), homes)) is not None}
    alone = [home for home in homes if home not in below and nearest(os.path.dirname(home), homes) is None]
    lone = {homes[home][0] for home in alone if len(homes[home]) == 1}
    return [path for path in lone if sniffed.get(path) == SAMPLES and not file_roles.label(os.path.basename(path))]


def _is_lone_result(unit: Unit, families: dict[str, list[str]]) -> bool:
    """Whether a unit is one or two evaluations in files of their own: they belong to a run, but are not a run."""
    first, found = unit.files[0]
    return found == STEP_FILES and 1 + len(families[first]) < FEWEST


def _with_ranks(candidate: RunCandidate, others: dict[str, list[str]]) -> RunCandidate:
    """The run, with a note if files of other ranks are not read."""
    repeats = tuple(sorted(other for path, _ in candidate.files for other in others.get(path, ())))
    if not repeats:
        return candidate
    told = f"files of other ranks, not read as they repeat the first rank's: {len(repeats)}"
    return replace(candidate, note=", and ".join(filter(None, (candidate.note, told))), repeats=repeats)


def _with_messages(candidates: list[RunCandidate], messages: Sequence[str], root: str) -> list[RunCandidate]:
    """Assigns a log that only shows what went wrong to the run of its home with the same label, else to the only run
    there. If several runs may own it, none gets it."""
    for path in messages:
        home, called = climb(os.path.dirname(path), root), file_roles.label(os.path.basename(path))
        here = [c for c in candidates if any(climb(os.path.dirname(file), root) == home for file, _ in c.files)]
        own = [c for c in here if called and any(file_roles.label(os.path.basename(f)) == called for f, _ in c.files)]
        if len(own or here) == 1:
            of = (own or here)[0]
            told = replace(of, files=(*of.files, (path, "console")))
            candidates = [told if c is of else c for c in candidates]
    return candidates


def _named_by_the_user(
    path: str, sniff: Callable[[str], str | None], runs_in: Callable[[str, str], list[ContainedRun]]
) -> list[RunCandidate]:
    """The runs of a listing of one file without directories. The file counts, whatever its name."""
    found = sniff(path)
    if found in (None, MESSAGES, STEP_FILES):
        return []
    folder = os.path.dirname(path) or os.curdir
    if found in FORMATS:
        runs = runs_in(path, found)
        if len(runs) == 1 and found == SEVERAL:
            name = os.path.splitext(os.path.basename(path))[0]
            return [RunCandidate(name, path, ((path, runs[0].format),), dirs=(folder,), inside=((path, runs[0].key),))]
        return [
            RunCandidate(
                unit.label or runs[0].name,
                argument(path, unit.label) if len(runs) > 1 else path,
                unit.files,
                dirs=(folder,),
                inside=unit.inside,
            )
            for unit in tracked_units(folder, [(path, runs)])
        ]
    name = os.path.splitext(os.path.basename(path))[0]
    return [RunCandidate(name, path, ((path, found),), dirs=(os.path.dirname(path) or os.curdir,))]


def _by_role(listing: Listing, root: str, checkpoints: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"metrics": [], "config": [], "rollouts": [], "other": []}
    for file in listing.files:
        in_checkpoint = os.path.dirname(file.path) in checkpoints
        found[file_roles.role(relative(root, file.path), in_checkpoint)].append(file.path)
    return found


def _rows_called_samples(
    by_role: dict[str, list[str]], root: str, sniffed: dict[str, str | None], sniff: Callable[[str], str | None]
) -> None:
    """Moves files that are named like sample dumps but hold rows of metrics to the metric files: `rollout.jsonl` beside
    `train.jsonl` may be what a loop logs about its rollouts."""
    for path in by_role["rollouts"]:
        if file_roles.may_hold_rows(os.path.relpath(path, root)) and (found := sniff(path)) in ROWS:
            sniffed[path] = found
    by_role["rollouts"] = [path for path in by_role["rollouts"] if path not in sniffed]


# --- Runs of a home ----------------------------------------------------------------------------------------------


def _split(units: list[Unit], share_checkpoints: bool) -> list[_Run]:
    """The runs of one home, by rules 3 and 4."""
    has_containers = any(unit.kind != "text" for unit in units)
    counted = [unit for unit in units if unit.is_known] if has_containers else units
    labels: dict[str, set[str]] = defaultdict(set)
    for unit in counted:
        labels[unit.kind].add(unit.label)
    if all(len(found - {""}) <= 1 for found in labels.values()):
        return _launches(units, share_checkpoints)
    by_label: dict[str, _Run] = defaultdict(list)
    for unit in units:
        by_label[unit.label].append(unit)
    unlabelled = by_label.pop("", [])
    return [*by_label.values(), *(_launches(unlabelled, share_checkpoints) if unlabelled else [])]


def _launches(units: list[Unit], share_checkpoints: bool) -> list[_Run]:
    """One run with restarts, or one run for each launch. Kinds with equally many launches are paired in order."""
    stamped: dict[str, _Run] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: unit.launch):
        if unit.launch:
            stamped[unit.kind].append(unit)
    count = max((len(found) for found in stamped.values()), default=0)
    kinds = Counter(unit.kind for unit in units)
    joined = any(len(unit.attempts) == count and kinds[unit.kind] == 1 for unit in units)
    if count <= 1 or share_checkpoints or joined:
        return [units]
    paired = [found for found in stamped.values() if len(found) == count]
    runs: list[_Run] = [list(together) for together in zip(*paired, strict=True)]
    taken = {id(unit) for run in runs for unit in run}
    for unit in units:
        if id(unit) not in taken:
            if unit.launch and len(stamped[unit.kind]) > 1:
                runs.insert(0, [unit])
            else:
                runs[-1].append(unit)
    return runs


def _has_one_checkpoint_set(home: str, checkpoints: list[str], homes: dict[str, list[Unit]]) -> bool:
    """Whether all checkpoints below a home (and not below a home inside it) are in one folder."""
    folders = {os.path.dirname(path) for path in checkpoints}
    folders |= {os.path.dirname(path) for unit in homes[home] if unit.kind == "trainer-state" for path, _ in unit.files}
    return len({_set_of(folder) for folder in folders if nearest(folder, homes) == home}) == 1


def _set_of(folder: str) -> str:
    return os.path.dirname(folder) if is_checkpoint_dir(folder) else folder


def _absorb(runs: dict[str, list[_Run]]) -> None:
    """Rule 5: joins a single run with the only home below it, if that home holds one run of other kinds."""
    below: dict[str | None, list[str]] = defaultdict(list)
    for home in runs:
        below[nearest(os.path.dirname(home), runs)].append(home)
    for home in sorted(runs, key=len, reverse=True):
        if len(runs[home]) != 1 or len(below[home]) != 1 or len(runs[below[home][0]]) != 1:
            continue
        own, other = runs[home][0], runs[below[home][0]][0]
        if {unit.kind for unit in own}.isdisjoint(unit.kind for unit in other):
            runs[home] = [own + other]
            del runs[below[home][0]]


# --- Candidates --------------------------------------------------------------------------------------------------


def _candidate(root: str, home: str, run: _Run, *, is_alone: bool) -> RunCandidate:
    """The run as it is shown: its name, unique among its siblings, and its files, the most trusted first. `is_alone`:
    whether its home holds no other run."""
    attempts = next((unit.attempts for unit in run if unit.attempts), ())
    launch = {path: i for i, paths in enumerate(attempts) for path in paths}
    files = sorted(
        (item for unit in run for item in unit.files), key=lambda item: (_belief(item)[0], launch.get(item[0], 0), item)
    )
    inside = tuple(item for unit in run for item in unit.inside)
    below = os.path.relpath(home, root)
    place = os.path.basename(os.path.abspath(root)) if below == os.curdir else below
    if is_alone:
        own = os.path.basename(os.path.abspath(home))
        return RunCandidate(
            *(place, home, tuple(files)),
            dirs=_folders(home, files),
            note=_note(run),
            inside=inside,
            attempts=attempts,
            name=own,
        )
    name = next((part for unit in run for part in (unit.label, unit.launch) if part), os.path.basename(files[0][0]))
    only = files[0][0] if len(files) == 1 else home
    if inside and len(files) == 1:
        only = argument(only, name)
    return RunCandidate(
        name if below == os.curdir else f"{below}/{name}",
        only,
        tuple(files),
        dirs=_folders(os.path.dirname(files[0][0]), files),
        note=_note(run),
        inside=inside,
        attempts=attempts,
        name=os.path.splitext(os.path.basename(files[0][0]))[0] if len(files) == 1 and not inside else name,
    )


def _belief(item: tuple[str, str]) -> tuple[int, str]:
    path, found = item
    order = in_order_of_belief()
    return (order.index(found) if found in order else len(order), path)


def _folders(home: str, files: list[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({home, *(os.path.dirname(path) for path, _ in files)}))


def _note(run: _Run) -> str:
    joined = max((len(unit.attempts) for unit in run), default=0)
    if joined:
        return f"{joined} logs taken as launches of one run: each goes on where the one before it ended"
    launches: dict[str, set[str]] = defaultdict(set)
    for unit in run:
        if unit.launch:
            launches[unit.kind].add(unit.launch)
    count = max((len(found) for found in launches.values()), default=0)
    return f"{count} launches taken as one run with restarts: they share their checkpoints" if count > 1 else ""


def _unique(candidates: list[RunCandidate]) -> list[RunCandidate]:
    seen: dict[str, int] = defaultdict(int)
    kept: list[RunCandidate] = []
    for candidate in sorted(candidates, key=lambda candidate: (candidate.id, candidate.files)):
        seen[candidate.id] += 1
        times = seen[candidate.id]
        kept.append(replace(candidate, id=f"{candidate.id}#{times}") if times > 1 else candidate)
    return kept


def _with_others(candidates: list[RunCandidate], root: str, others: dict[str, list[str]]) -> list[RunCandidate]:
    """Assigns configs, rollouts and checkpoints to the run in whose home they are. If several runs have that home and
    the path names none of them, samples go to none and the rest goes to all."""
    given: dict[str, dict[str, list[str]]] = {c.id: defaultdict(list) for c in candidates}
    homes = {
        c.id: os.path.dirname(c.files[0][0]) if c.root.partition(RUN_MARK)[0] in dict(c.files) else c.root
        for c in candidates
    }
    at_home: dict[str | None, list[str]] = defaultdict(list)
    for c in candidates:
        of_launches = {climb(os.path.dirname(path), root) for path, _ in c.files} if c.attempts else set()
        for home in sorted({homes[c.id], *of_launches}):
            at_home[home].append(c.id)
    for kind, paths in others.items():
        for path in paths:
            near = at_home.get(nearest(path, at_home), [])
            if len(candidates) == 1:
                owners = [candidates[0].id]
            elif len(near) == 1:
                owners = near
            else:
                parts = set(os.path.relpath(path, root).split(os.sep))
                named = [c for c in near if os.path.basename(c) in parts]
                owners = named or ([] if kind == "rollouts" else near)
            for owner in owners:
                given[owner][kind].append(path)
    return [
        replace(
            c,
            rollouts=tuple(given[c.id]["rollouts"]),
            configs=tuple(given[c.id]["configs"]),
            checkpoints=tuple(given[c.id]["checkpoints"]),
        )
        if given[c.id]
        else c
        for c in candidates
    ]
