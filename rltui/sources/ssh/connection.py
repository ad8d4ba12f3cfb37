"""The connection to a remote machine: the ssh process, and messages to and from the program that it started there.
After a cut the connection is started again, with longer and longer pauses.

The remote machine is untrusted: frames, messages and unread data are bounded, and anything outside the protocol ends
the connection with `PeerLost`.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import struct
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from threading import Condition, Event, Lock, Thread
from typing import Any, Protocol

from rltui.sources.base import Link
from rltui.sources.ssh import command
from rltui.sources.ssh.follower import NotTheProtocol

_LENGTH = struct.Struct(">I")
MAX_MESSAGE = 48 << 20
"""The most bytes of one message: a file of 16 MB read whole, or the listing of a very large tree."""
_MAX_GREETING = 1 << 16  # what a login shell may print before the agent answers
_MAX_STDERR = 16 << 10
_END_WAIT_S = 2.0

Message = dict[str, Any]
PING_EVERY_S = 15.0
_SILENCE_S = 45.0
_THREAD_END_WAIT_S = 5.0
_STEADY_S = 10.0
"""If a connection lasted this long, it was good, and the next attempt comes soon."""


class PeerLost(Exception):  # noqa: N818  (it is nothing unusual)
    """The connection is over. The text gives the reason, in ssh's own words if it wrote any."""


class Peer(Protocol):
    """What answers on the remote machine: the agent, or a plain shell."""

    note: str

    def send(self, message: Message) -> None:
        """Sends a request, from any thread. If the connection is over, only `receive` raises."""

    def receive(self, timeout_s: float) -> list[tuple[Message, bytes]]:
        """The answers that arrive within the time, maybe none. Raises `PeerLost` if no more can come."""

    def end(self) -> None:
        """Ends the connection. The receiving thread calls it."""


