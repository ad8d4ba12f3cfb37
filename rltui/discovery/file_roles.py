"""Finds the role of a file in a run by its path alone: a metric file to be sniffed, a config, a rollout dump, or none.

Also finds what the name of a file or folder says about the run: a label (`exp3` of `exp3_train.log`), a launch (a time
stamp or a job number), or only a role (`console.log`, `train_metrics.jsonl`).
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Literal

from rltui.data_files import Record, kept, read
from rltui.frameworks.load import dialect, dialect_names
from rltui.lazy_regex import lazy
from rltui.readers.column_kind import is_called_like_metrics
from rltui.readers.name_words import words
from rltui.readers.step_files import EVALUATIONS, family, is_of_step

Role = Literal["metrics", "config", "rollouts", "other"]

SAMPLE_DIR = lazy(
    r"(?:.*[-_])?(?:rollouts?|generations?|completions?|samples?|trajector(?:y|ies))(?:[-_](?:data|dump|dir))?", re.I
)
_SAMPLE_FILE = lazy(
    r"(?:\d+\.jsonl|.*\.parquet|.*(?:rollout|completion|generation|sample|trajector).*\.(?:jsonl|json))", re.I
)
_SAMPLE_TABLE = lazy(
    r"(?:.*[-_])?(?:rollout|generation|completion|sample|trajectorie|trajectory|group|episode|transcript|conversation)s?"
    r"(?:[-_](?:step[-_]?)?\d+)?\.(?:csv|tsv|jsonl)",
    re.I,
)
"""Tables of text whose names end with a word for samples. `rollout_metrics.csv` is not one."""
_CONFIG_FILE = lazy(
    r"(?:args|training_args|params|hparams|hyperparameters|meta|metadata|wandb-metadata|run_config|.*config.*)\.(?:json|ya?ml|toml)",
    re.I,
)
MLFLOW_RUN = "meta.yaml"
"""This file marks its folder as a run of an MLflow file store."""
_METRIC_JSON = lazy(r"(?:.*trainer_state|.*log_history|.*metrics.*|.*history.*)\.(?:json|ya?ml|toml)", re.I)
_BY_DATE = r"[.\-]20\d\d-?[01]\d-?[0-3]\d(?:[_\-T.][0-2]\d[-:.]?[0-5]\d(?:[-:.]?[0-5]\d)?)?"
"""The date that log rotation appends to the name of an older log."""
_PACKED = r"(?:\.(?:gz|xz|zst|bz2))?"
_OLDER = rf"(?:\.\d{{1,4}})?{_PACKED}"
"""The number that log rotation appends to the name of an older log."""
_METRIC_FILE = lazy(
    rf".*\.(?:log|out|err|txt|jsonl|ndjson|csv|tsv|ipynb|wandb|swanlab|db|sqlite3?){_OLDER}"
    rf"|.*\.(?:log|out|err|txt|jsonl|csv){_BY_DATE}{_PACKED}"
    r"|.*tfevents.*|.*\.[oe]\d+|[^.]+",
    re.I,
)
_ROTATED = lazy(rf"(\.(?:log|out|err|txt|jsonl|csv)){_BY_DATE}(?=$|\.(?:gz|xz|zst|bz2)$)", re.I)
_TRACKER_RUN_DIR = lazy(r"(?:offline-)?run-(?P<time>\d{8}_\d{6})-(?P<id>[\w-]+)")

_ATTEMPT = lazy(r"attempt[-_]?\d{1,6}", re.I)


class FileWords(Record):
    """`structure_folders`: folders that only sort the files of a run. `role_words`: words that only name a file's role.
    `part_words`: role words that name a part of a training. `measured_words`: what a file may measure, besides the
    names of metrics."""

    structure_folders: frozenset[str]
    role_words: frozenset[str]
    part_words: frozenset[str]
    measured_words: frozenset[str]


@kept
def _file_words() -> FileWords:
    return read(Path(__file__).with_name("file_words.json"), FileWords)


TENSORBOARD_DIR = lazy(r"(?:runs|tensorboard.*|tb|tb[-_]?logs?|tfevents|events|lightning_logs|logs?)", re.I)
_TIME_WORD = lazy(r"\d+|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\d{2}", re.I)
_HF_LAUNCH_DIR = lazy(
    r"[A-Z][a-z]{2}\d{2}_\d{2}-\d{2}-\d{2}_.*"
)  # the name that HF and PyTorch give a TensorBoard folder


def role(relative: str, in_checkpoint: bool) -> Role:
    """The role of a file by its path below the listed root."""
    folders, name = relative.split(os.sep)[:-1], os.path.basename(relative)
    if in_checkpoint:
        if name == "trainer_state.json" or is_of_step(relative):
            return "metrics"
        return "config" if name in _settings_of_checkpoints() else "other"
    if ".hydra" in folders:
        return "config" if name in ("config.yaml", "overrides.yaml") else "other"
    if tracker_run(relative) is not None:
        return _tracker_role(folders, name)
    if "wandb" in folders:
        return "other"
    is_dump = name.endswith((".jsonl", ".json", ".parquet"))
    if is_called_like_metrics(name) and not any(SAMPLE_DIR.fullmatch(folder) for folder in folders):
        return "metrics"
    if (
        _SAMPLE_FILE.fullmatch(name)
        or _SAMPLE_TABLE.fullmatch(name)
        or (is_dump and any(SAMPLE_DIR.fullmatch(folder) for folder in folders))
    ):
        return "rollouts"
    if is_dump and any(pattern.search(relative.replace(os.sep, "/")) for pattern in _dumps()):
        return "rollouts"
    if _METRIC_JSON.fullmatch(name) or name == MLFLOW_RUN:
        return "metrics"
    if _CONFIG_FILE.fullmatch(name) or (folders[-1:] == ["configs"] and name.endswith((".toml", ".yaml", ".yml"))):
        return "config"
    if name.endswith(".json"):
        return "metrics"  # the content decides later
    return "metrics" if _METRIC_FILE.fullmatch(name) else "other"


def may_hold_rows(relative: str) -> bool:
    """Whether a file that is named like a sample dump may hold metrics: it is not in a folder of samples, and its name
    does not end with a number, as the names of numbered dumps do."""
    *folders, name = relative.split(os.sep)
    stem, suffix = os.path.splitext(name)
    is_one = suffix in (".jsonl", ".csv", ".tsv") and not stem[-1:].isdigit()
    return is_one and not any(SAMPLE_DIR.fullmatch(folder) for folder in folders)


@cache
def _dumps() -> tuple[re.Pattern[str], ...]:
    """Path patterns of the files in which frameworks put prompts and completions."""
    return tuple({p.pattern: p for name in dialect_names() for p in dialect(name).samples}.values())


@cache
def _settings_of_checkpoints() -> frozenset[str]:
    """Names of the files in checkpoints in which frameworks keep the run's settings."""
    return frozenset(file for name in dialect_names() for file in dialect(name).checkpoints.settings)


