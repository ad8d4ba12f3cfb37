"""The screen's thread goes first, and nobody waits where there is none."""

from __future__ import annotations

import asyncio
import sys
from threading import Event, Thread

import pytest

from rltui import cooperate
from rltui.tui.start import run_loop


class Told(Event):
    """Tells when a thread waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_for = Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.waited_for.set()
        return super().wait(timeout)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Told:
    told = Told()
    told.set()
    monkeypatch.setattr(cooperate, "_free", told)
    return told


def test_work_waits_for_the_screen(free: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooperate, "PATIENCE_S", 600.0)
    order: list[str] = []
    cooperate.take()

    def at_work() -> None:
        cooperate.give_way()
        order.append("work")

    work = Thread(target=at_work)
    work.start()
    assert free.waited_for.wait(60)
    order.append("screen")
    cooperate.leave()
    work.join(60)
    assert order == ["screen", "work"]


def test_the_screen_does_not_wait_for_itself_nor_anybody_for_no_screen(
    free: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cooperate, "PATIENCE_S", 600.0)
    cooperate.give_way()
    cooperate.take()
    cooperate.give_way()
    assert not free.waited_for.is_set()


def test_a_screen_that_is_held_up_is_waited_for_once(free: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooperate, "PATIENCE_S", 0.001)
    cooperate.take()
    work = Thread(target=cooperate.give_way)
    work.start()
    work.join(60)
    assert free.waited_for.is_set()
    assert free.is_set()
    cooperate.take()
    assert not free.is_set()


async def works_and_waits(free: Event) -> list[bool]:
    """Whether others may go while the loop works, and while it waits for them."""
    tries = 0
    while free.is_set() and tries < 1000:  # until the loop had to wait for the first time
        tries += 1
        await asyncio.sleep(0.01)
    working = free.is_set()
    waiting = await asyncio.get_running_loop().run_in_executor(None, free.wait, 60)
    return [working, waiting, free.is_set()]


def test_the_loop_takes_the_turn_while_it_works(free: Told) -> None:
    usual = sys.getswitchinterval()
    assert run_loop(works_and_waits(free)) == [False, True, False]
    assert free.is_set()
    assert sys.getswitchinterval() == usual
