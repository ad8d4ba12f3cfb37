"""Starts the screen: terminal manners first, then the app, then (in its worker thread) the session."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltui.session.locate import Found
    from rltui.session.live import LiveRun
    from rltui.tui.worker import Choice


class LocalOpener:
    """Finds the runs that the user named (or those below the current directory) and opens one with its hardware."""

    def __init__(self, targets: Sequence[str], key_map: Mapping[str, str], format_in: str | None) -> None:
        self._targets = list(targets) or ["."]
        self._key_map = dict(key_map)
        self._format_in = format_in
        self._found: list[Found] = []

    def find(self) -> Sequence[Choice]:
        from rltui.session.locate import locate
        from rltui.tui.worker import Choice

        self._found = locate(self._targets, self._format_in)
        return [
            Choice(
                name=one.candidate.id,
                path=one.candidate.root,
                format=", ".join(sorted({fmt for _, fmt in one.candidate.files})),
                modified=max((f.mtime for f in one.files), default=None),
                bytes=sum(f.size for f in one.files),
            )
            for one in self._found
        ]

    def open(self, index: int) -> LiveRun:
        from rltui.hardware.sampler import Sampler
        from rltui.session.live import LiveRun

        found = self._found[index]
        sampler = Sampler(os.uname().nodename, found.candidate.root)
        return LiveRun(found, key_map=self._key_map, sampler=sampler)


def start(
    targets: Sequence[str],
    *,
    key_map: Mapping[str, str] | None = None,
    format_in: str | None = None,
    theme: str | None = None,
    glyphs: str | None = None,
    mouse: bool | None = None,
) -> int:
    """Runs the screen to its end; returns the exit code, 2 with one line on stderr where nothing could be opened."""
    from rltui.tui import compat

    compat.prepare()  # before Textual is imported

    from rltui.plots.glyphs import pick
    from rltui.tui.app import RltuiApp
    from rltui.tui.theme import theme_names

    names = theme_names()
    if theme is not None and theme not in names:
        print(f"rltui: no theme {theme}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    use_mouse = not compat.over_ssh() if mouse is None else mouse
    app = RltuiApp(
        LocalOpener(targets, key_map or {}, format_in),
        target=targets[0] if targets else os.getcwd(),
        theme=theme or ("mono" if os.environ.get("NO_COLOR") else "dark"),
        glyphs=pick(glyphs, os.environ),
        mouse=use_mouse,
    )
    app.run(mouse=use_mouse)
    if app.failure:
        print(f"rltui: {app.failure}", file=sys.stderr)
    return app.return_code or 0
