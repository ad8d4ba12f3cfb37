"""The agent on a remote machine. It lists, reads and follows files for the rltui at the other end of stdin and stdout.

It is sent over ssh and runs from memory. It writes nothing to disk, does nothing unasked and ends with the connection.

A frame is a length (4 bytes, big endian) and that many bytes. A frame to the agent is one JSON request. A frame from it
is the next flushed piece of one zlib stream; it inflates to the length of the JSON answer (4 bytes), the answer, and
raw bytes of a file. All frames share one stream, so keys that repeat in every log line cost next to nothing.

Sent to remote machines: Python 3.6 and the standard library only.
"""

import contextlib
import importlib
import json
import os
import platform
import queue
import select
import struct
import sys
import threading
import zlib
from typing import Any

from rltui.agent.files import ForwardReader, Position, check_regular, number_of, open_regular, read_tail
from rltui.agent.tree import walk_tree
from rltui.agent.waiter import Waiter

LENGTH = struct.Struct(">I")
MAX_REQUEST = 1 << 20
WINDOW = 4 << 20
"""At most this many bytes of one file are sent before the other end reports that it has used them."""
_PIECE = 256 << 10
_SILENCE_S = 90.0
"""The other end sends something at least every 15 s. After this long a silence it is gone, even without a signal."""
_WAIT_S = 1.0
_SLOW = ("stat", "isdir", "walk", "read", "tail")
_COMPRESSION = 6


class _Followed:
    def __init__(self, number: int, path: str, position: Position) -> None:
        self.number = number
        self.path = path
        self.reader = ForwardReader(path, position)
        self.under_way = 0
        self.told = False  # the other end knows the file's current state
        self.error = 0


