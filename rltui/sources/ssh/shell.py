"""A remote machine without Python: a plain POSIX shell with `stat`, `tail`, `head` and `find`, asked every two seconds.

It answers the same messages as the agent, more slowly and with less: it has no hardware samples, does not follow links
to directories, and notices a rewrite with the same beginning and end only in a small file. Bytes come as base64 or as
hex.
"""

from __future__ import annotations

import base64
import os
import queue
import shlex
import time
import zlib

from rltui.agent import tree
from rltui.agent.files import FINGERPRINT_BYTES, Piece, Position
from rltui.sources.ssh.connection import MAX_MESSAGE, Message, PeerLost, Process
from rltui.sources.ssh.follower import WINDOW

_POLL_S = 2.0
_ANSWER_S = 120.0
_PIECE = 512 << 10
_WHOLE_CHECK_BYTES = 256 << 10
_TRIES = 3
"""A read that returns fewer bytes than the file has is repeated: a tool there was killed, or the file has just shrunk.
Only in the second case does the repetition change nothing."""

_PRELUDE = r"""
if command -v base64 >/dev/null 2>&1; then e() { base64; }; echo base64; else e() { od -An -v -tx1; }; echo hex; fi
if stat -L -c %s / >/dev/null 2>&1
then s() { stat -L -c '%s %Y %d:%i' "$1"; }; else s() { stat -L -f '%z %m %d:%i' "$1"; }; fi
r() { tail -c "+$(($2 + 1))" "$1" | head -c "$3" | e; }
c() {
if [ -f "$1" ]; then [ -r "$1" ] || { echo E 13; return 1; }
elif [ -d "$1" ]; then echo E 21; return 1
elif [ -e "$1" ]; then echo E 6; return 1
else echo E 2; return 1; fi
}
"""
"""e: bytes as text. s: the status of a file. r: the bytes of a file from an offset. c: why a file cannot be read
(errno)."""

_FIND = r"""find {path} -maxdepth {depth} \
\( -name '.?*' ! -name .hydra ! -name .art -o -name node_modules -o -name __pycache__ -o -name '*-packages' \) -prune \
-o -type d -exec printf 'D %s\n' {{}} + \
-o -type f -exec sh -c '{stat}' sh {{}} + 2>/dev/null | head -n {limit}"""
_STAT_ALL = 'stat -L -c "F %s %Y %d:%i %n" "$@" 2>/dev/null || stat -L -f "F %z %m %d:%i %N" "$@"'


class _Followed:
    def __init__(self, number: int, path: str, position: Position) -> None:
        self.number = number
        self.path = path
        self.position = position
        self.under_way = 0
        self.seen = ""  # status line at the last read
        self.error = 0