def tracker_run(relative: str) -> tuple[str, str, str] | None:
    """For a file below a launch directory of W&B or SwanLab: (that directory, its start "YYYYMMDD_HHMMSS", its id).
    None for any other file."""
    parts = relative.split(os.sep)
    for depth, part in enumerate(parts[:-1]):
        if match := _TRACKER_RUN_DIR.fullmatch(part):
            return os.sep.join(parts[: depth + 1]), match["time"], match["id"]
    return None


def only_sorts(folder: str) -> bool:
    """Whether a folder of this name only sorts the files of one run, so that its parent is the run's folder. prime-rl
    makes such a folder for each attempt."""
    return folder.lower() in _file_words().structure_folders or _ATTEMPT.fullmatch(folder) is not None


_TRAINING = frozenset(("train", "training", "trainer"))


def evaluates(path: str) -> bool:
    """Whether the name of a file or of its folder shows that its rows belong to an evaluation."""
    folder, name = os.path.split(path)
    words = {word.lower() for word in re.split(r"[^A-Za-z0-9]+", name.partition(".tfevents.")[0])}
    named = family(path)
    above = os.path.basename(folder).lower() in EVALUATIONS or (named is not None and named.evaluates)
    return bool(words & EVALUATIONS or above) and not words & _TRAINING


