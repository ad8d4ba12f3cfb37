"""What is kept of a log's notable lines: no flood hides the line that ended the run."""

from __future__ import annotations

from rltui.readers.console.reader import ConsoleReader
from rltui.run.notes import Notes, quoted
from tests.unit.run.builder import LOG, note, rows, run_of, trl

PLAN = {"max_steps": 100}


def test_a_flood_of_caught_errors_does_not_hide_the_fatal_one() -> None:
    run = run_of(rows(trl(20)), PLAN)
    run.add_note(note("checkpoint", "saved", 1, step=10), LOG)
    for line in range(5000):
        run.add_note(note("traceback", f"TimeoutError: sample {line} took 30 s", 10 + line), LOG)
    run.history.add(run.history.parts[0], rows(trl(40), first=21))
    run.add_note(note("oom", "torch.OutOfMemoryError: CUDA out of memory", 6000), LOG)
    for line in range(5000):
        run.add_note(note("fault", f"NCCL error: rank {line} lost", 7000 + line), LOG)
    assert (run.state().state, run.state().quote) == ("crashed", "torch.OutOfMemoryError: CUDA out of memory")
    kept = run.notes
    assert len(kept) <= 2000
    assert [n.text for n in kept if n.kind == "checkpoint"] == ["saved"]
    assert [n.line for n in kept] == sorted(n.line for n in kept)


def test_the_reader_gives_out_every_error() -> None:
    caught = 'Traceback (most recent call last):\n  File "r.py", line 1, in f\nTimeoutError: sample\n'
    log = caught * 1500 + "torch.OutOfMemoryError: CUDA out of memory\n"
    reader = ConsoleReader()
    records = [*reader.feed(log.encode()), *reader.finish()]
    kinds = [getattr(r, "kind", "") for r in records]
    assert kinds.count("traceback") == 1500
    assert kinds.count("oom") == 1


def test_what_lost_another_process_is_not_quoted_first() -> None:
    run = run_of(rows(trl(60)), PLAN)
    run.add_note(note("fault", "ActorDiedError: the actor died", 900), LOG)
    run.add_note(note("traceback", "KeyError: 'deh'", 901), LOG)
    assert run.state().quote == "KeyError: 'deh'"
    other = run_of(rows(trl(60)), PLAN)
    other.add_note(note("fault", "NVRM: Xid (PCI:0000:17:00): 79, GPU has fallen off the bus", 900), LOG)
    other.add_note(note("traceback", "RuntimeError: CUDA error: unspecified launch failure", 901), LOG)
    assert "Xid" in other.state().quote


def test_a_progress_bar_painted_before_the_line_is_not_quoted() -> None:
    painted = note("killed", " 52%|█████▎    | 210/400 [00:08<00:07, 26.76it/s]bash: line 1: 19925 Killed")
    assert quoted(painted) == "bash: line 1: 19925 Killed"
    assert quoted(note("oom", "of 80% | used")) == "of 80% | used"


def test_progress_and_phases_keep_the_newest_only() -> None:
    notes = Notes()
    for step in range(100):
        notes.add(note("progress", "", step=step, total=100), LOG, None)
        notes.add(note("phase", f"rollout: {step} of 100"), LOG, None)
    assert [n.kind for n in notes.all] == ["progress", "phase"]
    assert notes.under_way is not None
    assert notes.under_way.text == "rollout: 99 of 100"


def test_bars_beside_the_training_are_a_phase_and_move_only_with_their_count() -> None:
    reader = ConsoleReader()
    bar = "Generating: {0}%|##   | {0}/100 [00:01<00:02, 9.0it/s]\r"
    log = "".join(bar.format(done) for done in (10, 10, 10, 20))
    texts = []
    for piece in log.splitlines(keepends=True):
        texts += [r.text for r in reader.feed(piece.encode()) if getattr(r, "kind", "") == "phase"]
    assert texts == ["Generating: 10 of 100", "Generating: 20 of 100"]
