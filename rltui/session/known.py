"""What is known for sure about a run if only the ends of its files were read.

A value may be unknown, but it never differs from that of the whole run. The same functions decide as for a whole run;
this module only decides what the unread part could change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rltui.readers.console import verl
from rltui.records import cached
from rltui.run.identity import algorithm_keys, algorithm_words, may_tell_algorithm, stated_algorithm
from rltui.run.liveness import LifeSigns, RunState, judge
from rltui.run.notes import FATAL
from rltui.run.progress import RECENT, LearnedPace, Usual
from rltui.run.stall import FIRST_S
from rltui.session.ends import WHOLE_MOST

if TYPE_CHECKING:
    from rltui.run.run import Run
    from rltui.session.container_feeds import AnyFeed

_PLANLESS = ("csv", "tensorboard")
"""Containers that hold only numbers, without a config that could state a plan."""
_SLOWER = 10.0
"""Unread steps may have taken this many times as long as the steps that were read."""
SEARCHED_MOST = 1 << 24
"""This many bytes of a log are searched for an error like the one at its end."""
NAMED_MOST = 1 << 20
"""This many bytes of a log are searched for the name of its algorithm."""
_NUMBERS = re.compile(r"(?:0x[0-9a-f]+|\d+)(?:\.\d+)*")
_TELLING = 8  # characters of an error's text, without numbers, that are needed to find similar errors


class Known(Struct, frozen=True):
    """A field is None if it is unknown or the run does not state it."""

    framework: str | None
    algorithm: str | None
    last_step: int | None
    planned_steps: int | None
    state: RunState | None


NOT_KNOWN = RunState("unknown", "not all of it is read")


def known(run: Run, feeds: Sequence[AnyFeed], now: float, is_read: bool = True) -> Known:
    """What is known about `run`, which is filled from `feeds`, at `now` (seconds since the epoch). `is_read`: the feeds
    were read to their end."""
    table = run.history.table
    cut = [feed for feed in feeds if feed.gap]
    last = int(table.steps[-1]) if table.n else None
    if not cut:
        return Known(run.framework, run.algorithm, last, run.planned_steps, run.state(now) if is_read else None)
    if any(not feed.part.table.n and feed.gap >= feed.size for feed in cut):
        return Known(None, None, None, None, None)  # of one file nothing was read
    steady = all(feed.in_order for feed in cut) and not run.history.table.restarts and _one_order(feeds)
    if not steady:
        last = None
    by_text = any(feed.format.endswith("console") for feed in cut)
    searched = [_Cut(feed) for feed in cut]
    plan = run.planned_steps if _is_plan(run, by_text) else None
    if plan is not None and any(one.feed.other_epoch or _may_plan_anew(one, plan) for one in searched):
        plan = None
    planned = plan if last is not None else None
    no_plan = planned is None and all(feed.format in _PLANLESS for feed in feeds)
    algorithm = stated_algorithm(run.dialect, run.config, run.raw_config) if by_text else run.algorithm
    if algorithm is None and run.algorithm is not None:  # known from its metrics, unless unread text may name another
        algorithm = None if any(_names_algorithm(one, run.dialect) for one in searched) else run.algorithm
    elif algorithm is not None and any(_may_state_another(one, run.dialect) for one in searched):
        algorithm = None
    if steady and (planned is not None or no_plan):
        state = _state(run, cut, now)
    else:
        state = _ended(run, feeds, now, plan)
    return Known(run.framework, algorithm, last, planned, state)


def ends_in_error(run: Run, feeds: Sequence[AnyFeed], now: float) -> bool:
    """Whether the last lines of a run on this machine show an error that may have ended it, and its files are small
    enough to be read whole."""
    cut = [feed for feed in feeds if feed.gap]
    small = all(feed.size <= WHOLE_MOST and feed.place.link() is None for feed in cut)
    return bool(cut) and small and run.state(now).state == "crashed"


def gap_row(run: Run, feeds: Sequence[AnyFeed]) -> int | None:
    """The number of the first row after the unread middle of the best file; None if everything was read."""
    cut = [feed for feed in feeds if feed.gap]
    if not cut:
        return None
    best, table = max(cut, key=lambda feed: feed.part.rank), run.history.table
    own = best.part.table
    return int(table.steps.searchsorted(own.steps[best.first_rows])) if best.first_rows < own.n else table.n


def _one_order(feeds: Sequence[AnyFeed]) -> bool:
    """Whether the newest row is the same if files of one kind are successive attempts and if they are parts of one
    attempt."""
    by_class: dict[int, list[AnyFeed]] = {}
    for feed in feeds:
        if feed.part.table.n:
            by_class.setdefault(feed.part.rank[0], []).append(feed)
    for alike in by_class.values():
        if len(alike) > 1:
            ends = [int(f.part.table.steps[-1]) for f in sorted(alike, key=lambda f: f.part.rank)]
            if ends[-1] != max(ends):
                return False
    return True


def _is_plan(run: Run, by_text: bool) -> bool:
    """Whether the unread part cannot state another plan. In a log, this plan must be that of the config or the only
    total towards which its progress bars count."""
    if run.planned_steps is None or not by_text:
        return run.planned_steps is not None
    return run.stated_plan == run.planned_steps or run.bar_totals == {run.planned_steps}


def _state(run: Run, cut: Sequence[AnyFeed], now: float) -> RunState | None:
    """The state, if it is the same at any pace that the unread steps may have had and no error in the unread part is
    like the one at the end. If the training survived such an error, that error does not end it."""
    seen, asked = run.evidence(now), False

    def own_pace() -> LearnedPace:
        nonlocal asked
        asked = True
        return run.pace()

    state = judge(_at_pace(seen, own_pace))
    if state.state == "crashed" or state.last_words:
        by_words = seen.exit is None or not seen.exit.code
        if by_words and any(_may_repeat(feed, state.quote) for feed in cut):
            return None
    if not asked or (state.state in ("crashed", "finished") and not state.last_words):
        return state
    pace = run.pace()
    slow_s = max(_SLOWER * pace.plain.high_s * pace.stride if pace.plain is not None else 0.0, FIRST_S)
    fast = LearnedPace(Usual(1e-3, 1e-3, 50), longest_s=max(pace.longest_s, 1e-3), gaps=RECENT)
    paces = (fast, LearnedPace(Usual(slow_s, slow_s, 50)))
    return state if all(judge(_at_pace(seen, partial(_same, one))).state == state.state for one in paces) else None


def _same(pace: LearnedPace) -> LearnedPace:
    return pace


def _at_pace(seen: LifeSigns, pace: Callable[[], LearnedPace]) -> LifeSigns:
    return replace(seen, pace=pace)


def _ended(run: Run, feeds: Sequence[AnyFeed], now: float, plan: int | None) -> RunState | None:
    """The state of a run about which nothing more is known, if it is finished: its only file says so at its end and
    shows no error. Else None. `plan`: the planned steps, if no unread part may state others."""
    state = judge(replace(run.evidence(now), planned=plan))
    if any(feed.other_epoch for feed in feeds):  # its steps are unknown too
        state = replace(state, because="the trainer says that it is done") if state.quote else NOT_KNOWN
    said_so = state.state == "finished" and not state.last_words and len(feeds) == 1
    said_so = said_so and not any(note.kind in FATAL for note in run.notes)
    return state if said_so and not (run.exit is not None and run.exit.code) else None


class _Cut:
    """A file whose middle was not read. Its text is read once, however often it is searched."""

    def __init__(self, feed: AnyFeed) -> None:
        self.feed = feed
        self.states_settings = feed.format.endswith("console") or feed.format == "jsonl"

    @cached
    def text(self) -> bytes | None:
        return _text_of(self.feed)

    def parted(self, data: bytes) -> tuple[bytes, bytes]:
        """The part that was not read, and the end."""
        begin = self.feed.first_bytes
        return data[begin : begin + self.feed.gap], data[begin + self.feed.gap :]


def _may_plan_anew(cut: _Cut, plan: int) -> bool:
    """Whether the words with which the beginning of a file states its plan come again in the unread part with another
    number, as a later launch prints them, but not at the end, whose plan would count."""
    if not cut.states_settings:
        return False
    head = cut.feed.place.head(cut.feed.path, cut.feed.first_bytes)
    number = rb"(?<![\d.,_])%s(?![\d.])" % f"{plan:,}".replace(",", "[,_]?").encode()
    head = head if isinstance(head, bytes) else b""
    told = (_WORDS_AHEAD.search(head, max(0, at.start() - _NEAR), at.start()) for at in re.finditer(number, head))
    stating = {words[0] for words in told if words is not None and len(words[0]) >= _TELLING}
    data = cut.text if stating else b""
    if data is None:
        return True
    unread, end = cut.parted(data)
    return any(
        words not in end
        and words in unread
        and len(re.findall(re.escape(words) + number, unread)) < unread.count(words)
        for words in stating
    )


_WORDS_AHEAD = re.compile(rb"[^\d\n\r]+$")


def _may_state_another(cut: _Cut, dialect_name: str) -> bool:
    """Whether the unread part of a log may hold another config, with an algorithm other than that at the log's ends."""
    if not cut.states_settings:
        return False
    data = cut.text
    if data is None:
        return True
    unread, end = cut.parted(data)
    read = data[: cut.feed.first_bytes] + b"\n" + end
    usual = set(map(_shape, read.split(b"\n")))
    odd = b"\n".join(line for line in unread.split(b"\n") if _shape(line) not in usual)
    keys = frozenset(key.encode() for key in algorithm_keys(dialect_name))
    values = _stated(odd, keys) - _stated(read, keys)
    return any(may_tell_algorithm(value.decode(errors="replace")) for value in values)


