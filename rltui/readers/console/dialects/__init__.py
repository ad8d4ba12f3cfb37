"""Console dialects beyond verl's and TRL's. A new one is a small module here and a place in `DIALECTS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rltui.readers.console.dialects.base import LineDialect
from rltui.readers.console.dialects.box_table import BoxTable
from rltui.readers.console.dialects.dict_block import DictBlock
from rltui.readers.console.dialects.environments import Environments
from rltui.readers.console.dialects.epoch_steps import EpochSteps
from rltui.readers.console.dialects.metrics_panel import MetricsPanel
from rltui.readers.console.dialects.roll import RollJson
from rltui.readers.console.dialects.rollout_dicts import RolloutDicts

DIALECTS: tuple[Callable[[], LineDialect], ...] = (
    BoxTable,
    DictBlock,
    Environments,
    EpochSteps,
    MetricsPanel,
    RollJson,
    RolloutDicts,
)
"""Asked in this order; the first that knows a line keeps it."""


def knows(messages: Iterable[tuple[str, str]]) -> bool:
    """Whether one of the dialects finds a step in these lines, (prefix, message) each."""
    dialects = [dialect() for dialect in DIALECTS]
    for prefix, message in messages:
        for dialect in dialects:
            if (dialect.is_open or any(mark in message for mark in dialect.marks)) and dialect.line(prefix, message):
                return True
    return any(dialect.close() for dialect in dialects)
