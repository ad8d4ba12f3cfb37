"""Which of the files below a directory belong to one run.

Nothing in a directory tree says "this is a run", so names and formats decide, in this order:

1. **Role.** Each file is a metric file (then its format is sniffed), a config, a rollout dump, or of no interest
   (`file_roles`). Folders of weights are checkpoints.
2. **Home.** A metric file lives in its folder, once folders that only sort (`outputs/`, `logs/`, `checkpoint-100/`,
   `wandb/run-.../files/`, `runs/Nov20_.../`) are climbed, never above the listed root.
3. **Several runs in one home?** Only where one kind of file is there under several labels: `a.log` and `b.log`,
   `tensorboard_log/p/exp1` and `.../exp2`. Different kinds complete each other (console, jsonl, TensorBoard, W&B), and
   so do names that say only a role (`train.log`, `eval.log`, `vllm_server.log`). Beside metric containers, a log of no
   known trainer never makes a second run.
4. **Several launches in one home?** W&B ids, TensorBoard folders or logs that differ only by a time stamp or job number
   are restarts of one run where the home holds one set of checkpoints, since launches that share it continue each
   other. Without checkpoints they are runs of their own, as in a project folder whose `wandb/` collects everything;
   files without a stamp go with the newest.
5. **Homes within homes.** A run that has exactly one home below it, with one run of other kinds, takes it in (verl's
   `<project>/<experiment>.jsonl` beside the console log). Otherwise each is a run: a folder of run folders is many.

So `baseline-20260427/train_metrics.jsonl` beside `ablation-20260429/train_metrics.jsonl`, or `grpo/metrics.jsonl`
beside `grpo_trl/metrics.jsonl`, are two runs: reporting one of them as if it were the folder would hide the other, and
the user who means one can name it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from rltui.readers.base import ContainedRun
from rltui.run import file_roles, tracked
from rltui.sources.base import Listing
from rltui.sources.walk import is_checkpoint_dir

_FORMAT_ORDER = (
    *("jsonl", "csv", "trackio", "mlflow", "mlflow-files", "tensorboard", "swanlab", "wandb"),
    *("verl-console", "trl-console", "console", "trainer-state"),
)
"""Which source is believed first where several have a step (a console log is rounded, a state file is late)."""

_KEPT_TRAINER_STATES = 2  # each holds the whole history so far; the one before the last in case the last is broken


@dataclass(frozen=True, slots=True)
class RunCandidate:
    """Files that belong to one run. `files` are (path, format) in the order in which they are believed."""

    id: str  # unique in its listing: path below the listed root, and a label where one folder holds several runs
    root: str  # the run's directory, or the one file where its directory holds other runs too
    files: tuple[tuple[str, str], ...]
    rollouts: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()  # directories
    dirs: tuple[str, ...] = ()  # where new files of this run may appear
    note: str = ""  # what was left out or taken together
    inside: tuple[tuple[str, str], ...] = ()  # of each file that can hold several runs, the key of this one


@dataclass(frozen=True, slots=True)
class _Unit:
    """Files that certainly belong together: one log, one event folder, one W&B directory, the states of one trainer."""

    home: str
    kind: str  # "text" | "table" | "trainer-state" | the name of a container's format
    files: tuple[tuple[str, str], ...]
    label: str = ""
    launch: str = ""
    is_known: bool = True  # of a known trainer or a metric container, not just some text
    inside: tuple[tuple[str, str], ...] = ()


_Run = list[_Unit]


def group(
    listing: Listing,
    sniff: Callable[[str], str | None],
    runs_in: Callable[[str, str], list[ContainedRun]] = tracked.no_runs,
) -> list[RunCandidate]:
    """The runs of a listing, in the order of their ids. `sniff` gives the format of a file, None where it is no metric
    file; it is asked once for each file whose name may be one's. `runs_in` gives the runs of a database or of a run in
    a file store (path and format), none where it is no tracker's."""
    root = listing.root
    if len(listing.files) == 1 and not listing.dirs:
        return _named_by_the_user(listing.files[0].path, sniff, runs_in)
    checkpoints = [path for path in listing.dirs if path != root and is_checkpoint_dir(path)]
    by_role = _by_role(listing, root, set(checkpoints))
    own_meta = os.path.join(root, file_roles.MLFLOW_RUN)
    if own_meta in by_role["metrics"]:  # a run of a file store itself: the rest are its metrics and params
        by_role["metrics"] = [own_meta]
    formats = {path: found for path in by_role["metrics"] if (found := sniff(path)) is not None}
    named = {path: formats.pop(path) for path in [p for p, found in formats.items() if found in tracked.FORMATS]}
    units = _beside_their_events(_units(root, formats, set(checkpoints)))
    units += _tracked_units(root, [(path, runs_in(path, found)) for path, found in named.items()])
    homes: dict[str, list[_Unit]] = defaultdict(list)
    for unit in units:
        homes[unit.home].append(unit)
    runs = {home: _split(found, _has_one_checkpoint_set(home, checkpoints, homes)) for home, found in homes.items()}
    _absorb(runs)
    candidates = [
        _candidate(root, home, run, is_alone=len(found) == 1) for home, found in runs.items() for run in found
    ]
    others = {"rollouts": by_role["rollouts"], "configs": by_role["config"], "checkpoints": checkpoints}
    return sorted(_with_others(_unique(candidates), root, others), key=lambda candidate: candidate.id)


