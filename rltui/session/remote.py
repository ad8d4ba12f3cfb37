"""Connected remote machines, with one place for each machine even if several runs are watched there."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable
from threading import Lock

from msgspec.structs import replace

from rltui.sources.base import Link
from rltui.sources.ssh.command import Master, agent_command, prompt_helps
from rltui.sources.ssh.place import SshPlace
from rltui.sources.targets import BadTarget, SshTarget, parse

_places: dict[SshTarget, SshPlace] = {}
_lock = Lock()


class Unreachable(Exception):  # noqa: N818  (a message for the user)
    """A machine cannot be reached. The text is ssh's message."""


def connect(arguments: Iterable[str]) -> None:
    """Connects to every named machine before the screen takes the terminal, because ssh may ask there for a password, a
    code or an unknown host key. Raises `Unreachable` with the argument and ssh's message."""
    for argument in arguments:
        target = None if os.path.exists(argument) else _parsed(argument)
        if isinstance(target, SshTarget):
            try:
                place_of(target, ask=_has_terminal())
            except Unreachable as problem:
                raise Unreachable(f"{argument}: {problem}") from None


def place_of(target: SshTarget, ask: bool = False) -> SshPlace:
    """The connected place of a target's machine. Raises `Unreachable` if it cannot be connected. `ask`: ssh may use the
    terminal."""
    machine = replace(target, path="")
    with _lock:
        place = _places.get(machine)
        if place is not None and place.link().state != "failed":
            return place
        place, link = _opened(machine, None)
        if link.state == "failed" and ask and prompt_helps(link.text):
            master = Master(machine)
            if master.open():
                place, link = _opened(machine, master.control)
        if link.state == "failed":
            raise Unreachable(link.text)
        if not _places:
            atexit.register(close_all)
        _places[machine] = place
        return place


def close_all() -> None:
    """Ends all connections."""
    with _lock:
        for place in _places.values():
            place.close()
        _places.clear()


def _opened(machine: SshTarget, control: str | None) -> tuple[SshPlace, Link]:
    place = SshPlace(machine.name, lambda: agent_command(machine, control))
    return place, place.open()


def _parsed(argument: str) -> object:
    try:
        return parse(argument)
    except BadTarget:
        return None  # the error is shown when the argument is opened


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
