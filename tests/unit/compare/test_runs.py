"""The list of runs from the ends of their logs: what is seen, what is bounded, what needs attention first."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rltui.cli import main
from rltui.compare import runs
from rltui.compare.runs import RunRow, from_ends, from_whole, numbered, primary, ranked, to_json, to_text
from rltui.diagnosis.tail import NEWEST
from rltui.discovery.found import NotARun
from rltui.rules.catalogue import rules
from rltui.session.ends import ENDS
from rltui.session.locate import discover, locate
from rltui.session.run_reader import RunReader
from rltui.sources.local import LocalFollower, LocalPlace
from tests.bench.generate import LISTED, WRITERS
from tests.known_gaps import cases
from tests.moments import unless_drawn

OLD = 1_700_000_000


def row(step: int, **cells: float) -> dict[str, object]:
    usual = {"critic/score/mean": 0.5 + 0.001 * step, "actor/grad_norm": 0.3, "actor/entropy": 0.8}
    return {"step": step, "data": {**usual, **{key.replace("__", "/"): v for key, v in cells.items()}}}


def log(folder: Path, rows: Iterable[dict[str, object]], mtime: float = OLD) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    os.utime(path, (mtime, mtime))
    return path


def only(path: Path) -> RunRow:
    (one,) = from_ends(locate([str(path)]))
    return one


def test_the_ends_of_a_long_log_are_told_as_such(tmp_path: Path) -> None:
    log(tmp_path / "long", (row(step) for step in range(1, 5000)))
    one = only(tmp_path / "long")
    assert (one.last_step, one.framework, one.decision, one.whole) == (4999, "verl", None, False)
    assert one.values["score_mean"] == pytest.approx(5.499)
    assert one.first_rows > 2
    assert 2 < one.newest_rows <= NEWEST
    assert "do not show onset" in to_text([one], time.time())
    assert "do not show onset" in json.loads(to_json([one]))["basis"]


def test_no_more_than_the_ends_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(tmp_path / "long", (row(step) for step in range(1, 20_000)))
    found = discover(str(tmp_path))
    asked: list[int] = []
    read, tail = LocalPlace.read, LocalFollower.tail
    monkeypatch.setattr(LocalPlace, "read", lambda self, path, n: (asked.append(n), read(self, path, n))[1])
    monkeypatch.setattr(LocalFollower, "tail", lambda self, n: (asked.append(n), tail(self, n))[1])
    monkeypatch.setattr(LocalFollower, "read", lambda *_: pytest.fail("a whole file was read"))
    assert next(from_ends(found)).last_step == 19_999
    assert sum(asked) < 1 << 16


def test_other_output_at_the_end_is_read_past_but_not_without_bound(tmp_path: Path) -> None:
    chatter = "(WorkerDict pid=1) some other output of the step\n"
    for name, times in (
        ("some", 2 * ENDS.tail_bytes // len(chatter)),
        ("endless", 2 * ENDS.again_bytes // len(chatter)),
    ):
        (tmp_path / name).mkdir()
        steps = [f"step:{n} - critic/score/mean:0.5 - actor/grad_norm:0.3 - actor/entropy:0.8\n" for n in range(2000)]
        (tmp_path / name / "console.log").write_text("".join(steps) + chatter * times)
    assert only(tmp_path / "some").last_step == 1999
    endless = only(tmp_path / "endless")
    assert endless.last_step is None or endless.last_step < 1999


@pytest.mark.parametrize(
    ("cells", "health", "rule"),
    [
        ({"actor__grad_norm": float("nan")}, "critical", "nonfinite-values"),
        ({"actor__grad_norm": 5e4}, "critical", "grad-norm-explosion"),
        ({"actor__grad_norm": 0.0}, "critical", "no-learning-signal"),
        ({"actor__entropy": 0.001, "critic__score__mean": 0.5}, "warning", "entropy-collapse"),
        ({"actor__entropy": 0.001}, "not looked", None),  # the score rises beside it, as the whole log has it
        ({"actor__entropy": 9.0}, "warning", "entropy-explosion"),
        ({"critic__score__mean": 0.1}, "warning", "reward-collapse"),
        ({"actor__pg_clipfrac": 0.6}, "warning", "policy-step-too-large"),
        ({"response_length__clip_ratio": 0.9}, "warning", "truncation-high"),
        ({}, "not looked", None),
    ],
)
def test_signs(tmp_path: Path, cells: dict[str, float], health: str, rule: str | None) -> None:
    log(tmp_path / "run", (row(step, **(cells if step > 900 else {})) for step in range(1, 1000)))
    one = only(tmp_path / "run")
    assert one.health == health
    assert bool(one.signs) == (rule is not None)
    assert rule is None or rule in rules()


@pytest.mark.parametrize(
    ("missing", "lost"),
    [({999}, False), ({990, 992, 995, 997, 998, 999}, False), ({998, 999}, False), ({997, 998, 999}, True)],
)
def test_holes_in_a_log_are_no_lost_metric(tmp_path: Path, missing: set[int], lost: bool) -> None:
    """A cell that nobody wrote is NaN in a table, and the report calls it a hole in the log."""
    holes = (row(n, actor__entropy=float("nan") if n in missing else 0.8) for n in range(1, 1000))
    log(tmp_path / "run", holes)
    assert (only(tmp_path / "run").health == "critical") == lost


def test_a_fall_of_noise_is_no_sign(tmp_path: Path) -> None:
    noise = [0.5, 0.1, 0.9, 0.3, 0.7]
    log(tmp_path / "run", (row(n, critic__score__mean=noise[n % 5]) for n in range(1, 2000)))
    assert only(tmp_path / "run").signs == ()


def test_silence_counts_by_the_last_write_and_the_pace(tmp_path: Path) -> None:
    now = time.time()
    log(tmp_path / "run", (row(step) for step in range(1, 900)), mtime=now - 60)
    started = tmp_path / "run" / "environment.txt"
    started.write_text("python 3.12\n")
    os.utime(started, (now - 9000, now - 9000))
    assert state_of(tmp_path / "run", now) == "unknown", "no row bears a time: its file alone speaks for it"
    timed = tmp_path / "timed"
    log(timed, ({**row(n), "timestamp": now - 60 - 20 * (900 - n)} for n in range(1, 901)), mtime=now - 60)
    assert state_of(timed, now) == "running"
    assert state_of(timed, now + 7200) != "running"


def state_of(path: Path, now: float) -> str | None:
    (one,) = from_ends(locate([str(path)]), now)
    (whole,) = from_whole(locate([str(path)]), now)
    assert one.state in (None, whole.state)
    return whole.state


def test_of_a_trainers_states_the_longest_counts_whatever_was_written_last(tmp_path: Path) -> None:
    for last, mtime in ((300, OLD), (100, OLD + 5), (200, OLD)):
        history = [{"step": n, "epoch": n / 300, "reward": 0.5, "grad_norm": 0.3} for n in range(10, last + 1, 10)]
        path = tmp_path / f"checkpoint-{last}" / "trainer_state.json"
        path.parent.mkdir()
        path.write_text(json.dumps({"global_step": last, "max_steps": 300, "log_history": history}))
        os.utime(path, (mtime, mtime))
    assert (only(tmp_path).last_step, only(tmp_path).state) == (300, "finished")


def test_a_fresh_copy_of_an_old_log_is_not_running(tmp_path: Path) -> None:
    now = time.time()
    log(tmp_path / "run", (row(step) for step in range(1, 90)), mtime=now - 60)
    assert state_of(tmp_path / "run", now) == "unknown", "nothing but the fresh file speaks for it"
    beside = tmp_path / "run" / "environment.txt"
    beside.write_text("python 3.12\n")
    os.utime(beside, (now - 61, now - 61))
    assert state_of(tmp_path / "run", now) == "unknown", "all of it was written at once"
    timed = tmp_path / "timed"
    for age, zone, state in ((30, 0, "running"), (30, -2, "running"), (30, 9, "running"), (90_000, 0, "unknown")):
        newest = now - age - 3600 * zone
        log(timed, ({**row(n), "timestamp": newest - 20 * (90 - n)} for n in range(1, 91)), mtime=now - 5)
        assert state_of(timed, now) == state, f"rows {age} s old, their clock {zone} h off"


def test_a_reward_that_pays_for_kl_may_fall_while_the_score_rises(tmp_path: Path) -> None:
    for name, score in (("paid", 0.3), ("lost", -0.4)):
        made = ({"step": n, "score": 0.5 + score * n / 60, "reward": 0.5 - 0.9 * n / 60} for n in range(1, 61))
        log(tmp_path / name, made)
    assert only(tmp_path / "paid").signs == ()
    assert only(tmp_path / "lost").signs == ("score mean fell 0.480 → 0.130",)


def test_a_packed_log_is_read_whole_while_it_is_small(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    rows = "".join(json.dumps(row(step)) + "\n" for step in range(1, 3000)).encode()
    (folder / "metrics.jsonl.gz").write_bytes(gzip.compress(rows))
    one = only(folder)
    assert (one.last_step, one.whole) == (2999, True)


def test_what_needs_attention_is_first() -> None:
    usual = RunRow(
        "a",
        "a",
        "",
        "a",
        None,
        None,
        "finished",
        1,
        1,
        "ok",
        (),
        None,
        0,
        0,
        5.0,
        False,
        0,
        1,
        True,
        {"score_mean": 1.0},
    )
    sick = replace(usual, id="sick", health="critical", state="running")
    past = replace(usual, id="past", health="critical")
    dead = replace(usual, id="dead", state="crashed")
    warned = replace(usual, id="warned", health="warning")
    newer = replace(usual, id="newer", updated=9.0)
    assert [r.id for r in ranked([usual, newer, warned, dead, past, sick])] == [
        "sick", "past", "dead", "warned", "newer", "a",
    ]  # fmt: skip
    assert primary([usual, replace(usual, values={})]) == "score_mean"
    assert primary([replace(usual, values={})]) is None
    assert {r.name for r in numbered([usual, replace(usual, path="b", host="u@h")])} == {"a", "u@h:b"}


@pytest.mark.parametrize("kind", [*LISTED, "csv"])
def test_every_format_is_read_from_its_ends(tmp_path: Path, kind: str) -> None:
    name, writer = WRITERS[kind]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_bytes(b"".join(writer(300)))
    one = only(tmp_path / "run")
    assert (one.last_step, one.whole, one.framework, one.health) == (300, False, "verl", "not looked")
    assert one.first_rows >= 2
    assert one.newest_rows >= 3


def test_a_second_process_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(24):
        log(tmp_path / f"run-{n:02d}", (row(step) for step in range(1, 30 + n)))
    found = discover(str(tmp_path))
    alone = ranked(from_ends(found, 0.0))
    monkeypatch.setattr(runs, "MANY", 12)
    assert ranked(from_ends(found, 0.0)) == alone


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log(tmp_path / "here" / "one", (row(step) for step in range(1, 50)))
    log(tmp_path / "there" / "two", (row(step, actor__grad_norm=float("nan")) for step in range(1, 50)))
    assert main(["runs", str(tmp_path / "here"), str(tmp_path / "there")]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in out[1:3]] == ["two", "one"]
    assert "tail: critical" in out[1]
    assert main(["runs", str(tmp_path), "--full", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"]
    assert all(r["decision"] is not None for r in listed)


@pytest.mark.parametrize(
    "label",
    [
        pytest.param(*case.values, id=case.id, marks=[*case.marks, *unless_drawn(str(case.id), 4, "signs")])
        for case in cases("signs")
    ],
)
def test_the_ends_of_a_labelled_run_contradict_no_label(label: dict[str, Any], runs_dir: Path) -> None:
    """A healthy run shows no sign, a critical one is no run to continue, and an end that is told is the right one. One
    in four here, all with `-m "fuzz_full or not fuzz_full"`."""
    try:
        found = locate([str(runs_dir / label["path"])])
    except NotARun:
        return  # told as such: tests/unit/frameworks/test_labelled.py
    for one in from_ends(found, now=time.time() + 1e9):
        if label.get("healthy"):
            assert one.signs == ()
        if one.health == "critical":
            assert set(label["decision"]) - {"continue", "continue-watch"}
        if one.state in ("crashed", "finished"):
            assert one.state in label.get("state", [one.state])


def test_the_whole_log_gives_the_verdict_of_the_report(runs_dir: Path) -> None:
    one = next(iter(from_whole(locate([str(runs_dir / "zoo" / "g10-add-s0")]))))
    assert one.decision is not None
    assert one.health == "critical"


def test_a_checkpoint_is_of_the_run_that_it_lies_with(tmp_path: Path) -> None:
    for name in ("run-a", "run-b"):
        log(tmp_path / name, (row(step) for step in range(1, 60)))
    (tmp_path / "run-a" / "checkpoint-20").mkdir()
    (tmp_path / "run-a" / "checkpoint-20" / "model.safetensors").write_bytes(b"\0" * 64)
    seen = {}
    for found in locate([str(tmp_path)]):
        reader = RunReader(found)
        reader.load()
        seen[found.candidate.id] = [one.step for one in reader.run.checkpoints]
        reader.close()
    assert seen == {"run-a": [20], "run-b": []}
