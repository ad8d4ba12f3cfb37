"""Groups files below a directory into units that certainly belong together, each with its home folder."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Container

from msgspec import Struct
from msgspec.structs import replace

from rltui.agent.tree import is_checkpoint_dir
from rltui.discovery import file_roles
from rltui.discovery.file_roles import MLFLOW_RUN
from rltui.readers import step_files
from rltui.readers.base import ContainedRun
from rltui.readers.formats import CONSOLES, SEVERAL

FORMATS = ("sqlite", "mlflow-files", SEVERAL)
"""Formats of files that may hold several runs, so that the runs must be looked up in the files."""

RUN_MARK = "#"
"""Separates a database from the name of one of its runs, in what the user types and sees."""


class TrackedRun(Struct, frozen=True):
    """A run in a database or file store. `folder`: the folder that holds the database or the store."""

    folder: str
    path: str
    format: str
    key: str
    label: str


def no_runs(path: str, format: str) -> list[ContainedRun]:
    """Returns no runs, for callers that do not look into databases."""
    return []


def tracked(root: str, found: list[tuple[str, list[ContainedRun]]]) -> list[TrackedRun]:
    """The runs in files below `root`, labelled by their names. The only run of a database needs no label: all other
    files there belong to it."""
    names = Counter(run.name for _, runs in found for run in runs)
    out = []
    for path, runs in found:
        for run in runs:
            is_store = run.format == "mlflow-files"
            label = run.name if names[run.name] == 1 else f"{run.name}-{run.key[:8]}"
            folder = _above_store(path, root) if is_store else os.path.dirname(path)
            out.append(TrackedRun(folder, path, run.format, run.key, label if is_store or len(runs) > 1 else ""))
    return out


def argument(path: str, name: str) -> str:
    """What the user types to name one of several runs: `DATABASE#NAME`, or the run's folder in a file store."""
    return os.path.dirname(path) if os.path.basename(path) == MLFLOW_RUN else f"{path}{RUN_MARK}{name}"


def _above_store(meta: str, root: str) -> str:
    """The folder that holds the store of a run (`mlruns/<experiment>/<run>/meta.yaml`), never above the root."""
    folder = os.path.dirname(meta)
    for _ in range(3):
        if folder == root:
            break
        folder = os.path.dirname(folder)
    return folder


NOTEBOOK = "notebook"
STREAMS = (".out", ".err")
_KEPT_TRAINER_STATES = 2  # each holds the whole history so far; two in case the last one is broken


class Unit(Struct, frozen=True):
    """Files that certainly belong together: one log, one event folder, one W&B directory, the states of one trainer.
    `attempts`: the logs of each launch, if they are known to belong to one run."""

    home: str
    kind: str  # "text" | "table" | "trainer-state" | the name of a container's format
    files: tuple[tuple[str, str], ...]
    label: str = ""
    launch: str = ""
    is_known: bool = True  # written by a known trainer, or a metric container; False for any other text
    inside: tuple[tuple[str, str], ...] = ()
    attempts: tuple[tuple[str, ...], ...] = ()


def units_of(root: str, formats: dict[str, str], checkpoints: set[str]) -> list[Unit]:
    """Groups metric files into units. `formats`: path -> format. `checkpoints`: the folders of weights."""
    units: list[Unit] = []
    launches: dict[str, list[tuple[str, str]]] = defaultdict(list)
    states: dict[str, list[tuple[str, str]]] = defaultdict(list)
    events: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for path, found in formats.items():
        folder = os.path.dirname(path)
        inside = file_roles.tracker_run(relative(root, path))
        if inside is not None:
            launches[os.path.join(root, inside[0])].append((path, found))
        elif found == "tensorboard":
            events[folder].append((path, found))
        elif found == "trainer-state":
            states[os.path.dirname(folder) if folder in checkpoints else folder].append((path, found))
        else:
            name = os.path.basename(path)
            kind = "table" if found in ("jsonl", "csv") else "text" if found.endswith("console") else found
            label, launch = file_roles.label(name), file_roles.launch(name)
            if found == step_files.FORMAT:
                label = launch = ""
            home = folder if found != step_files.FORMAT or (named := step_files.family(path)) is None else named.home
            units.append(Unit(climb(home, root), kind, ((path, found),), label, launch, found != "console"))
    for folder, files in launches.items():
        _, start, run_id = file_roles.tracker_run(os.path.relpath(files[0][0], root)) or ("", "", "")
        parent = os.path.dirname(folder)
        home = os.path.dirname(parent) if os.path.basename(parent) == "wandb" and parent != root else parent
        kind = "swanlab" if any(found == "swanlab" for _, found in files) else "wandb"
        units.append(Unit(climb(home, root), kind, tuple(files), launch=f"{start}-{run_id}"))
    for folder, files in states.items():
        units.append(Unit(climb(folder, root), "trainer-state", _newest_states(files)))
    if any(unit.kind != NOTEBOOK for unit in units) or states or events:
        units = [unit for unit in units if unit.kind != NOTEBOOK]  # a notebook beside a run is somebody's analysis
    units = _by_their_neighbours(_shards_together(_streams_together(_one_unit_for_each_id(units))))
    return units + _event_units(root, events, {unit.home for unit in units})


