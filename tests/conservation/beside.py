"""Real writers at work, and live followers beside them: what the screens hold once the writers are done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rltui.discovery.found import NotARun
from rltui.run.run import Run
from rltui.session.live import LiveRun
from rltui.session.locate import locate

PATIENCE_S = 180.0
Place = Callable[[], Path | None]
"""What a user names, once it is there."""


def followed_beside(
    writing: Callable[[], None], places: Mapping[str, Place], rows: Callable[[str], int]
) -> dict[str, Run]:
    """Lets writers work on a thread of their own and follows each place from soon after it appeared. Once they are done
    each follower is given time until it has as many `rows` as one who reads the place then."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            writing()
        except BaseException as error:  # told to the test
            failed.append(error)

    writer = threading.Thread(target=work)
    writer.start()
    lives: dict[str, LiveRun] = {}
    while writer.is_alive():
        for name, place in places.items():
            if name in lives:
                lives[name].next_frame(0.0)
            elif (live := _live(place())) is not None:
                lives[name] = live
        writer.join(0.02)
    if failed:
        raise failed[0]
    lives |= {name: live for name, place in places.items() if name not in lives and (live := _live(place()))}
    for name, live in lives.items():
        until, wanted = time.monotonic() + PATIENCE_S, rows(name)
        while live.opened.run.history.table.n < wanted and time.monotonic() < until:
            live.next_frame(0.05)
        while live.next_frame(0.05) is not None and time.monotonic() < until:
            pass
        live.close()
        live.opened.close()
    return {name: live.opened.run for name, live in lives.items()}


def _live(path: Path | None) -> LiveRun | None:
    try:
        return None if path is None else LiveRun(locate([str(path)])[0])
    except NotARun:
        return None
