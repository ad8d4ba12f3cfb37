"""Progress bars of tqdm, as they stand in a log."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BAR = re.compile(
    rb"^[ ]*(?:(?P<name>[\w .\-/]+):[ ]+)?\d{1,3}%\|[^|]{0,1000}\|[ ]*(?P<done>\d{1,12})/(?P<total>\d{1,12})[ ]\["
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A painted bar. `nested`: it stands below another one (an evaluation's bar within the training's)."""

    done: int
    total: int
    name: str
    nested: bool


def bar(segment: bytes) -> Bar | None:
    """The bar that a segment starts with, None where there is none. Text of other output may be glued after it."""
    found = _BAR.match(segment)
    if found is None:
        return None
    name = (found["name"] or b"").decode("ascii", "replace")
    return Bar(int(found["done"]), int(found["total"]), name, segment.endswith(b"\x1b[A"))
