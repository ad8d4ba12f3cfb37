"""A follower delivers every byte once, whatever the writer does to the file."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rltui.agent import files
from rltui.sources.base import Delta, Follower
from rltui.sources.local import LocalPlace


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_bytes(b"step:1\n")
    return path


@pytest.fixture
def follow(log: Path) -> Follower:
    return LocalPlace().follow(str(log))


def age(path: Path, seconds: float) -> None:
    """Sets the file's time into the past by so much; each call with another age is another time."""
    found = path.stat()
    os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns - int(seconds * 1e9)))


def test_growth(log: Path, follow: Follower) -> None:
    first = follow.read()
    assert (first.data, first.offset, first.reset, first.more) == (b"step:1\n", 0, False, False)
    assert follow.read().data == b""
    with log.open("ab") as file:
        file.write(b"step:2\n")
    second = follow.read()
    assert (second.data, second.offset, second.reset) == (b"step:2\n", 7, False)
    assert second.stat is not None
    assert second.stat.size == 14


def test_a_bounded_read_says_that_there_is_more(log: Path, follow: Follower) -> None:
    log.write_bytes(b"abcdef")
    pieces = []
    while (delta := follow.read(4)).data:
        pieces.append((delta.data, delta.more))
    assert pieces == [(b"abcd", True), (b"ef", False)]


def test_truncation_and_rewrite(log: Path, follow: Follower) -> None:
    follow.read()
    log.write_bytes(b"new\n")
    delta = follow.read()
    assert (delta.data, delta.offset, delta.reset) == (b"new\n", 0, True)
    assert not follow.read().reset


def test_a_rewrite_in_place_that_is_longer(log: Path, follow: Follower) -> None:
    follow.read()
    inode = log.stat().st_ino
    log.write_bytes(b"step:9 and more\n")
    assert log.stat().st_ino == inode
    delta = follow.read()
    assert (delta.data, delta.reset) == (b"step:9 and more\n", True)


def test_a_rewrite_of_the_same_size_in_the_middle(log: Path, follow: Follower) -> None:
    body = b"x" * 500
    log.write_bytes(body)
    age(log, 100)
    follow.read()
    changed = body[:250] + b"y" + body[251:]
    log.write_bytes(changed)
    age(log, 50)
    delta = follow.read()
    assert (delta.data, delta.reset) == (changed, True)


def test_a_touch_is_no_rewrite(log: Path, follow: Follower) -> None:
    follow.read()
    age(log, 100)
    delta = follow.read()
    assert (delta.data, delta.reset) == (b"", False)


def test_replacement_by_rename(log: Path, follow: Follower, tmp_path: Path) -> None:
    follow.read()
    other = tmp_path / "other"
    other.write_bytes(b"step:0\nstep:1\n")
    other.replace(log)
    delta = follow.read()
    assert (delta.data, delta.reset) == (b"step:0\nstep:1\n", True)


@pytest.mark.parametrize("absent", [False, True])
def test_the_same_bytes_in_another_file_go_on(log: Path, follow: Follower, tmp_path: Path, absent: bool) -> None:
    """rsync writes a new file beside the old one and renames it."""
    follow.read()
    held = log.read_bytes()
    if absent:
        log.rename(tmp_path / "aside")
        assert follow.read().error is not None
    other = tmp_path / "other"
    other.write_bytes(held + b"step:2\n")
    other.replace(log)
    delta = follow.read()
    assert (delta.data, delta.reset) == (b"step:2\n", False)
    other.write_bytes(held.replace(b"1", b"7") + b"step:2\nstep:3\n")
    other.replace(log)
    assert follow.read().reset


@pytest.mark.parametrize("read_at_once", [1 << 20, 3_000_017])
def test_a_large_file_that_comes_back_is_another_if_its_middle_is(
    log: Path, follow: Follower, tmp_path: Path, read_at_once: int
) -> None:
    """Of a large file not every byte is compared, but another run's log differs in more than a few."""
    held = b"".join(b"step:%08d - reward:0.5\n" % i for i in range(300_000))
    assert len(held) > files.WHOLE_CHECK_BYTES + (1 << 20)
    log.write_bytes(held)
    while follow.read(read_at_once).more:
        pass
    other = tmp_path / "other"
    other.write_bytes(held + b"more\n")
    other.replace(log)
    delta = follow.read()
    assert (delta.data, delta.reset) == (b"more\n", False)
    middle = len(held) - (1 << 20)
    changed = held[:middle] + held[middle:].replace(b"0.5", b"0.7", 1_000)
    other.write_bytes(changed + b"more\n")
    other.replace(log)
    assert follow.read().reset


