"""All code that depends on Textual's internals, its terminal protocols and their versions. No other module may.

`prepare()` runs before Textual is imported, because Textual reads its settings from the environment at import.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment
    from textual.app import App
    from textual.binding import Binding
    from textual.screen import Screen
    from textual.strip import Strip
    from textual.widget import Widget

    from rltui.tui.cells import Shown


class Inner(Struct, frozen=True):
    """A private member of Textual that we use, or replace (`patched`).

    `where` is `module:Class.member`. If only instances hold it, or it has no source, `seen_in` is another member whose
    source shows it. `source`: the first digits of the SHA-256 of that source when this was written.
    """

    where: str
    why: str
    source: str
    patched: bool = False
    seen_in: str = ""


TESTED = ("8.2", "8.3")
"""Works with Textual from the first version up to, but not including, the second; pyproject.toml has the same bounds.
Within them no source of `INNER` has changed. A test checks that for the installed version."""

INNER = (
    Inner(
        "textual._compositor:ChopsUpdate.render_segments",
        "only the cells that changed are sent: `send_changed_cells_only`",
        "a5f3beeedcc5",
        patched=True,
    ),
    Inner(
        "textual._compositor:LayoutUpdate.render_segments",
        "the same if the whole screen gets a new layout",
        "cfdfd5c929fc",
        patched=True,
    ),
    Inner(
        "textual._styles_cache:StylesCache.get_inner_outer",
        "its cache keeps closed screens alive: `forget_closed_screens`",
        "0474849e92f4",
        patched=True,
    ),
    Inner(
        "textual.drivers.linux_driver:LinuxDriver.write",
        "bytes on the wire are counted: `WireMeter`",
        "1918fc8826e0",
        patched=True,
    ),
    Inner("textual.keys:_character_to_key", "names of keys in the table: `key_of`", "81915b8b2ee5"),
    Inner(
        "textual.app:App._driver",
        "the terminal, for the mouse, the bell and the meter",
        "a490ac42f9b1",
        seen_in="textual.app:App.copy_to_clipboard",
    ),
    Inner("textual.drivers.linux_driver:LinuxDriver._enable_mouse_support", "F2: `set_mouse`", "9c973ee7c634"),
    Inner("textual.drivers.linux_driver:LinuxDriver._disable_mouse_support", "F2: `set_mouse`", "1b931cd67653"),
    Inner(
        "textual.widget:Widget._styles_cache",
        "what a closing widget drew is freed: `forget_lines`",
        "cb2967eca45a",
        seen_in="textual._styles_cache:StylesCache.clear",
    ),
    Inner(
        "textual.app:App._fatal_error",
        "an error of ours goes to a crash file and not on the screen: `end_without_a_word`",
        "8361265a0992",
        patched=True,
    ),
    Inner("textual.app:App.panic", "the same", "1ef1cc142359", patched=True),
    Inner(
        "textual.app:App._exception",
        "the error that ended the app: `end_without_a_word`",
        "4bf03c34c574",
        seen_in="textual.app:App._handle_exception",
    ),
    Inner(
        "textual.message_pump:MessagePump._close_messages_no_wait", "the app ends: `end_without_a_word`", "ad564b1f2823"
    ),
    Inner(
        "textual.driver:Driver._mouse",
        "F2: `set_mouse`",
        "7ca6df7fd31e",
        patched=True,
        seen_in="textual.driver:Driver.__init__",
    ),
    Inner("textual.widget:Widget._clear_arrangement_cache", "panes get a new layout: `arrange_again`", "8fd03be8d37a"),
    Inner(
        "textual.screen:Screen._compositor",
        "the screen as text and as a picture: `painted`",
        "bde195df609e",
        seen_in="textual._compositor:Compositor.render_strips",
    ),
    Inner(
        "textual.strip:Strip._segments",
        "the pieces of a line: `painted`",
        "b8aba4563a2b",
        seen_in="textual.strip:Strip.__init__",
    ),
    Inner(
        "textual.dom:DOMNode._bindings",
        "each screen has its own keys: `bind`",
        "fda7f5e52ced",
        seen_in="textual.binding:BindingsMap.__init__",
    ),
)


def over_ssh(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether the terminal is at the other end of an ssh connection."""
    return bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))


def prepare(environ: MutableMapping[str, str] = os.environ) -> None:
    """Makes the settings that Textual reads at import. What the user has set stays."""
    environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    # No in-band resize reports or pixel mouse: if a proxy accepts them but never sends any, the layout freezes.
    environ.setdefault("TEXTUAL_SMOOTH_SCROLL", "0")
    if over_ssh(environ):
        # After a lost connection the terminal would keep the kitty protocol: the shell prints "13;129u" for Enter.
        environ.setdefault("TEXTUAL_DISABLE_KITTY_KEY", "1")


def keys_from_terminal() -> str:
    """If standard input is a pipe, puts the terminal in its place, because Textual reads keys from there. Returns why
    that is not possible, or ""."""
    if os.isatty(0):
        return ""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        return f"no terminal to read keys from ({error.strerror}). Use: rltui report -"
    os.dup2(terminal, 0)
    os.close(terminal)
    return ""


def key_of(character: str) -> str:
    """Textual's name of the key that types this character."""
    from textual.keys import _character_to_key

    return _character_to_key(character)


