"""A remote machine as a place, through the user's own ssh. Nothing is installed or written there.

An agent in its memory (`rltui.agent`) lists and follows files and sends what is new. If there is no Python, a plain
shell does this (`shell`). After a cut the connection continues where it was: nothing is lost or read twice.
"""

from __future__ import annotations

import errno
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Condition, get_ident
from typing import Any

from msgspec import Struct, field

from rltui.sources import local
from rltui.sources.base import Delta, FileStat, Link, Listing, SourceError, error_of_exception, error_of_number
from rltui.sources.ssh.connection import AgentPeer, Connection, Message, Peer, PeerLost, Process, greet
from rltui.sources.ssh.follower import WINDOW, NotTheProtocol, RemoteFollower
from rltui.sources.ssh.shell import ShellPeer

_GREETING_S = 60.0  # ProxyJump chains, and Python on a cold network file system, are slow
_ANSWER_S = 120.0
_MOST_CUTS = 4  # a request is dropped after this many cuts


class _Asked(Struct):
    """A request that is waiting for its answer. It is sent again after a cut."""

    message: Message
    answer: tuple[Message, bytes] | None = None
    cuts: int = 0


class _Wanted(Struct):
    """What the remote machine must do continuously. It is sent again after a cut."""

    followers: dict[int, RemoteFollower] = field(default_factory=dict)
    watched: set[str] = field(default_factory=set)
    hardware: Message | None = None


class _Seen(Struct):
    """What a waiting thread saw last: the link, and how often each of its paths had changed."""

    link: Link
    changes: dict[str, int] = field(default_factory=dict)


