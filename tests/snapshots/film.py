"""A film of the program: its screens one after the other, each with the key that led there, as one SVG that moves."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from textual.pilot import Pilot

from rltui.session.live import LiveRun
from rltui.tui.app import RltuiApp
from rltui.tui.picture import svg
from rltui.tui.screens.picker import PickerScreen
from rltui.tui.start import SessionOpener
from tests.unit.tui.conftest import is_read, wait_for

TOUR = "tour.svg"
SIZE = (120, 32)
FONT = "text{font:14px 'DejaVu Sans Mono',Menlo,Consolas,monospace}"
CAPTION = 34
"""Height of the line below the screen."""
_RULE = re.compile(r"\.(s\d+)\{([^}]*)\}")
_FRAME = re.compile(
    r'viewBox="0 0 (\S+) (\S+)".*?<rect width="100%" height="100%" rx="6" fill="(.*?)"/>\n(.*)</svg>', re.S
)


class Unsampled(SessionOpener):
    """Opens runs as the screen does, without sampling this machine's hardware."""

    def open(self, index: int) -> LiveRun:
        return LiveRun(self._found[index])


@dataclass(frozen=True)
class Scene:
    """`said`: what the reader is to see. `keys`: typed before it. `done`: the screen is ready for its picture."""

    seconds: float
    said: str
    keys: tuple[str, ...] = ()
    done: Callable[[RltuiApp], bool] = lambda app: True


def _listed(app: RltuiApp) -> bool:
    picker = app.screen
    return isinstance(picker, PickerScreen) and bool(picker.basis) and all(r.decision for r in picker.rows.values())


def _read(app: RltuiApp) -> bool:
    """The run is read, and what its open screen asked for has come."""
    view = app.view
    past = view.cursor is None or (view.past is not None and view.past[0] == view.cursor)
    return not isinstance(app.screen, PickerScreen) and is_read(app) and past and not view.asked - set(view.insights)


SCENES = (
    Scene(3, "rltui demo: the runs that it found, those that need attention first", (), _listed),
    Scene(
        5, "Enter opens a run: what is wrong, since when, and which checkpoint to keep", ("j", "j", "j", "enter"), _read
    ),
    Scene(
        5, "Enter on the finding: its evidence, its causes tested on this run, and what to change", ("enter",), _read
    ),
    Scene(
        4, "Esc, 2, Enter: its metric, with the onset and the best checkpoint marked", ("escape", "2", "enter"), _read
    ),
    Scene(2, "{ goes ten steps back in time: here three times", ("{",) * 3, _read),
    Scene(2, "{ again, to the step before it broke", ("{",) * 8, _read),
    Scene(4, "Esc: what could be said at that step, from the rows up to it alone", ("escape",), _read),
    Scene(2, "r: the runs again", ("r",), _listed),
    Scene(3, "j, Enter: this one crashed, and the log says why", ("j", "enter"), _read),
    Scene(4, "Enter: the error, where in the code it was raised, and what to do", ("enter",), _read),
)


async def without_measure(app: RltuiApp, pilot: Pilot[None]) -> None:
    """The screen without what the clock puts there: the bytes per second are measured anew now and then, be it while
    it is drawn."""
    while True:
        app.view.wire = app.view.message = ""
        app.redraw()
        await pilot.pause()
        if not (app.view.wire or app.view.message):
            return


async def pictures(app: RltuiApp, pilot: Pilot[None]) -> list[str]:
    """One SVG a scene."""
    out = []
    for scene in SCENES:
        for key in scene.keys:
            await pilot.press(key)
            await wait_for(pilot, lambda: _listed(app) or _read(app), f"{scene.said}: {key}")
        await wait_for(pilot, lambda done=scene.done: done(app), scene.said)  # type: ignore[misc]
        for _ in range(5):  # charts one after the other
            await pilot.pause(0.02)
        await without_measure(app, pilot)
        rows = [strip._segments for strip in app.screen._compositor.render_strips()]
        out.append(svg(rows, SIZE[0], app.palette, scene.said))
    return out


def film(frames: Sequence[str], scenes: Sequence[Scene] = SCENES) -> str:
    """One picture that shows each frame for its seconds, over and over. Who wants no motion sees the second one, and
    who shows no styles the last."""
    whole = sum(scene.seconds for scene in scenes)
    looks: dict[str, str] = {}
    css: list[str] = []
    drawn: list[str] = []
    begin, wide, high, ground = 0.0, "0", 0.0, ""
    for i, (frame, scene) in enumerate(zip(frames, scenes, strict=True)):
        found = _FRAME.search(frame)
        assert found is not None
        wide, high, ground = found[1], float(found[2]), found[3]
        names = {name: looks.setdefault(look, f"s{len(looks)}") for name, look in _RULE.findall(frame)}
        body = re.sub(r'class="(s\d+)"', lambda m, n=names: f'class="{n[m[1]]}"', found[4])  # type: ignore[misc]
        start, end = (100 * at / whole for at in (begin, begin + scene.seconds))
        begin += scene.seconds
        shown = f"0%{{visibility:hidden}}{start:.2f}%{{visibility:visible}}" if i else "0%{visibility:visible}"
        css.append(f"@keyframes f{i}{{{shown}{end:.2f}%,100%{{visibility:hidden}}}}.f{i}{{animation-name:f{i}}}")
        said = f'<text x="20" y="{high + 14:g}" class="said">{escape(scene.said)}</text>'
        drawn.append(f'<g class="f f{i}">\n{body}{said}\n</g>')
    styles = "".join(f".{name}{{{look}}}" for look, name in looks.items())
    moves = f".f{{visibility:hidden;animation:{whole:g}s step-end infinite}}.said{{fill:#62b0f4}}"
    still = "@media(prefers-reduced-motion:reduce){.f{animation:none}.f1{visibility:visible}}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high + CAPTION:g}">',
            "<title>rltui: a tour of the sample runs</title>",
            f"<style>{FONT}{styles}{moves}{''.join(css)}{still}</style>",
            f'<rect width="100%" height="100%" rx="6" fill="{ground}"/>',
            *drawn,
            "</svg>",
            "",
        ]
    )
