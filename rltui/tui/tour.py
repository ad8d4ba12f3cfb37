"""The guided tour of `rltui demo`: one key opens one place of a sample run after the other and says what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

from rltui.data_files import Record, kept, read
from rltui.evidence.model import Finding
from rltui.tui.shell import Shell

Place = Literal["verdict", "finding", "metric", "past", "rollouts"]


class TourStop(Record):
    """A place, and what the last line says there."""

    place: Place
    text: str


class Stops(Record):
    """`run`: the name of the sample run. `begin` is said before the first stop, `end` after the last."""

    run: str
    begin: str
    end: str
    stop: tuple[TourStop, ...]


@kept
def stops() -> Stops:
    return read(Path(__file__).with_name("tour.toml"), Stops)


class Tour(Struct):
    """Where the tour is. `at`: the number of the next stop."""

    at: int = 0

    def next(self, shell: Shell) -> None:
        """Goes to the next stop. After the last one: says that it is over, and begins anew with the next key."""
        tour = stops()
        if self.at >= len(tour.stop):
            self.at = 0
            shell.follow()
            shell.say(tour.end, "accent")
            return
        stop = tour.stop[self.at]
        if stop.place != "verdict" and _worst(shell) is None:
            shell.say("the run is still being read: press t again in a moment", "accent")
            return
        self.at += 1
        _go(stop.place, tour.run, shell)
        shell.say(stop.text, "accent", lasting=True)


def _go(place: Place, run: str, shell: Shell) -> None:
    worst = _worst(shell)
    if place == "verdict":
        shell.open_run_named(run)
    elif worst is not None and place == "finding":
        shell.open_finding(worst.id, worst.subject)
    elif worst is not None and place == "metric":
        shell.open_metric(worst.evidence[0].metric)
    elif worst is not None and place == "past":
        while not shell.at_top:
            shell.close_screen()
        shell.set_cursor(worst.onset_step or 0)
    elif worst is not None:
        shell.open_rollouts(worst.onset_step or 0)


def _worst(shell: Shell) -> Finding | None:
    """The worst open finding that has a metric; None before the run is read."""
    report = shell.view.newest
    found = report.findings if report is not None else ()
    return next((f for f in found if f.status == "active" and f.evidence), None)