class ShellPeer:
    """See `connection.Peer`. The receiving thread does all the work."""

    note = "no Python there: files are looked at every 2 s through the shell, no hardware"

    def __init__(self, process: Process, heard: bytes) -> None:
        self._process = process
        self._heard = heard
        self._requests: queue.Queue[Message] = queue.Queue()
        self._count = 0
        self._hex: bool | None = None
        self._followed: dict[int, _Followed] = {}
        self._watched: dict[str, str] = {}
        self._next_poll = 0.0

    def send(self, message: Message) -> None:
        self._requests.put(message)

    def end(self) -> None:
        self._process.end()

    def receive(self, timeout_s: float) -> list[tuple[Message, bytes]]:
        try:
            return self._receive(timeout_s)
        except (ValueError, LookupError):
            raise PeerLost("the shell there does not answer as asked") from None

    def _receive(self, timeout_s: float) -> list[tuple[Message, bytes]]:
        if self._hex is None:
            self._hex = b"hex" in self._run(_PRELUDE)
            return [({"hello": {}}, b"")]
        deadline = time.monotonic() + timeout_s
        while True:
            now = time.monotonic()
            wanted = min(deadline, self._next_poll) if self._followed or self._watched else deadline
            try:
                answers = self._answer(self._requests.get(timeout=max(0.0, wanted - now)))
            except queue.Empty:
                answers = self._poll()
            if answers or time.monotonic() >= deadline:
                return answers

    # -- requests --------------------------------------------------------------------------------------------------

    def _answer(self, request: Message) -> list[tuple[Message, bytes]]:
        number, op = request["id"], request["op"]
        if op == "close":
            raise PeerLost("closed")
        if op == "ping":
            self._run(":")
            return [({"id": 0}, b"")]
        if op == "follow":
            followed = _Followed(request["number"], request["path"], Position.taken_up(request["position"]))
            self._followed.setdefault(followed.number, followed)
            return self._advance(followed)
        if op == "unfollow":
            self._followed.pop(request["number"], None)
        elif op == "used":
            known = self._followed.get(request["number"])
            if known is not None:
                known.under_way = max(0, known.under_way - request["bytes"])
                self._next_poll = 0.0
        elif op == "watch":
            new = [path for path in request["paths"] if path not in self._watched]
            self._watched = self._statuses(request["paths"])
            return [({"changed": new}, b"")] if new else []
        elif op != "hardware":
            answer, data = self._look(op, request)
            return [({"id": number, **answer}, data)]
        return []

    def _look(self, op: str, request: Message) -> tuple[Message, bytes]:
        path = _quoted(request["path"])
        if op == "isdir":
            return {"isdir": self._run(f"[ -d {path} ] && echo yes") == b"yes\n"}, b""
        if op == "walk":
            return self._walk(request["path"])
        if op == "read":
            lines = self._lines(f"c {path} && s {path} && r {path} 0 {int(request['max_bytes'])}")
        else:
            lines = self._lines(f"c {path} && s {path}")
        if lines[0].startswith("E "):
            return {"errno": int(lines[0][2:])}, b""
        status = _status(lines[0])
        if op == "stat":
            return {"file": status}, b""
        if op == "read":
            return {}, self._bytes(lines[1:])
        start = max(0, status[0] - request["max_bytes"])
        data = self._bytes(self._lines(f"r {path} {start} {int(request['max_bytes'])}"))
        return {"offset": start, "file": status}, data

    def _walk(self, root: str) -> tuple[Message, bytes]:
        top = root.rstrip("/") or "/"
        lines = self._lines(f"c {_quoted(top)}")
        files: list[tuple[str, int, float, str]] = []
        dirs: list[str] = []
        if lines == ["E 21"]:
            find = _FIND.format(path=_quoted(top), depth=tree.MAX_DEPTH, stat=_STAT_ALL, limit=tree.MAX_ENTRIES)
            found = self._lines(find)
        elif lines[0].startswith("E "):
            return {"errno": int(lines[0][2:])}, b""
        else:
            status = _status(self._run(f"s {_quoted(top)}").decode("ascii", "replace"))
            return {"files": [(top, *status)], "dirs": [], "complete": True, "skipped": {}}, b""
        for line in found:
            kind, _, rest = line.partition(" ")
            if kind == "D" and _is_below(top, rest):
                dirs.append(rest)
            elif kind == "F" and rest.count(" ") >= 3:
                size, mtime, identity, path = rest.split(" ", 3)
                if _is_below(top, path) and _is_wanted(top, path, int(size)):
                    files.append((path, int(size), float(mtime), identity))
        complete = len(found) < tree.MAX_ENTRIES
        skipped = {} if complete else {"entries": 1}
        return {"files": sorted(files), "dirs": sorted(dirs), "complete": complete, "skipped": skipped}, b""

    # -- followed files --------------------------------------------------------------------------------------------

    def _poll(self) -> list[tuple[Message, bytes]]:
        self._next_poll = time.monotonic() + _POLL_S
        paths = list(dict.fromkeys([f.path for f in self._followed.values()] + list(self._watched)))
        if not paths:
            return []
        now = self._statuses(paths)
        answers: list[tuple[Message, bytes]] = []
        for followed in self._followed.values():
            behind = followed.position.offset < followed.position.seen_size
            if now[followed.path] != followed.seen or behind:
                answers += self._advance(followed)
        changed = [path for path, seen in self._watched.items() if now[path] != seen]
        self._watched = {path: now[path] for path in self._watched}
        return [*answers, ({"changed": changed}, b"")] if changed else answers

    def _statuses(self, paths: list[str]) -> dict[str, str]:
        lines = self._lines("\n".join(f"s {_quoted(path)} 2>/dev/null || echo -" for path in paths))
        return dict(zip(paths, lines, strict=False))

    def _advance(self, followed: _Followed) -> list[tuple[Message, bytes]]:
        """The next pieces of a file, as many as the window allows."""
        answers: list[tuple[Message, bytes]] = []
        more = True
        while more and followed.under_way < WINDOW:
            piece = self._piece(followed)
            if piece is None:
                return [*answers, ({"number": followed.number, "errno": followed.error}, b"")]
            followed.position.follow(piece)
            followed.under_way += len(piece.data)
            values = [piece.offset, piece.reset, piece.more, piece.size, piece.mtime, piece.identity]
            answers.append(({"number": followed.number, "piece": values}, piece.data))
            more = piece.more
        return answers

    def _piece(self, followed: _Followed) -> Piece | None:
        at, path = followed.position, _quoted(followed.path)
        is_small = 0 < at.offset == at.seen_size <= _WHOLE_CHECK_BYTES
        start = 0 if is_small else at.offset - len(at.tail)
        script = f"c {path} && s {path} && r {path} 0 {FINGERPRINT_BYTES} && echo / && r {path} {start} {_PIECE}"
        for _ in range(_TRIES):
            lines = self._lines(script)
            followed.seen = "-"
            if lines[0].startswith("E "):
                followed.error = int(lines[0][2:])
                at.lost({2: "missing", 13: "permission"}.get(followed.error, "not-a-file"))
                return None
            followed.seen = lines[0]
            size, mtime, identity = _status(lines[0])
            middle = lines.index("/")
            head, body = self._bytes(lines[1:middle]), self._bytes(lines[middle + 1 :])
            if len(head) >= min(size, FINGERPRINT_BYTES) and len(body) >= min(size - start, _PIECE):
                break
        known = at.offset - start
        same = (
            (is_small or (not at.was_absent and identity == at.identity))
            and start + len(body) >= at.offset
            and head.startswith(at.head)
            and (zlib.crc32(body[:known]) == at.checksum if is_small else body.startswith(at.tail))
        )
        if at.offset > 0 and not same:
            start, known = 0, 0
            body = self._bytes(self._lines(f"r {path} 0 {_PIECE}"))
        data = body[known:]
        end = start + len(body)
        return Piece(
            data, start + known, at.offset > 0 and not same, bool(data) and end < size, max(size, end), mtime, identity
        )

    # -- the shell -------------------------------------------------------------------------------------------------

    def _run(self, script: str) -> bytes:
        """The output of the script. Raises `PeerLost` if the shell ends or does not answer."""
        self._count += 1
        mark = f"rltui:end:{self._count}\n".encode()
        self._process.write(f"{script}\necho {mark.decode().strip()}\n".encode("utf-8", "surrogateescape"))
        deadline = time.monotonic() + _ANSWER_S
        while mark not in self._heard:
            left = deadline - time.monotonic()
            if left <= 0 or len(self._heard) > MAX_MESSAGE:
                raise PeerLost("the shell there does not answer as asked")
            self._heard += self._process.read(left)
        said, _, self._heard = self._heard.partition(mark)
        return said

    def _lines(self, script: str) -> list[str]:
        return self._run(script).decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")

    def _bytes(self, lines: list[str]) -> bytes:
        text = "".join(lines)
        return bytes.fromhex(text) if self._hex else base64.b64decode(text, validate=True)


def _quoted(path: str) -> str:
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def _status(line: str) -> tuple[int, float, str]:
    """(size, mtime, identity) from a line that `s` printed."""
    size, mtime, identity = line.split()
    return int(size), float(mtime), identity


def _is_below(top: str, path: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _is_wanted(top: str, path: str, size: int) -> bool:
    directory, name = os.path.split(path)
    below = os.path.relpath(directory, top).split("/")
    if any(tree.is_cache_dir(part) for part in below if part != "."):
        return False
    if directory != top and tree.is_checkpoint_dir(directory):
        return name.endswith(".json") and (size <= _WHOLE_CHECK_BYTES or name == "trainer_state.json")
    return tree.is_saved_state(path) or tree.is_interesting(name)
