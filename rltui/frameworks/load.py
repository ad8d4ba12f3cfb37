"""The data files, read once each: metrics, phases, config keys, algorithms, and one file a framework.

To tell a framework, the signs of all of them are looked at, and the names of one are needed; the first values on the
screen wait for it. So a file is read when it is asked for, and checked as it is.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from rltui.data_files import decode, read, wrong
from rltui.frameworks.check import Kind, misnamed, no_regexes
from rltui.frameworks.dialect import Dialect
from rltui.frameworks.schema import Algorithms, Framework, Group, Metric, Phase
from rltui.frameworks.spelling import spellings

GENERIC = "generic"
"""The dialect of home-made training loops; its exact aliases are the last resort of every other dialect."""

_DATA = Path(__file__).with_name("data")


@cache
def metrics() -> dict[str, Metric]:
    """Canonical name -> metric, in the order in which a tie between two of them is decided."""
    found = read(_DATA / "metrics.json", dict[str, Metric])
    return {name: replace(metric, name=name) for name, metric in found.items()}


@cache
def phases() -> dict[str, Phase]:
    """Name -> part of a training step, in the order in which a step runs them."""
    found = read(_DATA / "phases.json", dict[str, Phase])
    return {name: replace(phase, name=name) for name, phase in found.items()}


@cache
def config_meanings() -> dict[str, str]:
    """Canonical config key -> meaning."""
    return read(_DATA / "config.json", dict[str, str])


@cache
def algorithms() -> Algorithms:
    """How an algorithm is told."""
    return read(_DATA / "algorithms.json", Algorithms)


@cache
def prefix_groups() -> dict[str, Group]:
    """First part or parts of a key -> group, for keys that no dialect knows."""
    return read(_DATA / "groups.json", dict[str, Group])


@cache
def dialect_names() -> tuple[str, ...]:
    """The names of all files of frameworks."""
    names = (entry.name for entry in (_DATA / "frameworks").iterdir())
    return tuple(sorted(name[:-5] for name in names if name.endswith(".json")))


@cache
def dialect(name: str | None) -> Dialect:
    """The dialect of this name; the generic one for None and for a name without a file. Raises DataError."""
    if name not in dialect_names() or name is None:
        return dialect(GENERIC)
    said = _framework(name)
    _no_circle(name)
    return Dialect(name, said, dialect(said.extends) if said.extends else None, tuple(metrics()))


def check() -> int:
    """Reads every data file with all that is in it, and returns how many. Raises DataError."""
    whole = (metrics, phases, config_meanings, algorithms, prefix_groups, spellings)
    for read_it in whole:
        read_it()
    for name in dialect_names():
        dialect(name)
        for keys, problem in no_regexes(_framework(name)):
            raise wrong(_file(name).read_bytes(), str(_file(name)), keys, problem)
    return len(whole) + len(dialect_names())


def _file(name: str) -> Path:
    return _DATA / "frameworks" / f"{name}.json"


@cache
def _framework(name: str) -> Framework:
    text = _file(name).read_bytes()
    said = decode(text, Framework, str(_file(name)))
    known: dict[Kind, Collection[str]] = {
        "metric": metrics(),
        "phase": phases(),
        "setting": config_meanings(),
        "framework": dialect_names(),
    }
    for keys, problem in misnamed(said, known):
        raise wrong(text, str(_file(name)), keys, problem)
    return said


def _no_circle(name: str) -> None:
    seen = [name]
    while (other := _framework(seen[-1]).extends) is not None:
        if other in seen:
            raise wrong(_file(name).read_bytes(), str(_file(name)), ["extends"], f"a circle: {', '.join(seen)}")
        seen.append(other)


def enable(metric: str, name: str | None) -> str:
    """How to have a metric logged, in words or keys; `name` is the dialect's."""
    return dialect(name).enable.get(metric) or dialect(GENERIC).enable.get(
        metric, f"log {metric} from the training loop"
    )


def keep_samples(name: str | None) -> str:
    """How to have prompts and completions written."""
    return dialect(name).keep_samples or dialect(GENERIC).keep_samples
