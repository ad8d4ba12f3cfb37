"""Only cells that changed are sent, and what is sent leaves the terminal as it should be."""

from __future__ import annotations

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style

from rltui.tui.cells import Piece, Shown, cells_of, spans, written

STYLES = [Style(), Style(bold=True), Style(color="red")]
WIDTH = 40
SEGMENTS = st.lists(st.tuples(st.text(alphabet="ab 好▁█×", max_size=12), st.sampled_from(STYLES)), max_size=6)


def line(parts: list[tuple[str, Style]]) -> list[Segment]:
    """Segments of exactly WIDTH cells."""
    out, room = [], WIDTH
    for text, style in parts:
        while cell_len(text) > room:
            text = text[:-1]
        room -= cell_len(text)
        out.append(Segment(text, style))
    return [*out, Segment(" " * room, Style())]


@given(st.lists(SEGMENTS, min_size=1, max_size=4))
def test_the_spans_that_are_sent_give_the_new_row(rows: list[list[tuple[str, Style]]]) -> None:
    shown, terminal = Shown(), cells_of(line([("x" * WIDTH, STYLES[1])]))
    for parts in rows:
        wanted = line(parts)
        cells = cells_of(wanted)

        def send(y: int, start: int, end: int, cells: list[tuple[str, object]] = cells) -> None:
            assert y == 3
            assert cells[start][0]  # never half of a wide character
            terminal[start:end] = cells[start:end]

        shown.put(3, 0, wanted, send)
        assert terminal == cells


@given(SEGMENTS)
def test_nothing_is_sent_twice_until_it_is_forgotten(parts: list[tuple[str, Style]]) -> None:
    shown, sent = Shown(), []
    for _ in range(2):
        shown.put(0, 5, line(parts), lambda *span: sent.append(span))
    assert sent == [(0, 5, 5 + WIDTH)]
    shown.forget()
    shown.put(0, 5, line(parts), lambda *span: sent.append(span))
    assert len(sent) == 2


def test_far_changes_are_sent_apart_and_near_ones_together() -> None:
    def cells(*parts: tuple[str, Style]) -> list[tuple[str, object]]:
        return cells_of([Segment(text, style) for text, style in parts])

    plain, bold = STYLES[0], STYLES[1]
    old = cells(("a" * WIDTH, plain))
    assert list(spans(old, cells(("b" + "a" * 30 + "b" + "a" * 8, plain)))) == [(0, 1), (31, 32)]
    assert list(spans(old, cells(("baab" + "a" * 36, plain)))) == [(0, 4)]
    before = cells(("a", plain), ("aa", bold), ("a" * 37, plain))
    after = cells(("b", plain), ("aa", bold), ("b" + "a" * 36, plain))
    assert list(spans(before, after)) == [(0, 1), (3, 4)]


@given(st.lists(SEGMENTS, min_size=1, max_size=5))
def test_what_is_written_shows_the_same_whatever_its_order(rows: list[list[tuple[str, Style]]]) -> None:
    pieces: list[Piece] = []
    plain = pyte.Screen(WIDTH, 5)
    for y, parts in enumerate(rows):
        at = 0
        for text, style, _ in line(parts):
            pieces.append((y, at, text, style))
            pyte.Stream(plain).feed(f"\x1b[{y + 1};{at + 1}H{(style or Style()).render(text)}")
            at += cell_len(text)
    grouped = pyte.Screen(WIDTH, 5)
    pyte.Stream(grouped).feed(written(pieces, ColorSystem.TRUECOLOR))
    assert grouped.display == plain.display
    assert all(grouped.buffer[y][x] == plain.buffer[y][x] for y in range(5) for x in range(WIDTH))


def test_a_style_is_sent_once() -> None:
    text = written([(0, 0, "a", STYLES[1]), (1, 0, "b", STYLES[2]), (2, 0, "c", STYLES[1])], ColorSystem.STANDARD)
    assert text == "\x1b[1m\x1b[1;1Ha\x1b[3;1Hc\x1b[0m\x1b[31m\x1b[2;1Hb\x1b[0m"
