"""Logs whose text is no UTF-8: letters of one byte, signs of two."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.readers.lines import MANY_BYTES
from rltui.readers.western import as_utf8
from tests.unit.readers.test_lines_of_home_made_loops import rows

LINES = {
    "latin-1": "étape {n} | récompense moyenne {x} | perte 1.25 | entropie 0.5 | durée 20.5s",
    "cp1252": "Schritt {n} – Belohnung {x} – Verlust 1.25 – mittlere Länge 311 – Schrittdauer 20.5s",
    "gb18030": "步数 {n}/60 | 平均奖励 {x} | 损失 1.25 | 熵 0.5 | 耗时 20.5s",
}


@pytest.mark.parametrize("code", LINES)
def test_names_in_other_codes(code: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    text = "".join(LINES[code].format(n=n, x=f"{n / 1000:.3f}") + "\n" for n in range(1, 61))
    log.write_bytes(text.encode(code))
    found = rows(tmp_path, None)
    assert list(found) == list(range(1, 61))
    for n, row in found.items():
        assert row["reward_mean"] == pytest.approx(n / 1000)
        assert (row["total_loss"], row["time_per_step_s"]) == (1.25, 20.5)


def test_a_torn_character_makes_no_letter() -> None:
    torn = "reward 0.5 █".encode()[:-1] + b"\nloss 0.25 \xe2\x96\n"
    assert as_utf8(torn).decode() == "reward 0.5 \ufffd\nloss 0.25 \ufffd\n"


def test_what_may_still_grow_stays() -> None:
    begun = b"d\xe9j\xe0 vu\n" + "récompense".encode()[:2]
    assert as_utf8(begun) == "déjà vu\n".encode() + b"r\xc3"


@pytest.mark.parametrize("text", ["plain", "奖励 0.5", "Größe\n"])
def test_utf8_stays_as_it_is(text: str) -> None:
    assert as_utf8(text.encode()) == text.encode()


RUNS = st.sampled_from(
    [b"step:1 - a:0.5\n", b" ", "é".encode(), "█奖".encode(), b"\xe9", b"\xe2\x96", b"\x8e", b"\xff", b"\n"]
)


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(st.lists(RUNS, max_size=30))
@example([b"\xe2\x96", b" ", b"\x8e"])
def test_a_long_text_is_read_as_its_lines_are(runs: list[bytes]) -> None:
    text = b"".join(runs) + b"\n"
    filler = b"0123456789abcde\n" * (MANY_BYTES // 16)
    assert as_utf8(filler + text) == filler + as_utf8(text)
    assert as_utf8(text + filler) == as_utf8(text) + filler
