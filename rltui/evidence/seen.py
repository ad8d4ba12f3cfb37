"""What the fact table needs from a look."""

from __future__ import annotations

from typing import Protocol, TypeVar

from rltui.evidence.blocks import Blocks
from rltui.evidence.profile import Profile, RunSettings
from rltui.evidence.trends import WINDOW, Trend
from rltui.run.table import Floats, Ints, Series


class OfSeries(Protocol):
    """Something that is computed from a series alone."""

    @property
    def series(self) -> Series: ...


Worked = TypeVar("Worked", bound=OfSeries)


class Summed(Protocol):
    """What is kept of a metric beside its values, so that no look computes it again. `window`: the rows of the first
    and the last window, if the user sets them."""

    window: int | None

    def blocks(self, name: str) -> Blocks | None: ...

    def trend(self, name: str, window: int = WINDOW) -> Trend: ...


class Seen(Summed, Protocol):
    """The first rows of a run (`Look`), as far as the facts need them."""

    n: int
    step: int
    steps: Ints
    times: Floats
    settings: RunSettings

    @property
    def reward(self) -> str: ...

    @property
    def profile(self) -> Profile: ...

    def series(self, name: str) -> Series | None: ...

    def family(self, name: str) -> dict[str, Series]: ...

    def forced(self, name: str) -> bool: ...

    def kept(self, name: str, facts: Worked) -> Worked: ...

    def restarts(self, rows: int) -> list[int]: ...
