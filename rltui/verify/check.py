"""One printed line of verify."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from rltui.verify.adapters import raised

STAGES = ("reward", "advantages", "log-probs", "loss", "generation")
Mark = Literal["", "?", "!!", "skip"]


@dataclass(frozen=True, slots=True)
class Check:
    """`stage` is one of the five of the pipeline. `value` is what was measured, `how` what it was held against.

    `mark`: "" passes, "?" is doubtful and wants a look, "!!" is a violation beyond doubt, "skip" was not looked at.
    """

    stage: str
    name: str
    mark: Mark
    value: str
    how: str = ""


def guarded(stage: str, name: str, probe: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """What the probe finds; one that raises is itself a failure. `SystemExit` too: the functions are the user's."""
    found: list[Check] = []
    try:
        found.extend(probe())
    except (Exception, SystemExit) as error:
        found.append(Check(stage, name, "!!", raised(error), "the probe must not raise"))
    yield from found
