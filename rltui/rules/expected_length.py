"""Expectations of causes about the room that answers have within the length limit."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from rltui.data_files import Record
from rltui.rules.bounds import Bound, Unmet


class Room(Record, frozen=True, tag="room", tag_field="test"):
    """What the mean answer took of the length limit where the reward was best ("best"), or what the answers that end
    take of it now, if most do not ("ended")."""

    op: Bound
    share: Annotated[float, Meta(gt=0, le=1)]
    of: Literal["best", "ended"] = "best"
    unmet: Unmet = "contradicts"
    decisive: bool = False