class WireMeter:
    """Counts the bytes that the screen sends to the terminal."""

    def __init__(self) -> None:
        self.bytes = 0
        self._marks: list[tuple[float, int]] = []

    def attach(self, app: App[None]) -> None:
        """Counts from now on. Does nothing if the app has no driver."""
        driver = app._driver
        if driver is None:
            return
        write = driver.write

        def counted(data: str) -> None:
            self.bytes += len(data) if data.isascii() else len(data.encode("utf-8", "replace"))
            write(data)

        driver.write = counted  # type: ignore[method-assign]

    def rate(self, now: float, window_s: float = 10.0) -> float:
        """Bytes per second over about the last `window_s` seconds."""
        self._marks.append((now, self.bytes))
        while len(self._marks) > 2 and now - self._marks[1][0] >= window_s:
            self._marks.pop(0)
        then, count = self._marks[0]
        return (self.bytes - count) / (now - then) if now > then else 0.0


def send_changed_cells_only() -> Shown:
    """Makes every update send only the cells that the terminal does not show yet. Textual 8.2 sends whole regions: the
    whole screen for a new layout or another screen, and five times at the start."""
    from rich.cells import cell_len
    from textual._compositor import ChopsUpdate, LayoutUpdate
    from textual.strip import Strip

    from rltui.tui.cells import Piece, Shown, written

    shown = Shown()

    def put(y: int, x: int, strip: Strip, pieces: list[Piece]) -> None:
        def send(row: int, start: int, end: int) -> None:
            at = start
            for text, style, control in strip.crop(start - x, end - x):
                if not control:
                    pieces.append((row, at, text, style))
                    at += cell_len(text)

        shown.put(y, x, strip._segments, send)

    def parts(self: ChopsUpdate, console: Console) -> str:
        pieces: list[Piece] = []
        for y, x1, x2 in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or x >= x2 or end <= x1:
                    continue
                start = max(x, x1)
                put(y, start, strip.crop(start - x, min(end, x2) - x), pieces)
        return written(pieces, console._color_system)

    def whole(self: LayoutUpdate, console: Console) -> str:
        pieces: list[Piece] = []
        for y, line in enumerate(self.strips, self.region.y):
            put(y, self.region.x, Strip.join(list(line)).simplify(), pieces)
        return written(pieces, console._color_system)

    ChopsUpdate.render_segments = parts  # type: ignore[method-assign]
    LayoutUpdate.render_segments = whole  # type: ignore[method-assign]
    return shown


def forget_closed_screens() -> None:
    """Makes a cache of Textual 8.2 keep only colours. Otherwise it keeps the last 1,024 widgets with every line that
    they drew: 100 MB of screens that were closed long ago."""
    from textual._styles_cache import StylesCache

    colours = StylesCache.__dict__["get_inner_outer"]
    if not isinstance(colours, classmethod):
        StylesCache.get_inner_outer = classmethod(colours)  # type: ignore[assignment,method-assign]


def forget_lines(widget: Widget) -> None:
    """Drops the lines of a widget that closes. They are freed at once, not by a long garbage collection later."""
    widget._styles_cache.clear()


def arrange_again(widget: Widget) -> None:
    """Lays out a container again. Textual does that by itself only if its size or children have changed."""
    widget._clear_arrangement_cache()
    widget.refresh(layout=True)


def send(app: App[None], sequence: str) -> None:
    """Sends the terminal a sequence that draws nothing (bell, notification), between two updates."""
    if app._driver is not None and sequence:
        app._driver.write(sequence)
        app._driver.flush()


def toast(app: App[None], text: str, severity: str, seconds: float) -> None:
    """Shows a box on the screen for a few seconds, with the text as it is."""
    level: Any = severity
    app.notify(text, severity=level, timeout=seconds, markup=False)


def end_without_a_word(app: App[None]) -> Callable[[], BaseException | None]:
    """Makes an error in rltui end the app with the terminal restored and nothing printed, because Textual would print
    all local variables, which hold the user's data. An error in a thread ends the app too. The returned function gives
    the first error; call it after the end."""
    died: list[BaseException] = []

    def fatal(*_: object) -> None:
        app._close_messages_no_wait()

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            died.append(args.exc_value)
        with contextlib.suppress(RuntimeError):  # the app has ended
            app.call_from_thread(app.exit)

    app._fatal_error = fatal  # type: ignore[method-assign]
    app.panic = fatal  # type: ignore[method-assign]
    threading.excepthook = in_thread
    return lambda: app._exception or next(iter(died), None)


def bind(screen: Screen[Any], bindings: Iterable[Binding]) -> None:
    """Gives one screen its own keys, in place of those of its class."""
    from textual.binding import BindingsMap

    screen._bindings = BindingsMap(bindings)


def painted(app: App[None]) -> list[list[Segment]]:
    """What the terminal shows, line by line."""
    return [list(strip._segments) for strip in app.screen._compositor.render_strips()]


def set_mouse(app: App[None], on: bool) -> None:
    """Turns mouse reports on or off while the screen runs."""
    driver = app._driver
    if driver is None or not hasattr(driver, "_enable_mouse_support"):
        return
    driver._mouse = True  # without it both calls do nothing
    getattr(driver, "_enable_mouse_support" if on else "_disable_mouse_support")()
    driver._mouse = on
    driver.flush()


def on_signals(app: App[None]) -> None:
    """Makes TERM and HUP end the app normally, so that the terminal is restored. Call it when the app runs."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, partial(app.exit, return_code=128 + number))
