"""Hung, slow or fine: silence, counters, processes and GPU power against the run's own pace. Steps take 100 s here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rltui.hardware.base import GpuProcess, GpuSample, ProcessFact, ProcessState
from rltui.run.progress import LearnedPace, Pulse, Usual
from rltui.run.run import Run
from rltui.run.stall import StallCard, span, weigh
from tests.unit.run.builder import LOG, note, rows, run_of, trl

START = 1000.0
USUAL = Usual(100.0, 120.0, 50)
PACE = LearnedPace(plain=USUAL, special=Usual(500.0, 600.0, 4))
VALIDATES = replace(PACE, next_special=True)


def pulse(heard: bool = True, **others: object) -> Pulse:
    made = Pulse(moved_at=START, output_at=START, heard=heard)
    for name, value in others.items():
        setattr(made, name, value)
    return made


def process(state: ProcessState, cpu: float | None = 1.0, pid: int = 4711, how: str = "log") -> ProcessFact:
    return ProcessFact(pid, "python", state, cpu, how)


def gpus(power: float, util: float = 0.0, count: int = 8) -> tuple[GpuSample, ...]:
    return tuple(
        GpuSample("n1", i, memory_used_gb=60.0, power_w=power, power_limit_w=700.0, util=util) for i in range(count)
    )


def card(silent_s: float, made: Pulse | None = None, pace: LearnedPace = PACE, planned: bool = True) -> StallCard:
    return weigh(made or pulse(), pace, "step 44 of 100", planned, START + silent_s)


@pytest.mark.parametrize(
    ("silent_s", "word"), [(10, "fine"), (230, "fine"), (250, "slow"), (700, "slow"), (730, "hung")]
)
def test_silence_alone_takes_its_time(silent_s: float, word: str) -> None:
    assert card(silent_s).verdict == word


def test_a_stopped_process_is_hung_within_three_usual_steps() -> None:
    stopped = pulse(processes=(process("stopped"), process("sleeping", pid=4712)))
    assert card(90, stopped).verdict == "fine"
    found = card(110, stopped)
    assert (found.verdict, found.sure) == ("hung", True)
    assert "process 4711 (python) is stopped (T)" in found.because
    assert "a step usually takes 100 s (p95 120 s)" in found.because
    assert card(250, pulse(processes=(process("stopped", how="directory"),))).verdict == "slow"


def test_a_long_validation_is_not_hung() -> None:
    assert card(1100, pace=VALIDATES).verdict == "fine"
    assert card(1190, pace=VALIDATES).verdict == "fine"
    assert card(1210, pace=VALIDATES).verdict == "slow"
    assert card(1900, pace=VALIDATES).verdict == "hung"
    first = replace(VALIDATES, special=None)
    assert card(1700, pace=first).verdict == "fine"
    assert "due for the first time" in "; ".join(card(1700, pace=first).because)


def test_first_steps_may_load_and_compile() -> None:
    assert card(1700, pace=LearnedPace(plain=Usual(2.0, 3.0, 2))).verdict == "fine"
    assert card(1700, pace=LearnedPace()).verdict == "fine"
    assert card(1900, pace=LearnedPace()).verdict == "hung"


def test_output_that_goes_on_and_gpus_that_work_speak_against_it() -> None:
    assert card(2000, pulse(output_at=START + 1990)).verdict == "slow"
    assert card(5000, pulse(output_at=START + 4990)).verdict == "hung"
    assert card(2000, pulse(gpus=gpus(500.0, 0.9))).verdict == "slow"
    assert "no counter has moved" in card(2000, pulse(output_at=START + 1990)).because[0]


def test_idle_processes_and_gpus_make_it_sooner_and_surer() -> None:
    idle = pulse(processes=(process("sleeping", 0.0),), gpus=gpus(92.0))
    found = card(400, idle)
    assert (found.verdict, found.sure) == ("hung", False)
    assert "GPU power 92 W of 700 W on all 8" in found.because
    assert "process 4711 uses no CPU" in found.because
    assert card(1000, idle).sure
    busy = pulse(processes=(process("running", 3.0),), gpus=gpus(92.0))
    assert card(400, busy).verdict == "slow"
    unknown = pulse(processes=(process("running", None),))
    assert card(400, unknown).verdict == "slow"


def test_busy_waiting_and_the_odd_gpu_are_named() -> None:
    spin = card(800, pulse(gpus=gpus(130.0, 1.0)))
    assert any("busy waiting" in text for text in spin.because)
    odd = (*gpus(450.0, 0.9, 7), replace(gpus(80.0)[0], index=7))
    assert "GPU power low on 1 of 8 (n1 7: 80 W)" in card(800, pulse(gpus=odd)).because


def test_only_the_runs_own_gpus_count() -> None:
    own = replace(gpus(90.0)[0], index=1, processes=(GpuProcess(4711, 40.0),))
    found = card(400, pulse(processes=(process("sleeping", 0.0),), gpus=(*gpus(500.0, 0.9, 1), own)))
    assert found.verdict == "hung"
    assert "GPU power 90 W of 700 W" in found.because


@pytest.mark.parametrize("state", ["gone", "zombie"])
def test_a_process_that_ended_without_an_end_mark(state: ProcessState) -> None:
    ended = pulse(processes=(process(state),))
    found = card(5, ended)
    assert (found.verdict, found.over) == ("crashed", True)
    assert "step 44 of 100" in found.because[0]
    assert card(5, ended, planned=False).verdict == "unknown"
    assert card(5, pulse(processes=(process(state, how="directory"),))).verdict == "fine"


def test_a_silence_that_nobody_saw_begin_is_never_sure() -> None:
    assert not card(1e6, pulse(heard=False)).sure
    assert card(1e6, pulse(heard=False), planned=False).verdict == "unknown"
    assert card(1e6).sure


WORDS = ("fine", "slow", "hung")


@given(st.floats(0.01, 1e4), st.floats(1.0, 10.0), st.booleans(), st.lists(st.floats(0, 1e6), min_size=2, max_size=6))
def test_silence_never_makes_it_better(median: float, spread: float, special: bool, ages: list[float]) -> None:
    pace = LearnedPace(
        Usual(median, median * spread, 50), Usual(5 * median, 5 * median * spread, 5), next_special=special
    )
    found = [WORDS.index(card(age, pace=pace).verdict) for age in sorted(ages)]
    assert found == sorted(found)


def test_spans() -> None:
    assert [span(s) for s in (0.00001, 0.41, 95, 2460, 12600, 400000)] == [
        "0 s",
        "0.41 s",
        "95 s",
        "41 min",
        "3.5 h",
        "5 days",
    ]


class TestPulse:
    def test_a_bar_painted_again_and_a_line_said_again_are_no_sign_of_life(self) -> None:
        made = Pulse()
        made.start(START, 5, (5, "bar 3 of 9"), None)
        made.line("2026-11-21 12:00:01,003 engine: 0 running")
        made.hear(START + 10, 5, (5, "bar 3 of 9"), None)
        assert (made.moved_at, made.output_at) == (START, START + 10)
        made.line("2026-11-21 12:00:11,004 engine: 0 running")
        made.hear(START + 20, 5, (5, "bar 3 of 9"), None)
        assert (made.moved_at, made.output_at) == (START, START + 10)
        made.hear(START + 30, 5, (5, "bar 4 of 9"), None)
        assert (made.moved_at, made.output_at) == (START + 30, START + 30)

    def test_steps_are_timed_and_a_step_back_starts_afresh(self) -> None:
        made = Pulse()
        made.start(START, 5, (5,), None)
        for i, step in enumerate((6, 7, 8)):
            made.hear(START + 10 * i, step, (step,), None)
        assert list(made.beats) == [(6, START), (7, START + 10), (8, START + 20)]
        made.hear(START + 50, 2, (2,), None)
        assert list(made.beats) == [(2, START + 50)]


class TestFollowedRun:
    """Through the run: rows every 10 s up to step 60, at 1600 s of this clock."""

    def followed(self) -> Run:
        run = run_of(rows(trl(60), start=1000.0), {"max_steps": 100, "eval_steps": 50})
        run.followed = True
        run.listen()
        return run

    def test_the_card_has_the_clock_of_the_step(self) -> None:
        state = self.followed().state(1700.0)
        assert state.card is not None
        assert (state.card.verdict, state.card.since, state.card.usual_s) == ("slow", 1600.0, 10.0)
        assert state.state == "running"

    def test_the_phase_that_the_log_announced(self) -> None:
        run = self.followed()
        run.add_note(note("validation", "***** Running Evaluation *****", 5), LOG)
        run.heard(1650.0)
        state = run.state(1655.0)
        assert state.card is not None
        assert (state.card.phase, state.card.since) == ("validation", 1650.0)
        assert state.card.usual_s is None

    def test_what_a_phase_usually_takes_is_learned_as_it_is_seen(self) -> None:
        run = self.followed()
        for i, seconds in enumerate((30.0, 34.0, 32.0)):
            at = 1700.0 + 100 * i
            for done in (1, 2):
                run.add_note(note("phase", f"Generating: {done} of 2", 5), LOG)
                run.heard(at + done)
            run.history.add(run.history.parts[0], rows(trl(1), first=61 + i, start=1000.0))
            run.heard(at + 1 + seconds)
        run.add_note(note("phase", "Generating: 1 of 2", 5), LOG)
        run.heard(2000.0)
        card = run.state(2031.0).card
        assert card is not None
        assert (card.phase, card.since, card.usual_s) == ("Generating", 2000.0, 32.0)
        assert any("for 31 s, usually 32 s" in text for text in card.because)

    def test_a_phase_by_its_logged_timer(self) -> None:
        timed: list[float | None] = [80.0 if step % 10 == 0 else None for step in range(1, 61)]
        columns = {"actor/pg_loss": [0.1] * 60, "actor/entropy": [1.0] * 60, "timing_s/testing": timed}
        run = run_of(rows(columns, start=1000.0))
        run.followed = True
        run.listen()
        run.add_note(note("validation", "test_gen_batch meta info", 5), LOG)
        run.heard(1650.0)
        card = run.state(1700.0).card
        assert card is not None
        assert card.usual_s == 80.0

    def test_an_error_ends_the_run_at_once_where_the_process_is_gone(self) -> None:
        run = self.followed()
        run.add_note(note("oom", "CUDA out of memory", 900), LOG)
        run.heard(1602.0)
        assert run.state(1610.0).state == "running"
        run.pulse.processes = (process("gone"),)
        assert (run.state(1610.0).state, run.state(1610.0).quote) == ("crashed", "CUDA out of memory")
        run.pulse.processes = (process("running", 2.0),)
        assert run.state(1700.0).state == "running"
        run.pulse.processes = ()
        assert run.state(1700.0).state == "crashed"

    def test_a_finished_run_is_over(self) -> None:
        run = self.followed()
        run.add_note(note("end", "train_runtime", 900), LOG)
        card = run.state(1e9).card
        assert card is not None
        assert (card.verdict, card.over) == ("finished", True)


def test_a_run_that_nobody_can_read_is_not_called_hung() -> None:
    late = START + 40_000.0
    lost = {"unread": ("m.jsonl cannot be read: permission denied",), "blind": True}
    assert weigh(pulse(), PACE, "step 9", True, late).verdict == "hung"
    card = weigh(pulse(**lost), PACE, "step 9", True, late)
    assert (card.verdict, card.sure) == ("unknown", False)
    assert card.because[0] == card.unread == "m.jsonl cannot be read: permission denied"
    assert weigh(pulse(**lost, processes=(process("stopped"),)), PACE, "step 9", True, late).verdict == "hung"
    part = weigh(pulse(**{**lost, "blind": False}), PACE, "step 9", True, late)
    assert (part.verdict, part.unread) == ("hung", "")
    assert part.because[0] == "m.jsonl cannot be read: permission denied"
