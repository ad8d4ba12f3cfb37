"""Which events call the user, and the bytes that make a terminal do it: bell, OSC 9 and OSC 777, also through tmux."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rltui.events.changes import Event
from rltui.evidence.model import SEVERITY_RANK
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from rltui.settings.model import AlertSettings
from rltui.text import clean

BELL = "\a"
LONGEST = 200
KEPT = 500
"""The number of recent alerts that are remembered for the cool-down."""


class Gate:
    """Lets an event through once: by the user's settings, outside quiet hours, and not the same alert again
    too soon."""

    def __init__(self, own: AlertSettings) -> None:
        self.own = own
        self._told: dict[tuple[str, str, str | None], tuple[float, int]] = {}

    def lets(self, event: Event, now: float) -> bool:
        """Whether to call the user. `now`: seconds since the epoch. An event worse than the one before is let through
        at once."""
        if not self.own.enabled or not self._matters(event) or self.quiet(now):
            return False
        rank = SEVERITY_RANK.get(event.severity or "info", 0)
        kind = event.finding or "state"
        if event.kind in ("recovery", "end", "met"):
            kind = event.kind
        key = (event.path, kind, event.subject)
        before = self._told.get(key)
        if before is not None and now - before[0] < self.own.cooldown_s and rank <= before[1]:
            return False
        self._told[key] = now, rank
        while len(self._told) > KEPT:
            del self._told[next(iter(self._told))]
        return True

    def _matters(self, event: Event) -> bool:
        if event.finding in having(Trait.STALL) or event.kind in ("stall", "recovery"):
            return self.own.stall
        if event.kind in ("end", "met"):
            return self.own.end
        rank = SEVERITY_RANK.get(event.severity or "info", 0)
        return event.kind in ("opened", "worse") and rank >= SEVERITY_RANK[self.own.level]

    def quiet(self, now: float) -> bool:
        """Whether the local time is within the quiet hours, which may pass midnight."""
        if not self.own.quiet:
            return False
        begin, end = ((int(h), int(m)) for h, m in (part.split(":") for part in self.own.quiet.split("-")))
        local = datetime.fromtimestamp(now)
        at = (local.hour, local.minute)
        return begin <= at < end if begin <= end else at >= begin or at < end


def headline(event: Event) -> str:
    """One line for a notification: which run, and what happened."""
    at = "" if event.step is None else f", step {event.step}"
    what = {"stall": "hangs", "recovery": "goes on", "end": event.state, "met": event.decision}.get(event.kind)
    if what is None:
        what = f"{event.severity} {event.kind}: {event.finding or ''}"
    return clean(f"{event.run}{at}: {what}. {event.text}", LONGEST)


def notification(text: str, how: str, environ: Mapping[str, str]) -> str:
    """The bytes for a desktop notification; "" for "off". Works over ssh: the terminal at the user's end makes it.

    `how`: auto, osc9, osc777, both, off. OSC 9 comes from iTerm2 and works in kitty, WezTerm, Ghostty and foot. OSC 777
    comes from urxvt and works in VTE and foot. tmux passes them on with `set -g allow-passthrough on` (3.3 or later).
    """
    if how == "off":
        return ""
    safe = "".join(c for c in clean(text, LONGEST) if c.isprintable())
    if how == "auto":
        how = "osc777" if environ.get("VTE_VERSION") or environ.get("TERM", "").startswith(("rxvt", "foot")) else "osc9"
    made = []
    if how in ("osc9", "both"):
        made.append(f"\x1b]9;rltui: {safe}\a")  # the word distinguishes it from OSC 9;4, a progress bar
    if how in ("osc777", "both"):
        made.append(f"\x1b]777;notify;rltui;{safe.replace(';', ',')}\a")
    return "".join(_passed_on(sequence, environ) for sequence in made)


def _passed_on(sequence: str, environ: Mapping[str, str]) -> str:
    """Wraps the sequence for a multiplexer, which would otherwise swallow it. tmux: every escape doubled; GNU screen:
    unchanged."""
    if environ.get("TMUX") or environ.get("TERM", "").startswith("tmux"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    return f"\x1bP{sequence}\x1b\\" if environ.get("STY") else sequence
