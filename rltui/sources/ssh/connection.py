"""Keeps a connection to a far side up: starts it, hands on what arrives, and starts it anew, ever more slowly."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Condition, Event, Thread

from rltui.sources.base import Link
from rltui.sources.ssh import command
from rltui.sources.ssh.follower import NotTheProtocol
from rltui.sources.ssh.peer import Message, Peer, PeerLost

PING_EVERY_S = 15.0
_SILENCE_S = 45.0
_END_WAIT_S = 5.0
_STEADY_S = 10.0
"""A connection that lived so long was a good one: the next attempt comes soon again."""


class Connection:
    """One thread that reads. `link` and the waiters on `news` learn at once of every change.

    `start` opens a new connection and may take its time; it and the running one raise `PeerLost` when it is over.
    """

    def __init__(
        self,
        start: Callable[[], Peer],
        *,
        news: Condition,
        up: Callable[[Peer], None],
        arrived: Callable[[Message, bytes], None],
        first_pause_s: float = 0.5,
        longest_pause_s: float = 30.0,
    ) -> None:
        self._start = start
        self._news = news
        self._up = up
        self._arrived = arrived
        self._first_pause_s, self._longest_pause_s = first_pause_s, longest_pause_s
        self._peer: Peer | None = None
        self._heard = time.time()
        self._closing = Event()
        self._thread: Thread | None = None
        self.link: Link | None = None  # None before the first answer

    def open(self) -> Link:
        """Connects and waits for it: connected, or failed with the reason. The first attempt is the only one."""
        with self._news:
            self.link = None
            self._thread = Thread(target=self._work, name="rltui-ssh", daemon=True)
            self._thread.start()
            self._news.wait_for(lambda: self.link is not None)
            assert self.link is not None
            return self.link

    def send(self, message: Message) -> None:
        """Goes to the far side if there is one; after a new start, `up` says again what matters."""
        peer = self._peer
        if peer is not None:
            peer.send(message)

    def stop(self) -> None:
        """No new start from now on; the running connection ends when its process does."""
        self._closing.set()

    def join(self) -> None:
        """Waits for the thread after `stop`."""
        if self._thread is not None:
            self._thread.join(_END_WAIT_S)

    def _work(self) -> None:
        pause_s = self._first_pause_s
        while not self._closing.is_set():
            started = time.monotonic()
            try:
                why = self._run()
            except PeerLost as lost:
                why = str(lost)
            peer, self._peer = self._peer, None
            if peer is not None:
                peer.end()
            if self._closing.is_set():
                self._tell(Link("failed", self._heard, "closed"))
            elif self.link is None or command.is_final(why):
                self._tell(Link("failed", self._heard, why))
                return
            else:
                self._tell(Link("reconnecting", self._heard, why))
                if time.monotonic() - started > _STEADY_S:
                    pause_s = self._first_pause_s
                self._closing.wait(pause_s)
                pause_s = min(2 * pause_s, self._longest_pause_s)

    def _run(self) -> str:
        """From the start of a connection to its end; why it ended."""
        peer = self._peer = self._start()
        self._heard = time.time()
        while not self._closing.is_set():
            answers = peer.receive(PING_EVERY_S)
            if answers:
                self._heard = time.time()
            elif time.time() - self._heard > _SILENCE_S:
                return f"no answer for {_SILENCE_S:.0f} s"
            else:
                peer.send({"op": "ping", "id": 0})
            for message, data in answers:
                if "hello" in message:
                    self._tell(Link("connected", self._heard, note=peer.note))
                    self._up(peer)
                    continue
                try:
                    self._arrived(message, data)
                except (NotTheProtocol, KeyError, TypeError, AttributeError):
                    return "the remote machine sends what no agent sends"
        return "closed"

    def _tell(self, link: Link) -> None:
        with self._news:
            self.link = link
            self._news.notify_all()