def test_deletion_and_return(log: Path, follow: Follower) -> None:
    follow.read()
    log.unlink()
    gone = follow.read()
    assert gone.error is not None
    assert gone.error.kind == "missing"
    assert "does not exist" in gone.error.text
    assert (gone.data, gone.reset) == (b"", False)
    log.write_bytes(b"step:9\n")
    back = follow.read()
    assert (back.data, back.reset, back.error) == (b"step:9\n", True, None)


def test_a_file_that_appears_later(tmp_path: Path) -> None:
    follow = LocalPlace().follow(str(tmp_path / "sub" / "later.log"))
    assert follow.read().error is not None
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "later.log").write_bytes(b"a")
    delta = follow.read()
    assert (delta.data, delta.reset) == (b"a", False)


def test_permission_lost_and_regained(log: Path, follow: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    follow.read()

    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "denied")

    with log.open("ab") as file:
        file.write(b"step:2\n")
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        delta = follow.read()
        assert delta.error is not None
        assert delta.error.kind == "permission"
    delta = follow.read()
    assert (delta.data, delta.reset, delta.error) == (b"step:2\n", False, None)


def test_an_error_while_reading_loses_nothing(log: Path, follow: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise OSError(errno.ESTALE, "stale")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pread", fail)
        delta = follow.read()
        assert delta.error is not None
        assert delta.error.kind == "io"
    assert follow.read().data == b"step:1\n"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_never_blocks(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "x")
    delta = LocalPlace().follow(str(tmp_path / "x")).read()
    assert delta.error is not None
    assert delta.error.kind == "not-a-file"


def test_tail_does_not_move_the_read_position(log: Path, follow: Follower) -> None:
    log.write_bytes(b"0123456789")
    tail = follow.tail(4)
    assert (tail.data, tail.offset) == (b"6789", 6)
    assert follow.read().data == b"0123456789"
    log.unlink()
    assert follow.tail().error is not None


def test_nothing_is_held_open(log: Path, follow: Follower) -> None:
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    follow.read()
    follow.tail()
    log.unlink()
    follow.read()
    after = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    assert after == before


def test_a_quiet_file_is_not_opened(log: Path, follow: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    age(log, 100)
    follow.read()
    monkeypatch.setattr(files, "open_regular", None)
    assert follow.read() == Delta(b"", 7, stat=follow.read().stat)


ACTION = st.one_of(
    st.tuples(st.just("append"), st.binary(min_size=1, max_size=90)),
    st.tuples(st.just("rewrite"), st.binary(max_size=200)),
    st.tuples(st.just("replace"), st.binary(max_size=200)),
    st.tuples(st.just("delete"), st.just(b"")),
    st.tuples(st.just("read"), st.just(b"")),
)


@given(st.lists(ACTION, max_size=25), st.integers(1, 120))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
def test_what_was_read_is_always_the_file(tmp_path: Path, actions: list[tuple[str, bytes]], piece: int) -> None:
    """After any history, reading to the end gives the present content, with a reset wherever it was needed."""
    path = tmp_path / "f"
    path.unlink(missing_ok=True)
    follow = LocalPlace().follow(str(path))
    seen = b""
    ticks = 10_000

    def read_once() -> Delta:
        nonlocal seen
        delta = follow.read(piece)
        if delta.error is None:
            seen = b"" if delta.reset else seen
            assert delta.offset == len(seen)
            seen += delta.data
        return delta

    for action, data in [*actions, ("append", b"end")]:
        if action == "read":
            read_once()
        elif action == "delete":
            path.unlink(missing_ok=True)
            read_once()
        elif action == "replace":
            other = tmp_path / "other"
            other.write_bytes(data)
            other.replace(path)
        else:
            with path.open("ab" if action == "append" else "wb") as file:
                file.write(data)
        if path.exists():
            ticks -= 1
            os.utime(path, (ticks, ticks))  # a clock of finer grain than ours
    while (delta := read_once()).more or delta.data:
        pass
    assert seen == path.read_bytes()