def tracked_units(root: str, found: list[tuple[str, list[ContainedRun]]]) -> list[Unit]:
    """A unit for each run that the databases and stores of a tracker hold."""
    return [
        Unit(
            *(climb(run.folder, root), run.format, ((run.path, run.format),), run.label),
            inside=((run.path, run.key),),
        )
        for run in tracked(root, found)
    ]


def table_units(root: str, found: list[tuple[str, list[ContainedRun]]]) -> list[Unit]:
    """The units of tables that may hold several runs. Tables of one metric each form one unit if they name the same
    run, because charts are downloaded one by one. Two tables of the same metric belong to two runs."""
    units: list[Unit] = []
    joined: dict[tuple[str, str], list[tuple[str, ContainedRun]]] = defaultdict(list)
    for path, runs in found:
        for run in runs:
            if run.metric:
                joined[os.path.dirname(path), run.name].append((path, run))
            else:
                units.append(_table_unit(root, path, run, run.name if len(runs) > 1 else ""))
    named = Counter(folder for folder, _ in joined)
    for (folder, name), parts in joined.items():
        label = name if named[folder] > 1 else ""
        if len({run.metric for _, run in parts}) < len(parts) or len(parts) == 1:
            units += [_table_unit(root, path, run, label) for path, run in parts]
            continue
        files = tuple((path, run.format) for path, run in parts)
        inside = tuple((path, run.key) for path, run in parts if run.key)
        units.append(Unit(climb(folder, root), "table", files, label, inside=inside))
    return units


def _table_unit(root: str, path: str, run: ContainedRun, label: str) -> Unit:
    name = os.path.basename(path)
    own = label or file_roles.label(name)
    launch = "" if label else file_roles.launch(name)
    inside = ((path, run.key),) if run.key else ()
    kind = "text" if run.format in CONSOLES else "table"
    return Unit(climb(os.path.dirname(path), root), kind, ((path, run.format),), own, launch, inside=inside)


def step_files_of(paths: list[str]) -> dict[str, list[str]]:
    """First file -> the others, for files whose paths differ only by the number of the step."""
    numbered: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for path in paths:
        if (named := step_files.family(path)) is not None:
            numbered[named.paths].append((named.number, path))
    families = {found[0][1]: [path for _, path in found[1:]] for found in map(sorted, numbered.values())}
    return {
        first: others
        for first, others in families.items()
        if step_files.are_enough(first, 1 + len(others), file_roles.evaluates(first))
    }


def nearest(path: str, homes: Container[str | None]) -> str | None:
    """The deepest home at or above a path; None if there is none."""
    while path not in homes:
        parent, slash, _ = path.rpartition("/")  # takes a third of the time of `dirname`, for thousands of runs
        parent = parent or slash
        if parent == path:
            return None
        path = parent
    return path


def relative(root: str, path: str) -> str:
    """The path relative to the root. For paths below the root it takes a tenth of the time of `os.path.relpath`."""
    inside = path.removeprefix(root.rstrip("/") + "/")
    return inside if len(inside) < len(path) else os.path.relpath(path, root)


def climb(folder: str, root: str) -> str:
    """The nearest folder at or above this one, up to the root, that does more than sort files."""
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


def _one_unit_for_each_id(units: list[Unit]) -> list[Unit]:
    """Joins launches of W&B or SwanLab with the same id into one unit, because a resumed run has a folder for each
    launch. The unit has the time of the newest."""
    kept: dict[tuple[str, str, str], Unit] = {}
    for number, unit in enumerate(sorted(units, key=lambda unit: unit.launch)):
        has_id = unit.kind in ("wandb", "swanlab") and "-" in unit.launch  # a copied file has no folder of its own
        key = (unit.home, unit.kind, unit.launch.split("-", 1)[1] if has_id else str(number))
        kept[key] = replace(unit, files=kept[key].files + unit.files) if key in kept else unit
    return list(kept.values())


