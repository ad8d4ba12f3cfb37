"""Opens the screen: first the settings that Textual reads at import, then the app."""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from rltui import cooperate
from rltui.tui import compat

if TYPE_CHECKING:
    from selectors import SelectorKey

    from rltui.compare.read import ComparedRun
    from rltui.compare.runs import RunRow
    from rltui.discovery.found import Found
    from rltui.report.names import FirstValues
    from rltui.tui.messages import Choice
    from rltui.tui.worker import FrameSource

WOKEN_WITHIN_S = 0.0005
"""Seconds after which another thread gets its turn while the screen waits for input. While the screen works, this is
Python's usual 5 ms, so that the work is rarely interrupted."""

T = TypeVar("T")


def run_loop(main: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, with a selector that lets other threads work while the screen waits."""
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(_Selector())) as runner:
        return runner.run(main)


class _Selector(selectors.DefaultSelector):
    """Takes the turn (`rltui.cooperate`) when there is something to do, and leaves it when the loop waits."""

    def __init__(self) -> None:
        super().__init__()
        self._usual_s = sys.getswitchinterval()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        sys.setswitchinterval(WOKEN_WITHIN_S)
        cooperate.leave()
        try:
            return super().select(timeout)
        finally:
            cooperate.take()
            sys.setswitchinterval(self._usual_s)

    def close(self) -> None:
        cooperate.leave()
        super().close()


COLLECT_AFTER = 2_000
"""With a run on the screen: objects made and not yet freed before the garbage collector runs. That takes 1 to 2 ms."""

UNASKED_MOST = 1 << 25
"""The list of runs reads a whole run unasked only if the run has at most this many bytes."""

MOST_COMPARED = 24
"""If the user picked no runs, at most this many are compared, because each is read to its end."""


class SessionOpener:
    """Finds and opens runs through the session. Its methods run in threads and import late. `replay`: play the run
    again with this many rows a second; None: follow it."""

    def __init__(
        self, targets: Sequence[str], key_map: Mapping[str, str], format_in: str | None, replay: float | None = None
    ) -> None:
        self.replay = replay
        self.targets = list(targets) or ["."]
        self.key_map = dict(key_map)
        self.format_in = format_in
        self._found: list[Found] = []
        self._ahead: list[Found] = []  # what `first_values` found, for the `find` that follows

    def first_values(self) -> FirstValues | None:
        """The newest values, if there is just one run, it is on this machine, and it is not played again."""
        if self.replay is not None or not all(os.path.exists(target) for target in self.targets):
            return None
        from rltui.report.names import first_values
        from rltui.session.locate import locate

        self._ahead = locate(self.targets, self.format_in)
        return first_values(self._ahead[0], self.key_map) if len(self._ahead) == 1 else None

    def find(self) -> list[Choice]:
        from rltui.session.locate import locate
        from rltui.tui.messages import Choice

        self._found, self._ahead = self._ahead or locate(self.targets, self.format_in), []
        out = []
        for found in self._found:
            run = found.candidate
            formats = dict(run.files)
            files = [file for file in found.listing.files if file.path in formats]
            names = ", ".join(dict.fromkeys(formats.values()))
            where = f"{found.place.name}:{run.root}" if found.place.name else run.root
            out.append(Choice(run.id, where, names, sum(file.size for file in files)))
        return out

    def rows(self) -> Iterator[tuple[int, RunRow]]:
        """See `ManyOpener.rows`."""
        from rltui.compare.runs import in_order

        yield from enumerate(in_order(self._found))

    def judged(self, number: int, cancelled: Callable[[], bool]) -> RunRow | None:
        """See `ManyOpener.judged`."""
        from rltui.compare.runs import of_whole

        found = self._found[number]
        if found.place.link() is not None or sum(file.size for file in found.files) > UNASKED_MOST:
            return None
        row = of_whole(found, cancelled=cancelled)
        return None if cancelled() else row

    def facts(
        self,
        picked: Sequence[int],
        own: str,
        told: Callable[[int, int, str], None],
        lost: Callable[[str, Exception], None],
        cancelled: Callable[[], bool],
    ) -> list[ComparedRun]:
        """See `ManyOpener.facts`. If the user named one run alone, the others are those in the directory around it."""
        from rltui.compare.read import read
        from rltui.settings import load

        found = [self._found[number] for number in picked] or self._beside(own)

        def each() -> Iterator[Found]:
            for number, one in enumerate(found):
                if cancelled():
                    return
                told(number, len(found), one.candidate.id)
                yield one

        def without(one: Found, error: Exception) -> None:
            lost(one.candidate.id, error)

        return read(each(), self.key_map, load().compare.primary or None, without, cancelled)

    def _beside(self, own: str) -> list[Found]:
        from rltui.session.locate import discover

        found = self._found
        if len(found) == 1:
            one = found[0]
            root = os.path.abspath(one.candidate.root)
            around = discover(os.path.dirname(root), one.place)
            found = [one, *(other for other in around if os.path.abspath(other.candidate.root) != root)]
        mine = [one for one in found if one.candidate.root == own][:1]
        return [*mine, *(one for one in found if one not in mine)][:MOST_COMPARED]

    def open(self, index: int) -> FrameSource:
        from rltui.hardware.sampler import Sampler
        from rltui.session.live import LiveRun

        found = self._found[index]
        if self.replay is not None:
            from rltui.session.live import Replay

            return Replay(found, key_map=self.key_map, speed=self.replay)
        sampler = Sampler(os.uname().nodename, found.candidate.root)
        return LiveRun(found, key_map=self.key_map, sampler=sampler)


def start(
    targets: Sequence[str],
    *,
    key_map: Mapping[str, str],
    format_in: str | None = None,
    theme: str | None = None,
    glyphs: str | None = None,
    mouse: bool | None = None,
    replay: float | None = None,
    toured: bool = False,
) -> int:
    """Runs the screen on these targets. Returns the exit code. Prints to stderr why something could not be opened."""
    compat.prepare()
    if "-" in targets:
        from rltui.session.locate import take_standard_input

        take_standard_input()
        if why_not := compat.keys_from_terminal():
            print(f"rltui: {why_not}", file=sys.stderr)
            return 2
    if any(":" in target for target in targets):  # ssh may ask for a password, so it connects before the screen opens
        from rltui.session.remote import Unreachable, connect

        try:
            connect(targets)
        except Unreachable as problem:
            print(f"rltui: {problem}", file=sys.stderr)
            return 2
    from rltui import settings
    from rltui.plots.glyphs import pick
    from rltui.tui import keys
    from rltui.tui.app import RltuiApp
    from rltui.tui.theme import load_theme

    own = settings.load()
    keys.adopt(own)
    chosen = theme or (default_theme(os.environ) if os.environ.get("NO_COLOR") else own.screen.theme)
    chosen = chosen or default_theme(os.environ)
    try:
        load_theme(chosen)
    except ValueError as problem:
        if chosen != theme and chosen == own.screen.theme:
            raise own.wrong("screen.theme", str(problem)) from None
        print(f"rltui: {problem}", file=sys.stderr)
        return 2
    wanted = mouse if mouse is not None else own.screen.mouse
    mouse_on = not compat.over_ssh() if wanted is None else wanted
    opener = SessionOpener(targets, key_map, format_in, replay)
    app = RltuiApp(
        opener,
        target=" ".join(opener.targets),
        theme=chosen,
        glyphs=pick(glyphs or own.screen.glyphs, os.environ),
        mouse=mouse_on,
        replaying=replay is not None,
        toured=toured,
    )
    app.view.sparing = own.screen.bandwidth
    app.worker.was_read = collect_little
    gc.freeze()  # what is imported by now stays, so collections need not look at it
    fault = compat.end_without_a_word(app)
    run_loop(app.run_async(mouse=mouse_on))
    if (error := fault() or app.worker.fault or app.many.fault) is not None:
        raise error
    if app.failure:
        from rltui.text import shown

        print(f"rltui: {shown(app.failure)}", file=sys.stderr)
    return app.return_code or 0


def collect_little(opening: int) -> None:
    """Called when a run was read. What exists now lives long, so the collector need not look at it again. What the
    screen makes from now on is collected often and in small parts, because keys wait during a collection."""
    if opening > 1:  # frees what is left of the previous run
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def default_theme(environ: Mapping[str, str]) -> str:
    """mono with NO_COLOR, ansi-16 on a terminal with few colours, light if COLORFGBG says so, else dark."""
    if environ.get("NO_COLOR"):
        return "mono"
    if environ.get("TERM", "") in ("linux", "screen", "vt100", "xterm-16color") and not environ.get("COLORTERM"):
        return "ansi-16"
    background = environ.get("COLORFGBG", "").rsplit(";", 1)[-1]
    return "light" if background in ("7", "15") else "dark"
