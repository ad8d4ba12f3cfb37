"""Expectations of causes about validation beside the train reward."""

from __future__ import annotations

from rltui.data_files import Record
from rltui.rules.bounds import Unmet


class HeldOut(Record, frozen=True, tag="held out", tag_field="test"):
    """Validation, of several sets any, lost its share of what the train reward lost since the onset (`falls`), or none
    of them did. `assumed`: a condition of the cause and no proof of it; what nobody validated is taken to hold."""

    falls: bool
    assumed: bool = False
    unmet: Unmet = "contradicts"
    decisive: bool = False