def _by_their_neighbours(units: list[Unit]) -> list[Unit]:
    """Corrects labels by the other tables in the same folder. A table named only by what it measures
    (`kl_stats.jsonl`) belongs to the run of an unlabelled table beside it. A part that several names begin with
    (`policy.jsonl` beside `policy_b.jsonl`) is the label of an experiment."""
    tables: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        if unit.kind == "table" and not unit.launch:
            tables[unit.home].append(unit)

    def label(unit: Unit) -> str:
        beside = [other for other in tables[unit.home] if other is not unit]
        name = os.path.basename(unit.files[0][0])
        if unit.label and file_roles.only_measures(unit.label) and any(not other.label for other in beside):
            return ""
        if not unit.label and (part := file_roles.part(name)):
            others = [os.path.basename(other.files[0][0]) for other in beside if other.label]
            return part if any(file_roles.goes_on(other, part) for other in others) else ""
        return unit.label

    known = {id(unit): label(unit) for found in tables.values() for unit in found}
    return [replace(unit, label=known.get(id(unit), unit.label)) for unit in units]


def _streams_together(units: list[Unit]) -> list[Unit]:
    """Joins the two streams of a job, as Slurm stores them: `slurm-7.out` and `slurm-7.err` are one log."""
    whole: dict[str, Unit] = {}
    out: list[Unit] = []
    for unit in units:
        stem, suffix = os.path.splitext(unit.files[0][0])
        if unit.kind != "text" or len(unit.files) > 1 or suffix not in STREAMS:
            out.append(unit)
        elif stem in whole:
            other = whole[stem]
            known = unit.is_known or other.is_known
            whole[stem] = replace(other, files=other.files + unit.files, is_known=known)
        else:
            whole[stem] = unit
    return out + list(whole.values())


def _shards_together(units: list[Unit]) -> list[Unit]:
    """Joins the shards of one log: `metrics-00000.jsonl` and `metrics-00001.jsonl`. Their numbers count up from 0 or 1
    without a gap; otherwise they number experiments."""
    found: dict[tuple[str, str, str], dict[int, Unit]] = defaultdict(dict)
    for unit in units:
        named = file_roles.shard(os.path.basename(unit.files[0][0])) if len(unit.files) == 1 else None
        if named is not None:
            found[unit.home, unit.kind, named[0]][named[1]] = unit
    out = {id(unit): unit for unit in units}
    for numbered in found.values():
        order = sorted(numbered)
        if len(order) > 1 and order[0] in (0, 1) and order[-1] - order[0] == len(order) - 1:
            shards = [numbered[number] for number in order]
            for one in shards:
                del out[id(one)]
            files = tuple(file for one in shards for file in one.files)
            label = file_roles.label(file_roles.without_shard(os.path.basename(files[0][0])))
            whole = replace(shards[0], files=files, label=label, launch="", is_known=any(s.is_known for s in shards))
            out[id(whole)] = whole
    return list(out.values())


def _event_units(root: str, events: dict[str, list[tuple[str, str]]], homes: set[str]) -> list[Unit]:
    """A unit for each TensorBoard folder. A folder below another one (hparams, train/eval splits) belongs to it. The
    home is the nearest folder that is the home of some other file, else the parent of `runs/` or `tensorboard_log/`."""
    units: dict[str, Unit] = {}
    for folder in sorted(events):
        above = nearest(os.path.dirname(folder), units)
        if above is not None:
            units[above] = replace(units[above], files=units[above].files + tuple(events[folder]))
            continue
        home, name = _event_home(root, folder, homes)
        started = os.path.basename(events[folder][0][0]).partition("tfevents.")[2].split(".")[0]
        launch = started if file_roles.launch(name) else ""
        units[folder] = Unit(home, "tensorboard", tuple(events[folder]), file_roles.label(name), launch)
    return list(units.values())


def _event_home(root: str, folder: str, homes: set[str]) -> tuple[str, str]:
    """For a folder of event files: (home, the part of its name that differs from its siblings)."""
    current = folder
    while current != root:
        name = os.path.basename(folder) if current != folder else ""
        if current in homes:
            return current, name
        parent, part = os.path.split(current)
        if file_roles.TENSORBOARD_DIR.fullmatch(part):
            return climb(parent, root), name
        current = parent
    return climb(folder, root), ""


def beside_their_events(units: list[Unit]) -> list[Unit]:
    """Gives a table the home of its TensorBoard events, if that is the folder above: verl writes
    `<project>/<experiment>.jsonl` beside `tensorboard_log/<project>/<experiment>/`."""
    events = {(unit.home, unit.label) for unit in units if unit.kind == "tensorboard" and unit.label}

    def home(unit: Unit) -> str:
        parent = os.path.dirname(unit.home)
        return parent if unit.kind == "table" and (parent, unit.label) in events else unit.home

    return [replace(unit, home=home(unit)) for unit in units]
