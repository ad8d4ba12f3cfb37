"""Standard input as a place: nothing lost where reads wait for the end, the trainer never held up where it is live."""

from __future__ import annotations

import os
import random
from threading import Thread

import pytest

from rltui.sources.base import Delta
from rltui.sources.stdin import PATH, StdinPlace

DATA = b"".join(b"line %d\n" % i for i in range(50_000))


def writer(data: bytes, descriptor: int) -> Thread:
    """Writes all of it in pieces of any size, then closes."""

    def write() -> None:
        numbers, at = random.Random(1), 0
        while at < len(data):
            at += os.write(descriptor, data[at : at + numbers.randint(1, 9000)])
        os.close(descriptor)

    thread = Thread(target=write, daemon=True)
    thread.start()
    return thread


def until_end(place: StdinPlace) -> list[Delta]:
    follower = place.follow(PATH)
    deltas = [follower.read(10_000)]
    while deltas[-1].more:
        deltas.append(follower.read(10_000))
    return deltas


def test_read_to_the_end_through_a_small_buffer() -> None:
    out, into = os.pipe()
    place = StdinPlace(out, live=False, max_waiting=100_000)
    thread = writer(DATA, into)
    assert place.head(PATH, 20_000) == DATA[:20_000]
    deltas = until_end(place)
    thread.join(180)
    assert b"".join(delta.data for delta in deltas) == DATA
    assert [delta.offset for delta in deltas[:2]] == [0, len(deltas[0].data)]
    assert all(delta.error is None for delta in deltas)


def test_live_gives_what_is_there_and_wakes() -> None:
    out, into = os.pipe()
    place = StdinPlace(out, live=True)
    follower = place.follow(PATH)
    assert follower.read().data == b""
    assert not place.wait([PATH], 0.01)
    os.write(into, b"a\n")
    assert place.wait([PATH], 30)
    assert follower.tail().data == b"a\n"
    delta = follower.read()
    assert (delta.data, delta.offset, delta.more) == (b"a\n", 0, False)
    os.write(into, b"b\n")
    assert place.wait([PATH], 30)
    assert follower.read().data == b"b\n"
    os.close(into)
    assert place.wait([PATH], 30)  # the end is news, once
    assert not place.wait([PATH], 0.01)


def test_live_never_holds_the_writer_up() -> None:
    """Nobody reads: the writer gets rid of everything, the oldest lines give way, whole lines remain."""
    out, into = os.pipe()
    place = StdinPlace(out, live=True, max_waiting=100_000)
    thread = writer(DATA, into)
    thread.join(180)
    assert not thread.is_alive()
    assert place.wait([PATH], 30)
    while not place._ended:
        assert place.wait([PATH], 30)
    deltas = until_end(place)
    kept = b"".join(delta.data for delta in deltas)
    assert len(kept) <= 100_000
    assert DATA.endswith(kept.lstrip(b"\n"))
    assert kept.startswith(b"\n")  # what was cut in two is ended, so that no false line arises
    assert deltas[0].offset == len(DATA) - len(kept)
    assert deltas[-1].error is not None
    assert "were left out" in deltas[-1].error.text


def test_the_head_stays_what_it_was() -> None:
    out, into = os.pipe()
    place = StdinPlace(out, live=True)
    os.write(into, b"first line\n")
    assert place.head(PATH, 100) == b"first line\n"
    assert place.follow(PATH).read().data == b"first line\n"
    assert place.head(PATH, 5) == b"first"
    os.close(into)


def test_an_empty_pipe() -> None:
    out, into = os.pipe()
    os.close(into)
    place = StdinPlace(out, live=False)
    assert place.head(PATH) == b""
    assert place.follow(PATH).read() == Delta(b"", 0, stat=place.follow(PATH).read().stat)


@pytest.mark.parametrize("live", [True, False])
def test_it_is_one_file(live: bool) -> None:
    out, into = os.pipe()
    os.write(into, b"x\n")
    os.close(into)
    place = StdinPlace(out, live)
    place.head(PATH)
    (file,) = place.walk(PATH).files
    assert (file.path, file.size) == (PATH, 2)
    assert not place.is_dir(PATH)
