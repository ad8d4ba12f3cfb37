"""Waiting wakes for what concerns us, at once with inotify and soon without, and hardly ever when nothing happens."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rltui.agent import waiter as waiter_module
from rltui.agent.waiter import Waiter
from rltui.sources.local import LocalPlace

LONG_S = 20.0
"""A wait that times out fails the test; one that is woken returns at once."""


@pytest.fixture(params=[True, False], ids=["inotify", "polling"])
def waiter(request: pytest.FixtureRequest) -> Iterator[Waiter]:
    made = Waiter(use_inotify=request.param)
    yield made
    made.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_bytes(b"a")
    return path


def settled(waiter: Waiter, *paths: Path) -> list[str]:
    """The paths, after the waiter has seen them as they are."""
    names = [str(path) for path in paths]
    assert waiter.wait(names, LONG_S)  # new to it, so they count as changed
    while waiter.wait(names, 0.0):
        pass
    return names


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"b")


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"c")
    other.replace(path)


@pytest.mark.parametrize("change", [append, replace, Path.unlink, lambda p: p.write_bytes(b"")])
def test_a_change_wakes(waiter: Waiter, log: Path, change: Callable[[Path], None]) -> None:
    names = settled(waiter, log)
    threading.Thread(target=change, args=(log,)).start()
    assert waiter.wait(names, LONG_S)


def test_a_change_between_two_waits_is_not_missed(waiter: Waiter, log: Path) -> None:
    names = settled(waiter, log)
    append(log)
    assert waiter.wait(names, LONG_S)


def test_a_file_that_appears_wakes(waiter: Waiter, tmp_path: Path) -> None:
    later = tmp_path / "later.log"
    names = settled(waiter, later)
    threading.Thread(target=later.touch).start()
    assert waiter.wait(names, LONG_S)
    while waiter.wait(names, 0.0):
        pass
    threading.Thread(target=append, args=(later,)).start()
    assert waiter.wait(names, LONG_S)


def test_a_file_in_a_directory_that_appears_wakes(waiter: Waiter, tmp_path: Path) -> None:
    names = settled(waiter, tmp_path / "run" / "later.log")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "later.log").touch()
    assert waiter.wait(names, LONG_S)


def test_a_name_that_appears_in_a_watched_directory_wakes(waiter: Waiter, tmp_path: Path) -> None:
    names = settled(waiter, tmp_path)
    threading.Thread(target=(tmp_path / "new.log").touch).start()
    assert waiter.wait(names, LONG_S)


def test_after_a_replacement_the_new_file_is_watched(waiter: Waiter, log: Path) -> None:
    names = settled(waiter, log)
    replace(log)
    assert waiter.wait(names, LONG_S)
    while waiter.wait(names, 0.0):
        pass
    threading.Thread(target=append, args=(log,)).start()
    assert waiter.wait(names, LONG_S)


def test_nothing_wakes_for_neighbours_or_for_nothing(waiter: Waiter, log: Path, tmp_path: Path) -> None:
    names = settled(waiter, log)
    (tmp_path / "neighbour").write_bytes(b"x")
    assert not waiter.wait(names, 0.05)
    assert not waiter.wait([], 0.01)


def test_other_paths_are_followed_from_then_on(waiter: Waiter, log: Path, tmp_path: Path) -> None:
    settled(waiter, log)
    second = tmp_path / "second.log"
    second.touch()
    names = settled(waiter, second)
    append(log)
    assert not waiter.wait(names, 0.05)
    append(second)
    assert waiter.wait(names, LONG_S)


def test_idle_costs_about_one_look_a_second(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock of our own: a minute of idling, counting the sleeps."""
    now, sleeps = 0.0, 0

    def sleep(seconds: float) -> None:
        nonlocal now, sleeps
        assert seconds > 0
        now, sleeps = now + seconds, sleeps + 1

    class Silent:
        def events(self, timeout_s: float) -> list[tuple[int, str]]:
            if timeout_s > 0:
                sleep(timeout_s)
            return []

        def watch_file(self, path: str) -> int:
            return 1

        def watch_directory(self, path: str) -> int:
            return 2

    monkeypatch.setattr(waiter_module.time, "monotonic", lambda: now)
    monkeypatch.setattr(waiter_module.time, "sleep", sleep)
    for inotify, most in ((Silent(), 65), (None, 245)):
        made = Waiter(use_inotify=False)
        made._inotify = inotify  # type: ignore[assignment]
        names = settled(made, log)
        sleeps = 0
        assert not made.wait(names, 60.0)
        assert sleeps <= most
        append(log)  # silently, as on a network file system
        started = now
        assert made.wait(names, 60.0)
        assert now - started <= 1.1


def test_a_file_written_all_the_time_wakes_a_bounded_number_of_times(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(waiter_module.time, "monotonic", lambda: now)
    monkeypatch.setattr(waiter_module.time, "sleep", sleep)
    made = Waiter(use_inotify=False)
    names = settled(made, log)
    now, wakes = 10.0, 0
    while now < 11.0:
        append(log)
        wakes += made.wait(names, 1.0)
    assert wakes <= 30


def test_a_place_waits_and_closes(log: Path) -> None:
    place = LocalPlace()
    assert place.wait([str(log)], LONG_S)
    place.close()
    assert place.wait([str(log)], LONG_S)
    place.close()


def test_without_inotify_there_is_polling(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("too many instances")

    monkeypatch.setattr(waiter_module, "Inotify", refuse)
    made = Waiter()
    names = settled(made, log)
    os.truncate(log, 0)
    assert made.wait(names, LONG_S)


def test_threads_wait_at_one_place_side_by_side(tmp_path: Path) -> None:
    place = LocalPlace()
    files = [tmp_path / name for name in ("a.log", "b.log")]
    woken: list[bool] = []

    def wait(path: Path) -> None:
        place.wait([str(path)], 0.0)
        woken.append(place.wait([str(path)], LONG_S))

    for path in files:
        path.write_text("x")
    threads = [threading.Thread(target=wait, args=(path,)) for path in files]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for path in files:
            path.write_text(path.read_text() + "x")
        threads[0].join(0.05)
    assert woken == [True, True]
    place.close()