class Agent:
    """Answers requests read from `source` on `target` (descriptors) until one of them closes."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._compress = zlib.compressobj(_COMPRESSION)
        self._requests = queue.Queue()  # type: queue.Queue[dict[str, Any]]
        self._writing = threading.Lock()
        self._reading = threading.RLock()  # followers and watches
        self._followed = {}  # type: dict[int, _Followed]
        self._watched = {}  # type: dict[str, tuple[int, ...] | None]
        self._waiting = None  # type: threading.Thread | None
        self._sampling = None  # type: threading.Event | None

    def run(self) -> None:
        """Reads requests until the connection ends."""
        hello = {"python": platform.python_version(), "pid": os.getpid(), "node": platform.node()}
        self._send({"hello": hello})
        threading.Thread(target=self._work, daemon=True).start()
        pending = b""
        while True:
            if not select.select([self._source], [], [], _SILENCE_S)[0]:
                return
            got = os.read(self._source, 1 << 16)
            if not got:
                return
            pending += got
            while len(pending) >= LENGTH.size:
                (length,) = LENGTH.unpack_from(pending)
                if length > MAX_REQUEST:
                    return
                if len(pending) < LENGTH.size + length:
                    break
                request = json.loads(pending[LENGTH.size : LENGTH.size + length].decode("ascii"))
                pending = pending[LENGTH.size + length :]
                self._start(request)

    def _start(self, request: "dict[str, Any]") -> None:
        """Starts the work on a request and returns, so that the end of the connection is noticed at once. A request
        that may be slow (if the file system is) gets its own thread; the others are answered in order."""
        if request["op"] in _SLOW:
            threading.Thread(target=self._answer, args=(request,), daemon=True).start()
        else:
            self._requests.put(request)

    def _work(self) -> None:
        while True:
            self._answer(self._requests.get())

    def _answer(self, request: "dict[str, Any]") -> None:
        data = b""
        try:
            answer, data = getattr(self, "_do_" + request["op"])(request)
        except (OSError, ValueError) as error:
            answer = {"errno": number_of(error)}
        if answer is not None:
            answer["id"] = request["id"]
            self._send(answer, data)

    # -- requests --------------------------------------------------------------------------------------------------

    def _do_close(self, request: "dict[str, Any]") -> "tuple[dict[str, Any], bytes]":
        os._exit(0)

    def _do_ping(self, request: "dict[str, Any]") -> "tuple[dict[str, Any], bytes]":
        return {}, b""

    def _do_stat(self, request: "dict[str, Any]") -> "tuple[dict[str, Any], bytes]":
        path = _from_wire(request["path"])
        found = os.stat(path)
        check_regular(path, found.st_mode)
        return {"file": _status(found)}, b""

    def _do_isdir(self, request: "dict[str, Any]") -> "tuple[dict[str, Any], bytes]":
        return {"isdir": os.path.isdir(_from_wire(request["path"]))}, b""

    def _do_walk(self, request: "dict[str, Any]") -> "tuple[dict[str, Any], bytes]":
        tree = walk_tree(_from_wire(request["path"]))
        files = [(_to_wire(path), *rest) for path, *rest in tree.files]
        dirs = [_to_wire(path) for path in tree.dirs]
        return {"files": files, "dirs": dirs, "complete": tree.complete, "skipped": dict(tree.skipped)}, b""

    def _do_read(self, request: "dict[str, Any]") -> "tuple[dict[str, Any], bytes]":
        descriptor, _ = open_regular(_from_wire(request["path"]))
        with os.fdopen(descriptor, "rb") as file:
            return {}, file.read(request["max_bytes"])

    def _do_tail(self, request: "dict[str, Any]") -> "tuple[dict[str, Any], bytes]":
        data, start, found = read_tail(_from_wire(request["path"]), request["max_bytes"])
        return {"offset": start, "file": _status(found)}, data

    def _do_follow(self, request: "dict[str, Any]") -> "tuple[None, bytes]":
        position = Position.taken_up(request["position"])
        followed = _Followed(request["number"], _from_wire(request["path"]), position)
        with self._reading:
            if followed.number not in self._followed:
                self._followed[followed.number] = followed
                self._pump(followed)
                self._wait_too()
        return None, b""

    def _do_unfollow(self, request: "dict[str, Any]") -> "tuple[None, bytes]":
        with self._reading:
            self._followed.pop(request["number"], None)
        return None, b""

    def _do_used(self, request: "dict[str, Any]") -> "tuple[None, bytes]":
        with self._reading:
            followed = self._followed.get(request["number"])
            if followed is not None:
                followed.under_way = max(0, followed.under_way - request["bytes"])  # some was sent before a cut
                self._pump(followed)
        return None, b""

    def _do_watch(self, request: "dict[str, Any]") -> "tuple[None, bytes]":
        """Watches these paths from now on. New ones count as changed, as they may have changed before this request
        came."""
        with self._reading:
            before = self._watched
            self._watched = {path: _look(path) for path in map(_from_wire, request["paths"])}
            self._wait_too()
        new = [_to_wire(path) for path in self._watched if path not in before]
        if new:
            self._send({"changed": new})
        return None, b""

    def _do_hardware(self, request: "dict[str, Any]") -> "tuple[None, bytes]":
        """Sends a sample every `every_s` seconds from now on; 0 ends the sampling."""
        with self._reading:
            if self._sampling is not None:
                self._sampling.set()
            self._sampling = None
            if request["every_s"] > 0:
                self._sampling = threading.Event()
                disk = request["disk"]
                disks = {what: _from_wire(path) for what, path in request.get("disks", {}).items()}
                watched = (None if disk is None else _from_wire(disk), disks, request.get("words", []))
                arguments = (self._sampling, request["every_s"], watched)
                threading.Thread(target=self._sample, args=arguments, daemon=True).start()
        return None, b""

    # -- what is sent unasked --------------------------------------------------------------------------------------

    def _wait_too(self) -> None:
        if self._waiting is None:
            self._waiting = threading.Thread(target=self._wait, daemon=True)
            self._waiting.start()

    def _wait(self) -> None:
        waiter = Waiter()
        while True:
            with self._reading:
                paths = list(dict.fromkeys([f.path for f in self._followed.values()] + list(self._watched)))
            if not waiter.wait(paths, _WAIT_S):
                continue
            with self._reading:
                for followed in list(self._followed.values()):
                    self._pump(followed)
                changed = {
                    path: now for path, before in self._watched.items() for now in [_look(path)] if now != before
                }
                self._watched.update(changed)
            if changed:
                self._send({"changed": [_to_wire(path) for path in changed]})

    def _pump(self, followed: _Followed) -> None:
        """Sends what is new in a file, as much as the window allows."""
        more = True
        while more and followed.under_way < WINDOW:
            try:
                piece = followed.reader.read(_PIECE)
            except (OSError, ValueError) as error:
                number = number_of(error)
                if number != followed.error:
                    followed.error = number
                    followed.told = False
                    self._send({"number": followed.number, "errno": number})
                return
            more = piece.more
            if piece.data or piece.reset or not followed.told:
                followed.told, followed.error = True, 0
                followed.under_way += len(piece.data)
                values = [piece.offset, piece.reset, piece.more, piece.size, piece.mtime, piece.identity]
                self._send({"number": followed.number, "piece": values}, piece.data)

    def _sample(self, stopped: threading.Event, every_s: float, watched: "tuple[Any, ...]") -> None:
        sampler = importlib.import_module("rltui.agent.hardware").FarSampler(*watched)
        while not stopped.is_set():
            self._send({"hardware": sampler.sample()})
            stopped.wait(every_s)

    def _send(self, answer: "dict[str, Any]", data: bytes = b"") -> None:
        text = json.dumps(answer, separators=(",", ":")).encode("ascii")
        try:
            with self._writing:
                packed = self._compress.compress(LENGTH.pack(len(text)) + text + data)
                packed += self._compress.flush(zlib.Z_SYNC_FLUSH)
                left = memoryview(LENGTH.pack(len(packed)) + packed)
                while left:
                    left = left[os.write(self._target, left) :]
        except OSError:  # nobody is listening any more
            os._exit(0)


def _to_wire(path: str) -> str:
    """The bytes of a path in a form that JSON can carry, whatever the locale here."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def _from_wire(path: str) -> str:
    return os.fsdecode(path.encode("utf-8", "surrogateescape"))


def _status(found: os.stat_result) -> "list[Any]":
    return [found.st_size, found.st_mtime, f"{found.st_dev}:{found.st_ino}"]


def _look(path: str) -> "tuple[int, ...] | None":
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def main() -> None:
    """Runs until the connection ends. The process then ends, even if threads still wait for a slow file system."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # so that a stray print does not damage the frames
    with contextlib.suppress(OSError):
        os.nice(10)  # the training comes first
    try:
        Agent(source, target).run()
    except (OSError, ValueError, KeyError) as error:
        print(f"rltui-agent: {error}", file=sys.stderr)
    finally:
        os._exit(0)
