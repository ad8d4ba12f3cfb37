"""Expectations of causes about answers and the length limit."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from rltui.data_files import Record
from rltui.rules.bounds import Bound, Unmet


class TookOfLimit(Record, frozen=True, tag="of the limit", tag_field="test"):
    """The share of the length limit that the mean answer took when the reward was best ("best"), or that the answers
    which end by themselves take now, if most do not ("ended")."""

    op: Bound
    share: Annotated[float, Meta(gt=0, le=1)]
    of: Literal["best", "ended"] = "best"
    unmet: Unmet = "contradicts"
    decisive: bool = False


class CouldCost(Record, frozen=True, tag="could cost", tag_field="test"):
    """The additional truncated answers could have cost this share of what the score lost, if each went from the highest
    reward to the lowest. `assumed`: a condition of the cause, not a proof of it."""

    share: Annotated[float, Meta(gt=0, le=1)]
    assumed: bool = True
    unmet: Unmet = "contradicts"
    decisive: bool = False
