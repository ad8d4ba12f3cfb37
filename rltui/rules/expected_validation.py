"""Expectations of causes about validation beside the train reward."""

from __future__ import annotations

from rltui.data_files import Record
from rltui.rules.bounds import Unmet


class HeldOut(Record, frozen=True, tag="held out", tag_field="test"):
    """Any validation set lost its share of what the train reward lost since the onset (`falls`), or none of them did.
    `assumed`: a condition of the cause, not a proof of it; it counts as met if nothing was validated."""

    falls: bool
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False