def _shape(line: bytes) -> bytes:
    """How a line begins, without its digits: rows of metrics begin alike and do not state settings."""
    return line[:_SHAPE].translate(None, b"0123456789.,-")


_SHAPE = 48
"""This many bytes show how a line begins."""
_WORD_VALUE = re.compile(rb"[:=]\s*[\"']?([A-Za-z][\w+-]*)")
_KEY = re.compile(rb"(\w+)[\"']?\s*$")
_NEAR = 64
"""A value's key, or the words that state it, are searched for in this many bytes before it."""


def _stated(data: bytes, keys: Collection[bytes]) -> set[bytes]:
    """The words that follow one of these keys. Most values are numbers, so words are searched for first: searching for
    the keys takes ten times as long."""
    found = set()
    for word in _WORD_VALUE.finditer(data):
        key = _KEY.search(data, max(0, word.start() - _NEAR), word.start())
        if key is not None and key[1] in keys:
            found.add(word[1])
    return found


def _text_of(feed: AnyFeed) -> bytes | None:
    """The bytes of a file that is on this machine and small enough to be searched quickly; else None."""
    if feed.size > SEARCHED_MOST or feed.place.link() is not None:
        return None
    data = feed.place.read(feed.path, SEARCHED_MOST)
    return data if isinstance(data, bytes) else None


def _names_algorithm(cut: _Cut, dialect_name: str) -> bool:
    """Whether a log may name its algorithm between its ends, in a config or in other words."""
    data = cut.text if cut.feed.size <= NAMED_MOST else None
    if data is None:
        return True
    if cut.feed.format == "verl-console":  # most of it is step lines, which hold only numbers
        data = verl.without_steps(data)
    # rfind is as exact as `in`, and takes two thirds of the time if the word is absent
    return any(data.rfind(word.encode()) >= 0 for word in algorithm_words(dialect_name))


def _may_repeat(feed: AnyFeed, quote: str) -> bool:
    """Whether the unread bytes of a log may hold an error like this one."""
    if not feed.format.endswith("console"):
        return False
    words = max(_NUMBERS.split(quote), key=len).strip().encode()
    data = _text_of(feed) if len(words) >= _TELLING else None
    return data is None or words not in data or words in data[: feed.first_bytes + feed.gap]