class SshPlace:
    """`Place` of a remote machine. Every method may be called from any thread.

    `command` returns the words that start ssh (in tests: anything that answers like it). Call `open` first.
    """

    def __init__(
        self,
        name: str,
        command: Callable[[], Sequence[str]],
        *,
        first_pause_s: float = 0.5,
        longest_pause_s: float = 30.0,
    ) -> None:
        self.name = name
        self._command = command
        self._news = Condition()
        self._numbers = itertools.count(1)
        self._asked: dict[int, _Asked] = {}
        self._wanted = _Wanted()
        self._unused: dict[int, int] = {}  # bytes read from each file and not yet reported to the remote machine
        self._changes: Counter[str] = Counter()
        self._waiters: dict[int, _Seen] = {}  # by thread
        self._takers: list[Callable[[dict[str, Any]], None]] = []
        self._closed = False
        self._process: Process | None = None
        self._connection = Connection(
            self._start,
            news=self._news,
            up=self._say_again,
            arrived=self._arrived,
            first_pause_s=first_pause_s,
            longest_pause_s=longest_pause_s,
        )

    # -- the connection --------------------------------------------------------------------------------------------

    def open(self) -> Link:
        """Connects: "connected", or "failed" with ssh's words. After a failure it may be called again."""
        return self._connection.open()

    def link(self) -> Link:
        return self._connection.link or Link("failed", 0.0, "not connected")

    @property
    def pid(self) -> int | None:
        """Process id of the current ssh; None before the first one."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """Ends the connection and wakes every waiting thread."""
        with self._news:
            self._closed = True
            self._news.notify_all()
        self._connection.stop()
        self._connection.send({"op": "close", "id": 0})
        if self._process is not None:
            self._process.kill()
        self._connection.join()

    def _start(self) -> Peer:
        process = self._process = Process(self._command())
        try:
            is_python, heard = greet(process, _GREETING_S)
            return AgentPeer(process, heard) if is_python else ShellPeer(process, heard)
        except PeerLost:
            process.end()
            raise

    def _say_again(self, peer: Peer) -> None:
        with self._news:
            followers = list(self._wanted.followers.values())
            messages = [self._follow_message(follower) for follower in followers]
            self._unused.clear()
            if self._wanted.watched:
                messages.append({"op": "watch", "id": 0, "paths": sorted(self._wanted.watched)})
            if self._wanted.hardware is not None:
                messages.append(self._wanted.hardware)
            for asked in self._asked.values():
                asked.cuts += 1
                if asked.cuts < _MOST_CUTS:
                    messages.append(asked.message)
            self._news.notify_all()
        for message in messages:
            peer.send(message)

    def _arrived(self, message: Message, data: bytes) -> None:
        if "number" in message:
            follower = self._wanted.followers.get(message["number"])
            if follower is not None and "piece" in message:
                follower.arrived(message["piece"], data)
            elif follower is not None:
                follower.failed(_errno(message["errno"]))
        elif "changed" in message:
            with self._news:
                self._changes.update(
                    {path for path in map(_from_wire, message["changed"]) if path in self._wanted.watched}
                )
                self._news.notify_all()
        elif "hardware" in message:
            if isinstance(message["hardware"], dict):
                for taker in list(self._takers):
                    taker(message["hardware"])
        else:
            with self._news:
                asked = self._asked.get(message["id"])
                if asked is not None:
                    asked.answer = message, data
                    self._news.notify_all()

    def _ask(self, op: str, path: str, **more: Any) -> tuple[Message, bytes] | SourceError:
        """Sends a request and waits for the answer, even across a reconnection."""
        if "\0" in path:
            return error_of_exception(path, ValueError())
        number = next(self._numbers)
        asked = _Asked({"op": op, "id": number, "path": path, **more})
        with self._news:
            self._asked[number] = asked
        self._connection.send(asked.message)
        with self._news:
            self._news.wait_for(lambda: asked.answer or self._is_hopeless(asked), _ANSWER_S)
            del self._asked[number]
        if asked.answer is None:
            link = self.link()
            return SourceError(path, "io", f"{self.name}: {link.text or 'no answer'}")
        message, data = asked.answer
        if "errno" in message:
            try:
                return error_of_number(path, _errno(message["errno"]))
            except NotTheProtocol:
                return self._nonsense(path)
        return message, data

    def _is_hopeless(self, asked: _Asked) -> bool:
        return self._closed or asked.cuts >= _MOST_CUTS or self.link().state == "failed"

    def _nonsense(self, path: str) -> SourceError:
        return SourceError(path, "io", f"{self.name}: the remote machine sends what no agent sends")

    # -- Place -----------------------------------------------------------------------------------------------------

    def stat(self, path: str) -> FileStat | SourceError:
        """Only for files: a directory, pipe or device gives an error of kind "not-a-file"."""
        answer = self._ask("stat", path)
        if isinstance(answer, SourceError):
            return answer
        return _file_stat(path, answer[0].get("file")) or self._nonsense(path)

    def is_dir(self, path: str) -> bool:
        answer = self._ask("isdir", path)
        return not isinstance(answer, SourceError) and answer[0].get("isdir") is True

    def walk(self, root: str) -> Listing:
        """See `rltui.agent.tree.walk_tree`, which runs there."""
        answer = self._ask("walk", root)
        if not isinstance(answer, SourceError):
            try:
                return _listing(root, answer[0])
            except (KeyError, TypeError, ValueError):
                answer = self._nonsense(root)
        return Listing(root, (), (), complete=False, error=answer)

    def head(self, path: str, max_bytes: int = 1 << 14) -> bytes | SourceError:
        return self.read(path, max_bytes)

    def read(self, path: str, max_bytes: int = 1 << 24) -> bytes | SourceError:
        answer = self._ask("read", path, max_bytes=max_bytes)
        return answer if isinstance(answer, SourceError) else answer[1][:max_bytes]

    def follow(self, path: str) -> RemoteFollower:
        return RemoteFollower(self, path, next(self._numbers), self._news)

    def wait(self, paths: list[str], timeout_s: float) -> bool:
        """See `Place.wait`. Also true if the connection was cut or came back."""
        with self._news:
            seen = self._waiters.setdefault(get_ident(), _Seen(self.link()))
            new = set(paths) - set(seen.changes)
            seen.changes = {path: seen.changes.get(path, self._changes[path]) for path in paths}
            self._watch()
            if not new:
                self._news.wait_for(lambda: self._closed or self._is_news(seen), timeout_s)
            found = not self._closed and (bool(new) or self._is_news(seen))
            seen.link, seen.changes = self.link(), {path: self._changes[path] for path in paths}
            return found

    def _is_news(self, seen: _Seen) -> bool:
        return (
            self.link() is not seen.link
            or any(self._changes[path] != count for path, count in seen.changes.items())
            or any(f.path in seen.changes and f.has_news() for f in self._wanted.followers.values())
        )

    def _watch(self) -> None:
        """Makes the remote machine watch the paths that threads wait for and that are not followed."""
        followed = {f.path for f in self._wanted.followers.values()}
        others = {path for seen in self._waiters.values() for path in seen.changes} - followed
        if others != self._wanted.watched:
            self._wanted.watched = others
            self._connection.send({"op": "watch", "id": 0, "paths": sorted(others)})

    # -- followers -------------------------------------------------------------------------------------------------

    def begin(self, follower: RemoteFollower) -> None:
        """See `follower.Owner`."""
        if "\0" in follower.path:
            follower.failed(errno.ENOENT)
            return
        with self._news:
            self._wanted.followers[follower.number] = follower
            message = self._follow_message(follower)
        self._connection.send(message)

    def used(self, follower: RemoteFollower, count: int) -> None:
        """See `follower.Owner`. Reported in large portions: a message for each line would cost as much as the line."""
        with self._news:
            owed = self._unused.get(follower.number, 0) + count
            self._unused[follower.number] = owed if owed < WINDOW // 8 else 0
        if owed >= WINDOW // 8:
            self._connection.send({"op": "used", "id": 0, "number": follower.number, "bytes": owed})

    def tail(self, path: str, max_bytes: int) -> Delta:
        answer = self._ask("tail", path, max_bytes=max_bytes)
        if isinstance(answer, SourceError):
            return Delta(b"", 0, error=answer)
        message, data = answer
        stat, offset = _file_stat(path, message.get("file")), message.get("offset")
        if stat is None or not isinstance(offset, int) or offset < 0:
            return Delta(b"", 0, error=self._nonsense(path))
        return Delta(data[:max_bytes], offset, stat=stat)

    def forget(self, follower: RemoteFollower) -> None:
        with self._news:
            known = self._wanted.followers.pop(follower.number, None)
            self._unused.pop(follower.number, None)
        if known is not None:
            self._connection.send({"op": "unfollow", "id": 0, "number": follower.number})

    def _follow_message(self, follower: RemoteFollower) -> Message:
        position = follower.position.write_down()
        return {"op": "follow", "id": 0, "number": follower.number, "path": follower.path, "position": position}

    # -- hardware --------------------------------------------------------------------------------------------------

    def sample(
        self,
        every_s: float,
        disk: str | None,
        taken: Callable[[dict[str, Any]], None],
        disks: Mapping[str, str] | None = None,
        words: Sequence[str] = (),
    ) -> None:
        """Passes samples of the remote machine's hardware to `taken` (plain values, unchecked), in another thread,
        until `no_samples`. If several callers want samples, the first one's arguments apply. `disk`: the run's
        directory. `disks`: purpose -> other directory. `words`: see `rltui.agent.hardware.Processes`."""
        with self._news:
            self._takers.append(taken)
            if self._wanted.hardware is not None:
                return
            asked = {"every_s": every_s, "disk": disk, "disks": dict(disks or {}), "words": list(words)}
            self._wanted.hardware = {"op": "hardware", "id": 0, **asked}
        self._connection.send(self._wanted.hardware)

    def no_samples(self, taken: Callable[[dict[str, Any]], None]) -> None:
        """Ends what `sample` began for this taker. Sampling ends with the last taker."""
        with self._news:
            self._takers = [taker for taker in self._takers if taker != taken]
            if self._takers or self._wanted.hardware is None:
                return
            self._wanted.hardware = None
        self._connection.send({"op": "hardware", "id": 0, "every_s": 0})


def _from_wire(path: Any) -> str:
    if not isinstance(path, str):
        raise NotTheProtocol("a path that is none")
    return path


def _errno(value: Any) -> int:
    if not isinstance(value, int) or not 0 < value < 4096:
        raise NotTheProtocol("an error number that is none")
    return value


def _file_stat(path: str, values: Any) -> FileStat | None:
    match values:
        case [int(size), int() | float() as mtime, str(identity)] if size >= 0 and math.isfinite(mtime):
            return FileStat(path, size, float(mtime), identity[:100])
    return None


def _listing(root: str, message: Message) -> Listing:
    files = []
    for path, *values in message["files"]:
        stat = _file_stat(_from_wire(path), values)
        if stat is None:
            raise NotTheProtocol("a file that cannot be")
        files.append((stat.path, stat.size, stat.mtime, stat.identity))
    dirs: Iterable[str] = [_from_wire(path) for path in message["dirs"]]
    skipped = {str(reason)[:40]: int(count) for reason, count in dict(message["skipped"]).items()}
    return local.listing(root, files, dirs, message["complete"] is True, skipped)
