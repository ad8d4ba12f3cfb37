"""Several statistics under one name, `reward mean/std: 0.5/0.2`, however long a line of such words is."""

from __future__ import annotations

import time

import pytest

from rltui.readers.number_text import unwrapped


def test_each_gets_its_number() -> None:
    assert unwrapped("reward mean/std/min: 0.5/0.2/0") == "reward mean=0.5, reward std=0.2, reward min=0"


@pytest.mark.parametrize(
    "text", ["mean/" * 4000, "loss 0.3 " + "mean/" * 4000 + " 3"], ids=["alone", "behind a number"]
)
def test_a_long_line_of_their_names_is_read_at_once(text: str) -> None:
    begin = time.process_time()
    unwrapped(text)
    assert time.process_time() - begin < 1
