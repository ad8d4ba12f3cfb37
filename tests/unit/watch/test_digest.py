"""While you were away: the digest after a simulated night tells what happened, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from rltui.events.digest import Digest, digest, look_of
from rltui.events.record import EventRecord, Recorder, summarised
from rltui.events.store import Journal
from rltui.hardware.base import GpuSample, HardwareSample, HostSample
from rltui.report.build import build
from rltui.report.model import Report
from rltui.run.stall import StallCard
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.unit.watch.test_replay import rising

EVENING = 1_790_000_000.0
STEP_S = 60.0


def row(step: int, time: float, **more: float) -> str:
    values = {"reward": rising(step), "kl": 0.02, "entropy": 1.0, "loss": 0.1, "grad_norm": 0.5, "reward_std": 0.2}
    return json.dumps({"step": step, "timestamp": time, **values, **more}) + "\n"


def recorded(report: Report, **more: Any) -> Report:
    """The same with another recording."""
    return replace(report, recording=replace(report.recording, **more))


def report_at(run: Path, now: float, **more: Any) -> Report:
    """The run as somebody who follows it sees it at `now`."""
    opened = RunReader(locate([str(run)])[0], follow=True)
    opened.load()
    found = build(opened.frame(now))
    opened.close()
    return recorded(found, now=now, **{"stall": None, **more})


def samples(first: float, last: float, power: float) -> tuple[HardwareSample, ...]:
    gpus = tuple(
        GpuSample("node", i, memory_used_gb=60.0 + i, memory_total_gb=80.0, power_w=power, temp_c=61.0) for i in (0, 1)
    )
    host = HostSample(ram_used_gb=200.0, disk_free_gb=900.0 - (last - EVENING) / 3600)
    return tuple(HardwareSample(t, gpus, host) for t in (first, (first + last) / 2, last))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    home = tmp_path / "run"
    home.mkdir()
    (home / "metrics.jsonl").write_text("".join(row(s, EVENING - STEP_S * (100 - s)) for s in range(1, 101)))
    checkpoint(home, 50)
    return home


def checkpoint(home: Path, step: int) -> None:
    (home / f"checkpoint-{step}").mkdir()
    (home / f"checkpoint-{step}" / "model.safetensors").write_bytes(b"w" * 1000)


def grow(home: Path, lines: list[str]) -> None:
    with (home / "metrics.jsonl").open("a") as file:
        file.write("".join(lines))


def told(found: Digest | None, what: str) -> list[str]:
    assert found is not None
    return [item.text for item in found.items if item.what == what]


def test_a_night(run: Path, tmp_path: Path) -> None:
    record = EventRecord(str(tmp_path / "state"), "a run")
    recorder = Recorder(record)
    evening = report_at(run, EVENING)
    recorder.take(evening)
    record.save_look(look_of(evening, record.last_seq()))

    # 101-140: the verifier is away from 105 to 125; then the run hangs for 40 minutes and goes on from a checkpoint
    def outage(step: int) -> dict[str, float]:
        return {"reward": 0.0, "reward_std": 0.0} if 105 <= step < 125 else {}

    grow(run, [row(s, EVENING + STEP_S * (s - 100), **outage(s)) for s in range(101, 141)])
    checkpoint(run, 130)
    at = EVENING + 41 * STEP_S
    recorder.take(report_at(run, at, hardware=samples(EVENING, at, 400.0)))
    stalled = at + 1200
    recorder.take(report_at(run, stalled, stall=StallCard("hung", ("no output for 21 min",), sure=True)))
    back = at + 2400
    grow(
        run,
        [row(s, back + STEP_S * (s - 131), loss=0.11, kl=0.021, entropy=0.99, grad_norm=0.51) for s in range(131, 300)],
    )
    recorder.take(report_at(run, back + 60, stall=StallCard("fine"), hardware=samples(at, back, 90.0)))
    # the recorder ends; nobody records while the gradient goes
    recorder.close()
    nan = float("nan")
    grow(run, [row(s, back + STEP_S * (s - 131), loss=nan, grad_norm=nan) for s in range(300, 331)])
    checkpoint(run, 300)
    morning = back + STEP_S * 200

    again = Recorder(record)
    found = report_at(run, morning)
    again.take(found)
    look = record.look()
    assert look is not None
    made = digest(found, look, record.journal.read())
    assert made is not None
    assert told(made, "steps") == ["230 steps to 330"]
    (stall,) = told(made, "stall")  # the recorded one, and not again as a silence between rows
    assert stall.endswith("for 21 m and more")
    assert told(made, "restart") == ["restarted from step 131"]
    assert told(made, "checkpoint") == ["2 checkpoints: step 130, 300"]
    assert any(text.startswith("continue → abort-now") for text in told(made, "verdict"))
    critical = {item.finding for item in made.items if item.what == "finding" and item.role == "critical"}
    assert "nonfinite-values" in critical
    over = {item.finding for item in made.items if item.role == "resolved"}
    assert "reward-function-fault" in over, "it came and went between two looks"
    (power,) = told(made, "hardware")
    assert power == "GPU power 245 W, 90 W at the least, GPU memory up to 61 of 80 GB, 61 °C, RAM up to 200 GB, " + (
        "disk free 899 → 899 GB"
    )
    (best,) = told(made, "best")
    assert best.startswith("best reward ")
    for part in ("230 steps to 330", "1 critical", "1 stall", "1 restart", "resolved"):
        assert part in made.headline
    record.save_look(look_of(found, record.last_seq()))
    assert digest(recorded(found, now=morning + 60), record.look() or {}, record.journal.read()) is None, "told once"


def test_nobody_recorded_and_the_rows_tell_of_the_silence(run: Path) -> None:
    evening = report_at(run, EVENING)
    look = look_of(evening, 0)
    late = EVENING + 3600.0
    grow(run, [row(s, EVENING + STEP_S * (s - 100)) for s in range(101, 111)])
    grow(run, [row(s, late + STEP_S * (s - 111)) for s in range(111, 120)])
    made = digest(report_at(run, late + 600), look, [])
    assert told(made, "stall") == ["no row for 50 m before step 111"]
    assert "not recorded" in told(made, "hardware")[0]


def test_a_first_look_and_a_quiet_hour_say_nothing(run: Path, tmp_path: Path) -> None:
    evening = report_at(run, EVENING)
    assert EventRecord(str(tmp_path / "state"), "never seen").look() is None
    assert digest(recorded(evening, now=EVENING + 3600), look_of(evening, 0), []) is None


def test_one_writes_and_the_other_reads(run: Path, tmp_path: Path) -> None:
    record = EventRecord(str(tmp_path / "state"), "a run")
    first, second = Recorder(record), Recorder(EventRecord(str(tmp_path / "state"), "a run"))
    evening = report_at(run, EVENING)
    assert [event.kind for event in first.take(evening)] == ["summary"]
    assert second.take(evening) == []
    first.close()
    third = Recorder(EventRecord(str(tmp_path / "state"), "a run"))
    assert third.take(evening) == [], "it goes on where the first one was"
    assert [e["event"] for e in record.journal.read()] == ["summary"]


@pytest.mark.parametrize("name", ["look.json", "seen.json", "events.jsonl"])
@pytest.mark.parametrize("damage", [b"", b"{", b'{"time": "x", "seq": [], "findings": 3}\n', b"\xff\0\n" * 9, b"[[[["])
def test_damage_is_taken(run: Path, tmp_path: Path, name: str, damage: bytes) -> None:
    record = EventRecord(str(tmp_path / "state"), "a run")
    evening = report_at(run, EVENING)
    writer = Recorder(record)
    writer.take(evening)
    writer.close()
    record.save_look(look_of(evening, record.last_seq()))
    Path(record.path(name)).write_bytes(damage)
    later = recorded(evening, now=EVENING + 7200)
    after = Recorder(EventRecord(str(tmp_path / "state"), "a run"))
    after.take(later)
    look = after.record.look()
    digest(later, look or {}, after.record.journal.read())
    after.record.save_look(look_of(later, after.record.last_seq()))
    assert after.record.look() is not None


@example({"time": 1.0}, [{"event": "stall", "seq": 0}])
@given(
    st.dictionaries(
        st.sampled_from(["time", "step", "seq", "decision", "restarts", "best"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=5)
        | st.lists(st.integers(), max_size=2),
    ),
    st.lists(
        st.dictionaries(
            st.sampled_from(["seq", "event", "time", "finding", "subject", "severity", "text", "hardware", "power_w"]),
            st.none() | st.integers() | st.floats() | st.sampled_from(["stall", "recovery", "opened", "resolved", "x"]),
        ),
        max_size=4,
    ),
)
def test_whatever_was_kept_a_digest_is_made_or_not(look: dict[str, Any], record: list[dict[str, Any]]) -> None:
    digest(_some_report(), look, record)


def _some_report() -> Report:
    from tests.conftest import REPO

    if not _kept:
        _kept.append(report_at(REPO / "sample_runs" / "trl-grpo-healthy", 2e9))
    return _kept[0]


_kept: list[Report] = []


def test_hardware_in_few_numbers_and_what_nobody_told_is_null() -> None:
    assert summarised([HardwareSample(1.0)])["power_w"] is None
    lost = GpuSample("n", 0, lost=True)
    assert (summarised([HardwareSample(1.0, (lost,))])["gpus"], summarised([HardwareSample(1.0, (lost,))])["lost"]) == (
        1,
        1,
    )


def test_the_record_is_bounded(tmp_path: Path) -> None:
    record = EventRecord(str(tmp_path), "a run")
    for n in range(20_000):
        if n % 100 == 0:
            record.journal.append([{"seq": n + i, "event": "opened", "text": "x" * 50} for i in range(100)])
    assert isinstance(record.journal, Journal)
    size = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
    assert size < 600_000
    assert record.last_seq() == 19_999
