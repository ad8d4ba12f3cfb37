"""Where the policy broke first: what was saved before that may be kept, nothing after."""

from __future__ import annotations

from rltui.diagnosis.conclusions import breakdown
from rltui.diagnosis.life import Life, Opening
from rltui.evidence.signal import CRITICAL, WARNING
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait

FIRST, SECOND, *_ = sorted(having(Trait.BREAKS_POLICY))


def life(onset: int, level: int = CRITICAL, status: int | None = None) -> Life:
    return Life(level=level if status is None else status, openings=(Opening(onset, onset + 10, None, level),))


def test_the_first_of_two_breaks_counts_whichever_was_found_first() -> None:
    assert breakdown({(FIRST, None): life(200), (SECOND, None): life(120)}) == 120
    assert breakdown({(FIRST, None): life(120), (SECOND, None): life(200)}) == 120


def test_what_is_no_break_or_is_over_spoils_nothing() -> None:
    assert breakdown({(FIRST, None): life(200, WARNING)}) is None
    assert breakdown({(FIRST, None): life(200, status=0)}) is None
    assert breakdown({("length-explosion", None): life(200)}) is None
    assert breakdown({}) is None