class Process:
    """An ssh process with pipes to it. One thread reads; any thread may call `write` and `kill`."""

    def __init__(self, command: Sequence[str]) -> None:
        self._stderr = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # so that it cannot write to the terminal or get our Ctrl+C
            )
        except OSError as error:
            raise PeerLost(f"{command[0]} cannot be started: {error.strerror}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.pid = self._process.pid
        self._in = self._process.stdin
        self._out, self._err = self._process.stdout.fileno(), self._process.stderr.fileno()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._selector.register(self._err, selectors.EVENT_READ)
        self._writing = Lock()

    def write(self, data: bytes) -> None:
        try:
            with self._writing:
                left = memoryview(data)
                while left:
                    left = left[self._in.write(left) :]
        except (OSError, ValueError):
            return  # the reading thread will find out why

    def read(self, timeout_s: float) -> bytes:
        """The bytes that arrive within the time. Raises `PeerLost` at the end."""
        deadline = time.monotonic() + timeout_s
        while True:
            for key, _ in self._selector.select(max(0.0, deadline - time.monotonic())):
                data = os.read(key.fd, 1 << 16)
                if key.fd == self._err:
                    self._stderr = (self._stderr + data)[-_MAX_STDERR:]
                    if not data:
                        self._selector.unregister(self._err)
                elif data:
                    return data
                else:
                    raise PeerLost(self._last_words())
            if time.monotonic() >= deadline:
                return b""

    def _last_words(self) -> str:
        """Waits for the exit, so that ssh's last message is not missed."""
        try:
            self._in.close()
            self._selector.unregister(self._out)
            code: int | None = self._process.wait(_END_WAIT_S)
            deadline = time.monotonic() + _END_WAIT_S
            while self._err in self._selector.get_map() and time.monotonic() < deadline:
                for key, _ in self._selector.select(deadline - time.monotonic()):
                    data = os.read(key.fd, 1 << 16)
                    self._stderr = (self._stderr + data)[-_MAX_STDERR:]
                    if not data:
                        self._selector.unregister(key.fd)
        except (OSError, subprocess.TimeoutExpired):
            code = None
        return command.own_words(self._stderr, code)

    def end(self) -> None:
        """Ends the process and waits until it has ended. The input on the remote machine then ends."""
        try:
            self._process.terminate()
            self._process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def kill(self) -> None:
        """Makes a running `read` end soon."""
        self._process.terminate()


def greet(process: Process, timeout_s: float) -> tuple[bool, bytes]:
    """Waits until the remote machine shows what answers. Returns whether it is Python, and the bytes after that. Skips
    what a login shell prints. Raises `PeerLost`."""
    deadline = time.monotonic() + timeout_s
    heard = b""
    while len(heard) < _MAX_GREETING:
        left = deadline - time.monotonic()
        if left <= 0:
            raise PeerLost(f"no answer within {timeout_s:.0f} s")
        heard += process.read(left)
        for mark, is_python in ((command.PYTHON_MARK, True), (command.SHELL_MARK, False)):
            _, found, after = heard.partition(mark)
            if found:
                return is_python, after
    raise PeerLost("the remote machine answers something else than was asked")


class AgentPeer:
    """The agent. This class sends and starts it."""

    note = ""

    def __init__(self, process: Process, heard: bytes) -> None:
        self._process = process
        self._inflate = zlib.decompressobj()
        self._frames = bytearray(heard)
        process.write(command.bootstrap())

    def send(self, message: Message) -> None:
        text = json.dumps(message, separators=(",", ":")).encode("ascii")
        self._process.write(_LENGTH.pack(len(text)) + text)

    def receive(self, timeout_s: float) -> list[tuple[Message, bytes]]:
        waiting = list(self._messages())  # messages that came with the greeting
        if waiting:
            return waiting
        self._frames += self._process.read(timeout_s)
        return list(self._messages())

    def end(self) -> None:
        self._process.end()

    def _messages(self) -> Iterator[tuple[Message, bytes]]:
        while len(self._frames) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._frames)
            if length > MAX_MESSAGE:
                raise PeerLost("the remote machine sends what no agent sends")
            end = _LENGTH.size + length
            if len(self._frames) < end:
                return
            packed = bytes(self._frames[_LENGTH.size : end])
            del self._frames[:end]
            yield self._message(packed)

    def _message(self, packed: bytes) -> tuple[Message, bytes]:
        try:
            plain = self._inflate.decompress(packed, MAX_MESSAGE)
            if self._inflate.unconsumed_tail:
                raise PeerLost("the remote machine sends more than was asked for")
            (length,) = _LENGTH.unpack_from(plain)
            start = _LENGTH.size + length
            message = json.loads(plain[_LENGTH.size : start])
        except (zlib.error, ValueError, struct.error, RecursionError):
            raise PeerLost("the remote machine sends what no agent sends") from None
        if not isinstance(message, dict):
            raise PeerLost("the remote machine sends what no agent sends")
        return message, plain[start:]


class Connection:
    """A connection that one thread reads and renews. Every change shows at once in `link` and wakes the threads that
    wait on `news`.

    `start` opens a new connection and may be slow. It raises `PeerLost` if it fails; the peer raises it at the end.
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
        """Connects and waits for the result: connected, or failed with the reason. It tries only once."""
        with self._news:
            self.link = None
            self._thread = Thread(target=self._work, name="rltui-ssh", daemon=True)
            self._thread.start()
            self._news.wait_for(lambda: self.link is not None)
            assert self.link is not None
            return self.link

    def send(self, message: Message) -> None:
        """Sends the message if there is a connection. After a restart, `up` sends again what is still needed."""
        peer = self._peer
        if peer is not None:
            peer.send(message)

    def stop(self) -> None:
        """Prevents a restart. The running connection ends when its process ends."""
        self._closing.set()

    def join(self) -> None:
        """Waits for the thread to end, after `stop`."""
        if self._thread is not None:
            self._thread.join(_THREAD_END_WAIT_S)

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
        """Runs one connection from start to end. Returns why it ended."""
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
