"""Console dialects beyond verl's and TRL's. A new one is a small module here and a place in `DIALECTS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rltui.readers.console.dialects.base import LineDialect, Step
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


class Dialects:
    """One of each, for one log: together they are asked like one."""

    def __init__(self) -> None:
        self._each = [dialect() for dialect in DIALECTS]
        self.marks = [mark for dialect in self._each for mark in dialect.marks]

    @property
    def is_open(self) -> bool:
        """Whether any line may matter that follows."""
        return any(dialect.is_open for dialect in self._each)

    def line(self, prefix: str, message: str) -> list[Step] | None:
        """Steps that are complete with this line; None for a line that none of them knows."""
        for dialect in self._each:
            if dialect.is_open or any(mark in message for mark in dialect.marks):
                done = dialect.line(prefix, message)
                if done is not None:
                    return done
        return None

    def close(self) -> list[Step]:
        """The file ends here: what is held back."""
        return [step for dialect in self._each for step in dialect.close()]


def knows(messages: Iterable[tuple[str, str]]) -> bool:
    """Whether one of the dialects finds a step in these lines, (prefix, message) each."""
    dialects = Dialects()
    return any(dialects.line(prefix, message) for prefix, message in messages) or bool(dialects.close())
