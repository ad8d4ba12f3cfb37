"""Runs every check: if one raises, it is reported with its error, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from rltui.evidence.model import CheckFailed

P = ParamSpec("P")
T = TypeVar("T")

WORDS = 300  # characters of an error


class Guard:
    """The failed checks among those that ran through it. `before`: earlier failures that are still reported."""

    def __init__(self, before: Mapping[str, str] | None = None) -> None:
        self._failed = dict(before or {})

    def ask(self, check: str, otherwise: T, ask: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """The answer of the check; `otherwise` if it raises, which is then reported under its name."""
        try:
            return ask(*args, **named)
        except Exception as error:
            self._failed[check] = error_text(error)
            return otherwise

    def take(self, failed: Mapping[str, str]) -> None:
        """Takes over failures from elsewhere, or from a cached answer."""
        self._failed |= failed

    @property
    def failed(self) -> dict[str, str]:
        """Check -> the newest error."""
        return dict(self._failed)

    def told(self) -> tuple[CheckFailed, ...]:
        """The failures by name, as a report lists them."""
        from rltui.evidence.model import CheckFailed  # not imported at the top: a list of runs needs no check

        return tuple(CheckFailed(check, error) for check, error in sorted(self._failed.items()))


def error_text(error: BaseException) -> str:
    """`ZeroDivisionError: division by zero (reward.py:88)`: one line, without secrets, with the place in our code."""
    from rltui.text import clean  # loads patterns, which the first paint does not need

    frames = extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    said = str(error)
    return clean(f"{type(error).__name__}{': ' if said else ''}{said}", WORDS) + place
