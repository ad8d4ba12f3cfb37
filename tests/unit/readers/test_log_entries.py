"""Logs as log services give them: the program's line in one object of each entry, entries that span lines, and the
newest first. Rows of metrics and samples with a time are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.session import run_reader
from tests.unit.readers.test_opened_and_grown import followed
from tests.unit.session.runs import content, opened

LAST = 30
Entry = Callable[[str, str], dict[str, object]]
ENTRIES: dict[str, Entry] = {
    "text payload": lambda time, line: {
        "insertId": "a",
        "resource": {"type": "k8s"},
        "textPayload": line,
        "timestamp": time,
    },
    "json payload": lambda time, line: {"jsonPayload": {"message": line, "logger": "x"}, "timestamp": time},
    "attributes": lambda time, line: {"id": "x", "attributes": {"timestamp": time, "status": "info", "message": line}},
    "source": lambda time, line: {
        "_index": "logs",
        "_source": {"@timestamp": time, "message": line, "host": {"name": "h"}},
    },
    "entry": lambda time, line: {"TimeGenerated": time, "ContainerID": "x", "LogEntry": line},
    "raw": lambda time, line: {"preview": False, "result": {"_raw": line, "_time": time}},
    "line": lambda time, line: {"labels": {"app": "t"}, "line": line, "timestamp": time},
}


def entries(form: Entry) -> list[dict[str, object]]:
    return [form(f"2026-05-01T12:{i:02}:00Z", f"step={i} reward={i / 64} loss={i / 128}") for i in range(1, LAST + 1)]


def all_there(path: Path) -> bool:
    rows = {step: (row.get("reward"), row.get("loss")) for step, row in content(opened(path)).items()}
    return rows == {i: (i / 64, i / 128) for i in range(1, LAST + 1)}


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("form", ENTRIES)
def test_one_entry_a_line(form: str, newest_first: bool, tmp_path: Path) -> None:
    found = entries(ENTRIES[form])
    lines = [json.dumps(one) for one in (reversed(found) if newest_first else found)]
    path = tmp_path / "downloaded.jsonl"
    path.write_text("\n".join(lines) + "\n")
    assert all_there(path)


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("under", ["", "events"])
@pytest.mark.parametrize("form", ENTRIES)
def test_entries_that_span_lines(form: str, under: str, newest_first: bool, tmp_path: Path) -> None:
    found = entries(ENTRIES[form])
    listed: object = found[::-1] if newest_first else found
    path = tmp_path / "downloaded.json"
    path.write_text(json.dumps({under: listed} if under else listed, indent=2))
    assert all_there(path)


def test_a_growing_log_is_read_as_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_reader, "REST_S", -1.0)  # a file is quiet at once
    path = tmp_path / "stdout.jsonl"
    lines = [(json.dumps(one) + "\n").encode() for one in entries(ENTRIES["text payload"])]
    cells, restarts = followed(path, [b"".join(lines[:10]), b"".join(lines[10:])])
    assert {step for step, _ in cells} == set(range(1, LAST + 1))
    assert restarts == []


@pytest.mark.parametrize(
    "row",
    [
        {"timestamp": "2026-05-01T12:00:00Z", "message": "update", "reward": 0.5, "loss": 0.1},
        {"time": "2026-05-01T12:00:00Z", "event": "train", "step": 3, "reward": 0.5, "kl": 0.1},
    ],
)
def test_rows_of_metrics_with_a_message_are_rows(row: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = [row | {"reward": i / 64} | ({"step": i} if "step" in row else {}) for i in range(1, LAST + 1)]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert [cells["reward"] for cells in content(opened(path)).values()] == [i / 64 for i in range(1, LAST + 1)]