def label(name: str) -> str:
    """What a name says besides its role: `exp3` for `exp3_train.log`; "" for `console.log` and for a bare time stamp or
    job number."""
    words = _words(name)
    return (
        "" if all(_TIME_WORD.fullmatch(word) for word in words) or _HF_LAUNCH_DIR.fullmatch(name) else "-".join(words)
    )


_SHARD = lazy(
    r"(?:(?:[-_.]|(?<![A-Za-z]))(?:part|shard|chunk|segment)[-_.]?(\d+)|[-_.](0\d{4,}))(?=\.|$|-of-\d+)", re.I
)
"""A counter that numbers the pieces of one file. It follows a word for a piece, or is padded with zeros to five
digits."""


def shard(name: str) -> tuple[str, int] | None:
    """The name without its shard's counter, and that counter; None if the name has no counter."""
    found = _SHARD.search(name)
    return None if found is None else (without_shard(name), int(found[1] or found[2]))


def without_shard(name: str) -> str:
    """`metrics.jsonl` for `metrics-00003.jsonl`."""
    return _SHARD.sub("", name, count=1)


_END_OF_PIECE = lazy(rf"{_OLDER}$")


def log_of(path: str) -> str:
    """The log to which a piece belongs: `train.log` for `train.log.2.gz`, `a.jsonl` for `a-00003.jsonl`."""
    folder, name = os.path.split(path)
    return os.path.join(folder, without_shard(_ROTATED.sub(r"\1", _END_OF_PIECE.sub("", name))))


def only_measures(label: str) -> bool:
    """Whether a label only says what the file measures: `kl`, `grad-norm`."""
    known = words()
    measured = known.training | known.durations | known.timings | known.statistics | _file_words().measured_words
    return all(word.lower() in measured for word in label.split("-"))


def part(name: str) -> str:
    """The part of a training, if a file's name consists only of it: `policy` for `policy.jsonl`; else ""."""
    stem = name.partition(".")[0].lower()
    return stem if stem in _file_words().part_words else ""


def goes_on(name: str, part: str) -> bool:
    """Whether a name begins with this part and continues with a label: `policy_b.jsonl`."""
    return re.match(rf"{re.escape(part)}[-_]\w", name, re.I) is not None and not only_measures(label(name))


def launch(name: str) -> str:
    """The time stamp or job number as text that sorts by time, if a name says nothing else besides its role; else
    ""."""
    if _HF_LAUNCH_DIR.fullmatch(name):
        return name
    words = _words(name)
    return "-".join(words) if words and all(_TIME_WORD.fullmatch(word) for word in words) else ""


def _words(name: str) -> list[str]:
    name = _ROTATED.sub(r"\1", name)
    stem = re.sub(r"(?:\.(?:log|out|err|txt|jsonl|ndjson|json|csv|tsv|gz|xz|zst|bz2|\d{1,4}))+$", "", name)
    return [word for word in re.split(r"[^A-Za-z0-9]+", stem) if word and word.lower() not in _file_words().role_words]


def _tracker_role(folders: list[str], name: str) -> Role:
    if name.endswith((".wandb", ".swanlab")) or (name == "output.log" and folders[-1] == "files"):
        return "metrics"
    if name in ("config.yaml", "wandb-metadata.json") and folders[-1] == "files":
        return "config"
    return "rollouts" if name.endswith(".table.json") else "other"
