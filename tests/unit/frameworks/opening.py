"""A run read to its end, for the tests of frameworks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rltui.run.run import Run
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader


def opened(path: Path) -> RunReader:
    """The only run at a path."""
    (found,) = locate([str(path)])
    one = RunReader(found)
    one.load()
    return one


@cache
def opened_once(path: Path) -> RunReader:
    """The same for files that no test changes, and tests that only ask: to read a labelled run takes seconds."""
    return opened(path)


def check_config(run: Run, expected: Mapping[str, object]) -> None:
    """The config that was read holds these values by their canonical names."""
    assert {key: run.config[key].value for key in expected} == expected
