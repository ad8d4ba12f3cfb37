"""Rows, the filter grammar, and the themes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color, ColorSystem

from rltui.tui import rows
from rltui.tui.lists import matches
from rltui.tui.panes.metric_keys import key_in, parted, prefix_of
from rltui.tui.theme import load_theme, textual_theme, theme_names

TEXT = st.text(alphabet="ab 好▁█×", max_size=12)


@given(TEXT, st.integers(1, 20))
def test_a_column_is_as_wide_as_asked(text: str, width: int) -> None:
    assert cell_len(rows.put(text, width)[0]) == width


@given(st.lists(st.text(alphabet="ab好 ", max_size=8)).map(" ".join), st.integers(2, 20))
def test_wrapped_lines_fit_and_lose_no_letter(text: str, width: int) -> None:
    lines = rows.wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("pattern", "text", "passes"),
    [
        ("", "anything", True),
        ("kl ref", "KL to reference", True),
        ("kl loss", "KL to reference", False),
        ("kl | entropy", "entropy", True),
        ("kl|entropy", "entropy", True),
        ("kl |", "entropy", False),
        ("!kl", "entropy", True),
        ("kl !loss", "actor/kl_loss", False),
        ("/^act.r/", "actor/kl", True),
        ("!/a|b/", "ccc", True),
        ("/[/", "anything", False),
    ],
)
def test_filter_grammar(pattern: str, text: str, passes: bool) -> None:
    assert matches(pattern, text) == passes


def luminance(color: Color) -> float:
    parts = [c / 255 for c in color.get_truecolor()]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: Color, b: Color) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", [name for name in theme_names() if not load_theme(name).ansi])
@pytest.mark.parametrize("colours", [None, ColorSystem.EIGHT_BIT])
def test_text_can_be_read_on_ground_and_selection(name: str, colours: ColorSystem | None) -> None:
    theme = load_theme(name)
    assert theme.selection.bgcolor is not None
    grounds = [Color.parse(theme.background), theme.selection.bgcolor]
    for role in ("fg", "strong", "dim", "accent", "crit", "warn", "ok"):
        ink = theme.styles[role].color
        assert ink is not None
        for ground in grounds:
            seen = (ink, ground) if colours is None else (ink.downgrade(colours), ground.downgrade(colours))
            assert contrast(*seen) >= 4.5, role


@pytest.mark.parametrize("name", theme_names())
def test_themes_have_the_same_roles(name: str) -> None:
    theme = load_theme(name)
    assert set(theme.styles) == set(load_theme("dark").styles)
    assert (textual_theme(theme) is None) == theme.ansi


@given(st.lists(TEXT, max_size=5), st.integers(1, 20))
def test_a_row_that_is_cut_says_so(texts: list[str], width: int) -> None:
    row = [(text, "fg") for text in texts]
    whole = "".join(texts)
    shown = rows.fitted(row, width)
    assert rows.length(shown) <= width
    plain = "".join(text for text, _ in shown)
    assert plain == whole or plain.endswith("…") or not whole.isascii() or not whole[width:].strip()


@given(st.text(alphabet="ab ", max_size=60), st.integers(2, 12), st.integers(1, 4))
def test_a_text_that_has_more_lines_says_so(text: str, width: int, most: int) -> None:
    lines = rows.wrapped(text, width, most)
    assert len(lines) <= most
    assert all(len(line) <= width for line in lines)
    assert (lines == rows.wrap(text, width)) != (bool(lines) and lines[-1].endswith("…"))


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("timing_s/gen", ("timing_s/", "gen")),
        ("val-core/gsm8k/acc", ("val-core/", "gsm8k/acc")),
        ("E2E (Tokens/sec/gpu)", ("", "E2E (Tokens/sec/gpu)")),
        ("Avg Reward", ("", "Avg Reward")),
    ],
)
def test_the_prefix_of_a_key(key: str, parts: tuple[str, str]) -> None:
    assert parted(key) == parts


@pytest.mark.parametrize(
    ("keys", "prefix"),
    [
        (["timing_s/gen", "timing_s/step"], "timing_s/"),
        (["train/reward", "kl"], ""),
        (["critic/score/mean", "actor/kl_loss"], ""),
        (["reward", "kl"], ""),
        ([], ""),
    ],
)
def test_a_heading_has_a_prefix_only_if_all_keys_below_it_begin_with_it(keys: list[str], prefix: str) -> None:
    """Below "train/" the key `kl` reads as `train/kl`, and below "critic/ actor/" nobody can tell whose it is."""
    assert prefix_of(keys) == prefix
    assert [prefix + key_in(key, prefix, 40) for key in keys] == keys


def test_a_key_that_is_too_long_keeps_its_end() -> None:
    assert key_in("response_length_non_aborted/clip_ratio", "", 18) == "response_…ip_ratio"
    assert len(key_in("response_length_non_aborted/clip_ratio", "", 18)) == 18
