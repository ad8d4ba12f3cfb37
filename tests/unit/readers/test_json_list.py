"""A JSON array of rows."""

from __future__ import annotations

import json

import pytest

from rltui.readers.sniff import sniff
from tests.unit.readers.reading import read

ROWS = [{"step": s, "reward": s / 10, "loss": float("nan") if s == 3 else 0.5} for s in range(1, 6)]


@pytest.mark.parametrize("indent", [None, 2])
def test_each_element_is_a_row(indent: int | None) -> None:
    text = json.dumps([*ROWS, 7], indent=indent)
    assert sniff(text.encode(), "log_history.json") == "json"
    for sizes in ((), (10, 1, 30)):
        found = read("json", text, sizes)
        assert found.steps == [1, 2, 3, 4, 5]
        assert found.rows[2] == (3, {"reward": 0.3, "loss": None})
        assert (found.reader.skipped, found.reader.skipped_at) == (
            {"element that is not an object": 1},
            {"element that is not an object": "document"},
        )


def test_known_by_its_first_element() -> None:
    long = json.dumps(ROWS * 9000, indent=1).encode()[: 1 << 16]
    assert sniff(long, "metrics.json") == "json"
    for other in ([{"prompt": "a", "step": 1, "reward": 2}], [{"name": "x"}], [1, 2], [{"reward": 1.0, "kl": 2}], []):
        assert sniff(json.dumps(other).encode(), "metrics.json") != "json"


def test_half_written_and_no_list_at_all() -> None:
    assert read("json", '[{"step": 1, "loss": 2}, {"step": 2, "lo').reader.skipped == {
        "document that is not JSON (half written?)": 1
    }
    assert read("json", '{"step": 1}').reader.skipped == {"document without rows of metrics": 1}
