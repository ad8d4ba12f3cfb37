"""What the numbers of one text say, on texts whose answer is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.rollouts import samples as stats
from tests.unit.rollouts.dumps import GOOD, LOOP

PROSE = (
    "We want the largest value of the sum. Square the condition and compare both sides: since squares are never "
    "negative, three times the product is at most nine. Equality holds when all numbers agree, which is allowed. "
    "Therefore the maximum is three, and no other choice of positive reals gives more than that bound."
)


def repeated(text: str) -> bool:
    return stats.is_repeated(text, stats.repeat_share(text), stats.compression_ratio(text))


def test_a_loop_repeats_and_prose_does_not() -> None:
    assert repeated(LOOP)
    assert not repeated(PROSE)
    assert stats.repeat_share(LOOP) == pytest.approx(0.98, abs=0.02)
    assert stats.repeat_share("too short to tell") is None
    found = stats.most_repeated(LOOP)
    assert found is not None
    assert found[1] == 60


def test_one_character_in_a_row_repeats() -> None:
    assert stats.longest_run("a" + "=" * 51) == ("=", 51)
    assert repeated("a" + "=" * 51)
    assert stats.longest_run("a" + "=" * 7) == ("", 0)


@pytest.mark.parametrize(("text", "is_zero"), [("!!!!!!!!", True), ("!!!", False), ("0000", False), ("wow!!!!", False)])
def test_token_zero(text: str, is_zero: bool) -> None:
    assert stats.is_token_zero(text) is is_zero


@pytest.mark.parametrize(
    ("text", "prompt", "tag"),
    [
        (GOOD, None, None),
        ("no markers at all", None, None),
        ("<think>only the prefix", None, "think"),
        ("only the suffix</answer>", None, "answer"),
        ("</think>backwards<think>", None, "think"),
        ("reasoning</think>answer", "Solve it.\n<think>\n", None),
        ("a < b and c > d", None, None),
    ],
)
def test_malformed_tags(text: str, prompt: str | None, tag: str | None) -> None:
    assert stats.malformed_tag(text, prompt) == tag


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("the answer is 4<|im_end|>", None),
        ("the answer is 4<|im_end|>\n", None),
        ("the answer is 4<|end|> and then more", "<|end|>"),
        ("4\n<|im_start|>user\nthanks", "<|im_start|>user"),
        ("4\nHuman: next question", "Human:"),
        ("plain", None),
    ],
)
def test_text_past_its_end(text: str, marker: str | None) -> None:
    assert stats.past_end(text) == marker


@pytest.mark.parametrize(
    ("text", "artefact"),
    [("4<pad><pad>", "<pad>"), ("The\u0120answer", "\u0120"), ("caf\ufffd", "\ufffd"), (PROSE, None), ("naïve", None)],
)
def test_padding_and_decoder_artefacts(text: str, artefact: str | None) -> None:
    assert stats.decoder_artefact(text) == artefact


def test_scripts_count_writing_systems_without_maths() -> None:
    assert stats.scripts(PROSE) == 1
    assert stats.scripts("let α, β, γ be the angles") == 1
    assert stats.scripts("hello привет 你好世界") == 3
    assert stats.scripts("ありがとう世界 漢字 テスト") == 1


def test_diversity() -> None:
    assert stats.distinct(["a b c", "a b c"], (1,)) == [0.5]
    assert stats.distinct(["a b c", "d e f"], (2,)) == [1.0]
    assert stats.distinct(["", "a"], (2,)) == [None]


def test_the_most_common_reward() -> None:
    assert stats.mode_share([0.048] * 84 + [1.0] * 16) == (0.048, 0.84)
    assert stats.mode_share([]) is None


def test_histograms_count_every_value_once() -> None:
    few = stats.histogram([0.0, 1.0, 1.0], [True, False, True])
    assert [(b.low, b.high, b.count, b.truncated) for b in few] == [(0.0, 0.0, 1, 1), (1.0, 1.0, 2, 1)]
    many = stats.histogram([i / 100 for i in range(101)])
    assert len(many) == 10
    assert sum(b.count for b in many) == 101
    assert stats.histogram([]) == ()


@given(st.text(max_size=400), st.one_of(st.none(), st.text(max_size=50)))
def test_no_text_breaks_the_marks(text: str, prompt: str | None) -> None:
    marks = stats.marks(text, prompt)
    assert marks.empty == (not text.strip())
    assert marks.repeat is None or 0 <= marks.repeat < 1
    assert marks.non_ascii is None or 0 <= marks.non_ascii <= 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_bars_hold_all_values(values: list[float]) -> None:
    assert sum(b.count for b in stats.histogram(values)) == len(values)


def test_a_histogram_in_fewer_bars_leaves_none_out() -> None:
    bars = stats.histogram([n / 100 for n in range(100)], [n >= 90 for n in range(100)])
    assert len(bars) == 10
    few = stats.joined(bars, 6)
    assert [(round(one.low, 2), round(one.high, 2), one.count, one.truncated) for one in few] == [
        (0.0, 0.2, 20, 0),
        (0.2, 0.4, 20, 0),
        (0.4, 0.59, 20, 0),
        (0.59, 0.79, 20, 0),
        (0.79, 0.99, 20, 10),
    ]
    assert stats.joined(bars, 12) == bars
    assert stats.joined((), 6) == ()
