"""A watch that is killed and started again in the middle of a run neither repeats nor misses an event."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rltui.events.changes import Event, SeenSoFar, Told
from rltui.events.store import Journal, Lock, read_json
from rltui.watch.ledger import Ledger, has_grown, mark
from tests.unit.trainer import wait_for
from tests.unit.watch.test_replay import dip, nan, outage, rows

patiently = partial(wait_for, limit_s=120.0)
"""Processes are started here, and a machine may be busy."""
EVENT = Event("opened", 5.0, "r", "/r", 5, None, "running", "continue-watch", "KL rose", "kl-runaway", seq=3)


def started(log: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "rltui", "watch", str(log), "--format", "json", *more]
    with out.open("ab") as file:
        return subprocess.Popen(words, stdout=file, stderr=subprocess.PIPE)


def read(out: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in out.read_text().splitlines()] if out.exists() else []


def told(events: list[dict[str, Any]]) -> Counter[tuple[str, Any, Any]]:
    """What happened, without what tells one start of the watch from another."""
    left_out = ("summary", "resumed", "done", "better", "worse")  # how a level was reached hangs on when it was seen
    return Counter((e["event"], e.get("finding"), e.get("subject")) for e in events if e["event"] not in left_out)


@pytest.mark.long
def test_killed_and_started_again(tmp_path: Path) -> None:
    """The reward dips from step 100 to 140: the collapse opens, the watch is killed, and nobody watches while the
    collapse passes."""
    lines = list(rows(300, dip))
    whole, log, out = tmp_path / "whole.log", tmp_path / "console.log", tmp_path / "out.jsonl"
    status, ran = tmp_path / "STATUS.md", tmp_path / "ran"
    hook = tmp_path / "hook.py"
    hook.write_text(
        "import os\n"
        "words = [os.environ[f'RLTUI_{name}'] for name in ('EVENT', 'SEQ', 'AGAIN')]\n"
        f"open({str(ran)!r}, 'a').write(' '.join(words) + '\\n')\n"
    )
    sinks = ("--append", str(status), "--exec", f"{sys.executable} {hook}")

    whole.write_text("".join(lines[:30]))
    reference = started(whole, tmp_path / "reference.jsonl")
    patiently(lambda: read(tmp_path / "reference.jsonl"))
    with whole.open("a") as file:
        file.write("".join(lines[30:]))
    reference.communicate(timeout=120)
    expected = told(read(tmp_path / "reference.jsonl"))
    assert expected["opened", "reward-collapse", None] == 1

    log.write_text("".join(lines[:30]))
    first = started(log, out, *sinks)
    patiently(lambda: read(out))
    with log.open("a") as file:
        file.write("".join(lines[30:125]))
    patiently(lambda: told(read(out))["opened", "reward-collapse", None])
    patiently(lambda: ran.exists() and "opened" in ran.read_text())
    first.kill()
    first.communicate()
    before = read(out)
    with log.open("a") as file:
        file.write("".join(lines[125:200]))
    second = started(log, out, *sinks)
    patiently(lambda: any(e["event"] == "resumed" for e in read(out)))
    with log.open("a") as file:
        file.write("".join(lines[200:]))
    second.communicate(timeout=120)
    events = read(out)
    assert told(events) == expected
    assert Counter(e["event"] for e in events)["summary"] == 1
    numbers = [e["seq"] for e in events if "seq" in e]
    assert numbers == list(range(1, len(numbers) + 1)), "one numbering over both lives, nothing twice"
    assert not any(e.get("again") for e in events)
    assert events[len(before)]["event"] == "resumed"
    assert second.returncode == 1, "what the first life saw counts"
    quiet = ("summary", "resumed", "heartbeat", "done")
    calls = [text.split() for text in ran.read_text().splitlines()]
    assert {int(call[1]) for call in calls} == {e["seq"] for e in events if e["event"] not in quiet}, "none is missed"
    assert [n for n, count in Counter(call[1] for call in calls if call[2:] != ["True"]).items() if count > 1] == []
    assert status.read_text().count("## ") >= 3


@pytest.mark.long
def test_the_same_watch_never_repeats_itself_unless_it_is_told_to(tmp_path: Path) -> None:
    """As cron starts it every hour, also after the end of the run."""
    log, out = tmp_path / "console.log", tmp_path / "out.jsonl"
    log.write_text("".join(rows(150, nan)))
    codes = []
    for more in ([], [], ["--fresh"]):
        watch = started(log, out, "--until", "stop", *more)
        watch.communicate(timeout=120)
        codes.append(watch.returncode)
    kinds = [e["event"] for e in read(out)]
    first, second, third = (part.split() for part in " ".join(kinds).split("done")[:3])
    assert first[0] == "summary"
    assert "opened" in first
    assert "met" in first
    assert second == ["resumed"]
    assert Counter(third) == Counter(first)
    assert codes == [1, 1, 1], "what was seen counts in each"


@pytest.mark.long
def test_it_waits_for_a_run_that_is_not_there_yet(tmp_path: Path) -> None:
    log, out = tmp_path / "later" / "console.log", tmp_path / "out.jsonl"
    watch = started(log.parent, out, "--wait", "60")
    log.parent.mkdir()
    log.write_text("".join(rows(60, outage)))
    watch.communicate(timeout=120)
    assert next(iter(read(out)))["event"] == "summary"
    missing = started(tmp_path / "never", tmp_path / "none", "--wait", "0.1")
    _, says = missing.communicate(timeout=120)
    assert (missing.returncode, says.decode().count("\n")) == (2, 1)


@pytest.mark.long
def test_another_kind_of_watch_has_its_own_memory(tmp_path: Path) -> None:
    log, out = tmp_path / "console.log", tmp_path / "out.jsonl"
    log.write_text("".join(list(rows(60, outage))[:50]))
    first = started(log, out)
    patiently(lambda: read(out))
    first.kill()
    first.communicate()
    other = started(log, tmp_path / "other.jsonl", "--append", str(tmp_path / "S.md"))
    patiently(lambda: read(tmp_path / "other.jsonl"))
    other.kill()
    other.communicate()
    assert read(tmp_path / "other.jsonl")[0]["event"] == "summary"


# -- the ledger ------------------------------------------------------------------------------------------------------


def test_seen_survives_a_file() -> None:
    seen = SeenSoFar({("kl-runaway", None): Told(2, 1, 2, True)}, 1, True, False, False, True, False, 2, 640, 17)
    assert SeenSoFar.of_dict(json.loads(json.dumps(seen.as_dict()))) == seen
    assert Event.of_dict(json.loads(json.dumps(EVENT.as_dict()))) == EVENT


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[1]", b'{"seen": 3, "pending": [], "telling": "x"}', b"\xff\0", b"[" * 9000]
)
def test_a_damaged_ledger_is_as_none(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "w.json"
    path.write_bytes(damage)
    ledger = Ledger(str(path))
    assert ledger.open()
    assert ledger.seen() is None
    assert ledger.interrupted() is None
    assert ledger.pending("exec") == []
    ledger.begin(SeenSoFar(seq=3).as_dict(), [EVENT], "", {}, {"exec": [EVENT]})
    ledger.close()
    after = Ledger(str(path))
    assert after.open()
    assert after.pending("exec") == [EVENT]


def test_killed_while_telling_the_file_says_whether_it_was_told(tmp_path: Path) -> None:
    path, out = tmp_path / "w.json", tmp_path / "out"
    out.write_text("before\n")
    ledger = Ledger(str(path))
    ledger.open()
    ledger.begin(SeenSoFar().as_dict(), [EVENT], "entry", {"out": mark(str(out))}, {})
    ledger._lock.leave()  # type: ignore[union-attr]  # as a kill does
    again = Ledger(str(path))
    again.open()
    cut_off = again.interrupted()
    assert cut_off is not None
    assert cut_off[:2] == ([EVENT], "entry")
    assert has_grown(cut_off[2]["out"], mark(str(out))) is False
    out.write_text("before\nthe line\n")
    assert has_grown(cut_off[2]["out"], mark(str(out))) is True
    assert has_grown(None, mark(str(out))) is None
    assert has_grown(cut_off[2]["out"], mark(os.devnull)) is None


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    first, second = Ledger(str(tmp_path / "w.json")), Ledger(str(tmp_path / "w.json"))
    assert first.open()
    assert not second.open()
    second.begin(SeenSoFar(seq=99).as_dict(), [EVENT], "", {}, {})
    assert read_json(str(tmp_path / "w.json")) is None, "the second one keeps nothing"
    first.close()
    lock = Lock(str(tmp_path / "w.json.lock"))
    assert lock.take()


def test_what_is_done_is_no_longer_pending_and_pending_is_bounded(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "w.json"))
    ledger.open()
    many = [Event(**{**_plain(EVENT), "seq": n}) for n in range(1500)]
    ledger.begin({}, [], "", {}, {"exec": many})
    assert len(ledger.pending("exec")) == 1000
    ledger.done("exec", many[-1])
    assert [e.seq for e in ledger.pending("exec")][-1] == 1498


def _plain(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in Event.__struct_fields__}


def test_the_journal_is_bounded_and_takes_damage(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "events.jsonl"), rotate_bytes=2000)
    for n in range(1000):
        journal.append([{"n": n, "text": "x" * 20}])
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 2 * 2100
    kept = [e["n"] for e in journal.read()]
    assert kept[-1] == 999
    assert kept == list(range(kept[0], 1000)), "whole lines, in order"
    with open(journal.path, "ab") as file:
        file.write(b'\xff{"cut off')
    journal.append([{"n": 1000}])
    assert journal.read()[-1]["n"] == 1000
