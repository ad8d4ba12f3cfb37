from __future__ import annotations

import pytest

from rltui.plots.glyphs import ASCII, BLOCK, BRAILLE, GlyphSet, bar, excess, meter, pick, utf8_locale
from rltui.records import names


@pytest.mark.parametrize("glyphs", [BLOCK, BRAILLE, ASCII])
def test_every_sign_takes_one_cell(glyphs: GlyphSet) -> None:
    for name in names(GlyphSet):
        if name in ("name", "enter", "_table"):
            continue
        text = getattr(glyphs, name)
        assert len(text) == {"spark": 7, "eighths": 7}.get(name, 1), name
        assert glyphs is not ASCII or text.isascii(), name


def test_spark_levels_differ_within_a_set() -> None:
    assert all(len(set(g.spark)) == 7 for g in (BLOCK, BRAILLE, ASCII))


def test_text_is_replaced_one_to_one() -> None:
    text = "✗ critical ▌ └ ● ◆◇▼┊│ ▁▂▃▄▅▆▇█ ░ 4.8× −66 % → ± … ─ µσ 日"
    ascii_text = ASCII.translate(text)
    assert ascii_text.isascii()
    assert len(ascii_text) == len(text)
    assert ascii_text.startswith("x critical > ` o *<v:| _.,:-=+# . 4.8x -66 % > ~ ~ - us ?")
    assert BLOCK.translate(text) == text


def test_each_sign_and_its_translation_agree() -> None:
    for name in names(GlyphSet):
        if name not in ("name", "enter", "_table", "eighths"):
            assert ASCII.translate(getattr(BLOCK, name)) == getattr(ASCII, name), name


def test_pick_goes_by_locale_and_terminal_but_a_wish_wins() -> None:
    utf8 = {"LANG": "en_GB.UTF-8", "TERM": "xterm-256color"}
    assert pick(None, utf8) is BLOCK
    assert pick("braille", utf8) is BRAILLE
    assert pick("auto", {**utf8, "TERM": "linux"}) is ASCII
    assert pick(None, {**utf8, "TERM": "dumb"}) is ASCII
    assert pick(None, {**utf8, "LC_ALL": "C"}) is ASCII
    assert pick(None, {}) is ASCII
    assert pick("block", {"LANG": "C"}) is BLOCK
    assert utf8_locale({"LC_CTYPE": "C.utf8", "LANG": "C"})


def test_status_words_keep_their_shape() -> None:
    assert [BLOCK.status(w) for w in ("critical", "warning", "pass", "unknown", "OK", "degraded", "off")] == list(
        "✗!✓?✓!✗"
    )


def test_meters_fill_their_width_to_an_eighth() -> None:
    assert meter(0.5, 8) == ("████", "░░░░")
    assert meter(0.52, 8) == ("████▏", "░░░")
    assert meter(1.7, 4) == ("████", "")
    assert meter(-1, 4) == ("", "░░░░")
    assert meter(None, 4) == ("", "░░░░")
    assert meter(float("nan"), 4) == ("", "░░░░")
    assert bar(1e-6, 10) == "▏", "something is told from nothing"
    assert meter(0.5, 4, ASCII) == ("##", "..")
    assert meter(0.5, 0) == ("", "")


def test_only_the_excess_stands_apart() -> None:
    assert excess(0.71, 0.5, 20) == ("█" * 10, "████▎")
    assert excess(0.4, 0.5, 10) == ("████", "")
    assert excess(0.4, None, 10) == ("████", "")
