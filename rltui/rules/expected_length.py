"""Expectations of causes about answers and the length limit."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from rltui.data_files import Record
from rltui.rules.bounds import Bound, Unmet


class TookOfLimit(Record, frozen=True, tag="of the limit", tag_field="test"):
    """The share of the length limit that the mean answer took when the reward was best ("best"), or that the answers
    which end take now, if most do not ("ended")."""

    op: Bound
    share: Annotated[float, Meta(gt=0, le=1)]
    of: Literal["best", "ended"] = "best"
    unmet: Unmet = "contradicts"
    decisive: bool = False