def _named_by_the_user(
    path: str, sniff: Callable[[str], str | None], runs_in: Callable[[str, str], list[ContainedRun]]
) -> list[RunCandidate]:
    """A listing of one file and no directory is that file, whatever its name."""
    found = sniff(path)
    if found is None:
        return []
    folder = os.path.dirname(path) or os.curdir
    if found in tracked.FORMATS:
        runs = runs_in(path, found)
        return [
            RunCandidate(
                unit.label or runs[0].name,
                tracked.argument(path, unit.label) if len(runs) > 1 else path,
                unit.files,
                dirs=(folder,),
                inside=unit.inside,
            )
            for unit in _tracked_units(folder, [(path, runs)])
        ]
    name = os.path.splitext(os.path.basename(path))[0]
    return [RunCandidate(name, path, ((path, found),), dirs=(os.path.dirname(path) or os.curdir,))]


def _by_role(listing: Listing, root: str, checkpoints: set[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"metrics": [], "config": [], "rollouts": [], "other": []}
    for file in listing.files:
        in_checkpoint = os.path.dirname(file.path) in checkpoints
        relative = os.path.relpath(file.path, root)
        found[file_roles.role(relative, in_checkpoint)].append(file.path)
    return found


# --- Units and their homes ---------------------------------------------------------------------------------------


def _units(root: str, formats: dict[str, str], checkpoints: set[str]) -> list[_Unit]:
    units: list[_Unit] = []
    wandb: dict[str, list[tuple[str, str]]] = defaultdict(list)
    states: dict[str, list[tuple[str, str]]] = defaultdict(list)
    events: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path, found in formats.items():
        folder = os.path.dirname(path)
        inside = file_roles.wandb_run(os.path.relpath(path, root))
        if inside is not None:
            wandb[os.path.join(root, inside[0])].append((path, found))
        elif found == "tensorboard":
            events[folder].append((path, found))
        elif found == "trainer-state":
            states[os.path.dirname(folder) if folder in checkpoints else folder].append((path, found))
        else:
            name = os.path.basename(path)
            kind = "table" if found in ("jsonl", "csv") else "text" if found.endswith("console") else found
            label, launch = file_roles.label(name), file_roles.launch(name)
            units.append(_Unit(_climb(folder, root), kind, ((path, found),), label, launch, found != "console"))
    for folder, files in wandb.items():
        _, start, run_id = file_roles.wandb_run(os.path.relpath(files[0][0], root)) or ("", "", "")
        parent = os.path.dirname(folder)
        home = os.path.dirname(parent) if os.path.basename(parent) == "wandb" and parent != root else parent
        units.append(_Unit(_climb(home, root), "wandb", tuple(files), launch=f"{start}-{run_id}"))
    for folder, files in states.items():
        units.append(_Unit(_climb(folder, root), "trainer-state", _newest_states(files)))
    units = _one_unit_for_each_wandb_id(units)
    return units + _event_units(root, events, {unit.home for unit in units})


def _tracked_units(root: str, found: list[tuple[str, list[ContainedRun]]]) -> list[_Unit]:
    return [
        _Unit(
            *(_climb(run.folder, root), run.format, ((run.path, run.format),), run.label),
            inside=((run.path, run.key),),
        )
        for run in tracked.tracked(root, found)
    ]


def _climb(folder: str, root: str) -> str:
    """The nearest folder, up to the root, that does more than sort files."""
    while folder != root and file_roles.only_sorts(os.path.basename(folder)):
        folder = os.path.dirname(folder)
    return folder


def _newest_states(files: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    def step(item: tuple[str, str]) -> int:
        digits = "".join(filter(str.isdigit, os.path.basename(os.path.dirname(item[0])).rsplit("-", 1)[-1]))
        return int(digits) if digits and is_checkpoint_dir(os.path.dirname(item[0])) else -1

    ordered = sorted(files, key=step)
    at_top = [item for item in ordered if step(item) < 0]
    return tuple(at_top + [item for item in ordered if step(item) >= 0][-_KEPT_TRAINER_STATES:])


def _one_unit_for_each_wandb_id(units: list[_Unit]) -> list[_Unit]:
    """A resumed W&B run has a folder for each launch and one id: one unit, at the time of its newest launch."""
    kept: dict[tuple[str, str, str], _Unit] = {}
    for number, unit in enumerate(sorted(units, key=lambda unit: unit.launch)):
        is_wandb = unit.kind == "wandb" and "-" in unit.launch  # a copied file has no folder of its own
        key = (unit.home, unit.kind, unit.launch.split("-", 1)[1] if is_wandb else str(number))
        kept[key] = replace(unit, files=kept[key].files + unit.files) if key in kept else unit
    return list(kept.values())


def _event_units(root: str, events: dict[str, list[tuple[str, str]]], homes: set[str]) -> list[_Unit]:
    """TensorBoard folders. One below another (hparams, train/eval splits) belongs to it. The home is the nearest folder
    that is some other file's home, else the parent of the `runs/` or `tensorboard_log/` that collects them."""
    units: dict[str, _Unit] = {}
    for folder in sorted(events):
        above = next((known for known in units if folder.startswith(known + os.sep)), None)
        if above is not None:
            units[above] = replace(units[above], files=units[above].files + tuple(events[folder]))
            continue
        home, name = _event_home(root, folder, homes)
        started = os.path.basename(events[folder][0][0]).partition("tfevents.")[2].split(".")[0]
        launch = started if file_roles.launch(name) else ""
        units[folder] = _Unit(home, "tensorboard", tuple(events[folder]), file_roles.label(name), launch)
    return list(units.values())


def _event_home(root: str, folder: str, homes: set[str]) -> tuple[str, str]:
    """(home, the part of the name that tells it from its siblings) of a folder of event files."""
    current = folder
    while current != root:
        name = os.path.basename(folder) if current != folder else ""
        if current in homes:
            return current, name
        parent, part = os.path.split(current)
        if file_roles.TENSORBOARD_DIR.fullmatch(part):
            return _climb(parent, root), name
        current = parent
    return _climb(folder, root), ""


def _beside_their_events(units: list[_Unit]) -> list[_Unit]:
    """verl writes `<project>/<experiment>.jsonl` beside `tensorboard_log/<project>/<experiment>/`: one home."""
    events = {(unit.home, unit.label) for unit in units if unit.kind == "tensorboard" and unit.label}

    def home(unit: _Unit) -> str:
        parent = os.path.dirname(unit.home)
        return parent if unit.kind == "table" and (parent, unit.label) in events else unit.home

    return [replace(unit, home=home(unit)) for unit in units]


# --- Runs of a home ----------------------------------------------------------------------------------------------


def _split(units: list[_Unit], share_checkpoints: bool) -> list[_Run]:
    """The runs of one home: rules 3 and 4."""
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


def _launches(units: list[_Unit], share_checkpoints: bool) -> list[_Run]:
    """One run with restarts, or a run a launch. Kinds with equally many launches belong together in their order."""
    stamped: dict[str, _Run] = defaultdict(list)
    for unit in sorted(units, key=lambda unit: unit.launch):
        if unit.launch:
            stamped[unit.kind].append(unit)
    count = max((len(found) for found in stamped.values()), default=0)
    if count <= 1 or share_checkpoints:
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


def _has_one_checkpoint_set(home: str, checkpoints: list[str], homes: dict[str, list[_Unit]]) -> bool:
    """Whether all checkpoints below a home (and below no other) lie in one folder."""
    folders = {os.path.dirname(path) for path in checkpoints}
    folders |= {os.path.dirname(path) for unit in homes[home] if unit.kind == "trainer-state" for path, _ in unit.files}
    return len({_set_of(folder) for folder in folders if _nearest(folder, homes) == home}) == 1


def _set_of(folder: str) -> str:
    return os.path.dirname(folder) if is_checkpoint_dir(folder) else folder


def _nearest(path: str, homes: Container[str]) -> str | None:
    """The deepest home at or above a path."""
    while path not in homes:
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent
    return path


def _absorb(runs: dict[str, list[_Run]]) -> None:
    """Rule 5: a single run takes in the single home below it whose run completes it."""
    below: dict[str | None, list[str]] = defaultdict(list)
    for home in runs:
        below[_nearest(os.path.dirname(home), runs)].append(home)
    for home in sorted(runs, key=len, reverse=True):
        if len(runs[home]) != 1 or len(below[home]) != 1 or len(runs[below[home][0]]) != 1:
            continue
        own, other = runs[home][0], runs[below[home][0]][0]
        if {unit.kind for unit in own}.isdisjoint(unit.kind for unit in other):
            runs[home] = [own + other]
            del runs[below[home][0]]


# --- Candidates --------------------------------------------------------------------------------------------------


def _candidate(root: str, home: str, run: _Run, *, is_alone: bool) -> RunCandidate:
    """The run as it is shown: a name unique among its siblings, files in the order in which they are believed."""
    files = sorted((item for unit in run for item in unit.files), key=_belief)
    inside = tuple(item for unit in run for item in unit.inside)
    below = os.path.relpath(home, root)
    place = os.path.basename(os.path.abspath(root)) if below == os.curdir else below
    if is_alone:
        return RunCandidate(place, home, tuple(files), dirs=_folders(home, files), note=_note(run), inside=inside)
    name = next((part for unit in run for part in (unit.label, unit.launch) if part), os.path.basename(files[0][0]))
    only = files[0][0] if len(files) == 1 else home
    if inside and len(files) == 1:
        only = tracked.argument(only, name)
    return RunCandidate(
        name if below == os.curdir else f"{below}/{name}",
        only,
        tuple(files),
        dirs=_folders(os.path.dirname(files[0][0]), files),
        note=_note(run),
        inside=inside,
    )


def _belief(item: tuple[str, str]) -> tuple[int, str]:
    path, found = item
    return (_FORMAT_ORDER.index(found) if found in _FORMAT_ORDER else len(_FORMAT_ORDER), path)


def _folders(home: str, files: list[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({home, *(os.path.dirname(path) for path, _ in files)}))


def _note(run: _Run) -> str:
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
    """Hands configs, rollouts and checkpoints to the run they lie with. What lies with several runs and names none of
    them: a config is everyone's, the rest no one's."""
    given: dict[str, dict[str, list[str]]] = {c.id: defaultdict(list) for c in candidates}
    homes = {
        c.id: os.path.dirname(c.files[0][0]) if c.root.partition(tracked.RUN_MARK)[0] in dict(c.files) else c.root
        for c in candidates
    }
    places = set(homes.values())
    for kind, paths in others.items():
        for path in paths:
            nearest = _nearest(path, places)
            near = [c.id for c in candidates if homes[c.id] == nearest]
            if len(candidates) == 1:
                owners = [candidates[0].id]
            elif len(near) == 1:
                owners = near
            else:
                parts = set(os.path.relpath(path, root).split(os.sep))
                named = [c for c in near if os.path.basename(c) in parts]
                owners = named or (near if kind == "configs" else [])
            for owner in owners:
                given[owner][kind].append(path)
    return [
        replace(
            c,
            rollouts=tuple(given[c.id]["rollouts"]),
            configs=tuple(given[c.id]["configs"]),
            checkpoints=tuple(given[c.id]["checkpoints"]),
        )
        for c in candidates
    ]
