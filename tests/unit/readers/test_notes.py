from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from rltui.readers.console.line_clock import time_of
from tests.unit.readers.reading import read
from tests.unit.readers.reported import reported

RAY = "\x1b[36m(WorkerDict pid=48301, ip=10.0.0.2)\x1b[0m "


@pytest.mark.parametrize(
    ("line", "kind", "step", "total"),
    [
        ("2024-12-10 06:50:29,276\tINFO worker.py:1752 -- Started a local Ray instance.", "start", None, None),
        (RAY + "Setting global step to 100", "resume", 100, None),
        ("Resuming from /checkpoints/global_step_100", "resume", 100, None),
        ("Resume from step 100", "resume", 100, None),
        ("Continuing training from step 100", "resume", 100, None),
        ("[2026-11-20 10:00:00][INFO] Restored checkpoint at step 100", "resume", 100, None),
        ("Loaded checkpoint from step 100 with lr 1e-6", "resume", 100, None),
        ("Starting from global step 100", "resume", 100, None),
        ("Training resumes at iteration 100", "resume", 100, None),
        (RAY + "Total training steps: 435", "progress", None, 435),
        ("local_global_step_folder: /x/700step/checkpoints_v11/global_step_350", "checkpoint", 350, None),
        ("Saving checkpoint for step 50...", "checkpoint", 50, None),
        ("[Rank 0] Saved model to /c/global_step_100/actor/model_world_size_8_rank_0.pt", "checkpoint", 100, None),
        ("[Torch] Saved ./ckpt/_actor/global_step165/mp_rank_00_model_states.pt.", "checkpoint", 165, None),
        ("(\"Final validation metrics: {'val-core/openai/gsm8k/reward/mean@1': \"", "end", None, None),
        (RAY + "validation generation end", "validation", None, None),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB", "oom", None, None),
        ("3 Workers (tasks / actors) killed due to memory pressure (OOM)", "oom", None, None),
        ("DefaultCPUAllocator: can't allocate memory: you tried to allocate 71303168 bytes.", "oom", None, None),
        ("slurmstepd: error: *** JOB 7 CANCELLED AT 2026-08-04T20:40:01 DUE TO TIME LIMIT ***", "killed", None, None),
        ("bash: line 1: 19925 Killed                  nice python train.py", "killed", None, None),
        ("  50%|█████     | 200/400 [00:08<00:07, 25.41it/s]bash: line 1: 7 Killed   x", "killed", None, None),
        ("Sending process 12227 closing signal SIGHUP", "killed", None, None),
        ("RuntimeError: [enforce fail] PytorchStreamWriter failed: file write failed", "fault", None, None),
        ("OSError: [Errno 28] No space left on device", "fault", None, None),
        ("[rank3]:[E825] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)", "fault", None, None),
        (RAY + "WARN: rank 0 grad_norm is not finite: DTensor(nan)", "warning", None, None),
        ("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536", "overflow", None, None),
        ("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0", "overflow", None, None),
    ],
)  # fmt: skip
def test_lines_that_matter(line: str, kind: str, step: int | None, total: int | None) -> None:
    notes = [note for note in read("console", f"noise\n{line}\n").notes if note.kind == kind]
    assert [(note.line, note.step, note.total) for note in notes] == [(2, step, total)]
    assert "\x1b" not in notes[0].text


@pytest.mark.parametrize(
    "line",
    [
        "/x/checkpoint.py:87: UserWarning: None of the inputs have requires_grad=True",
        "no overflow, so no step is skipped",
        "Starting training from step 1",
        "Continuing from step 2, we get x = 5",
        "Loaded checkpoint from /models/sft/checkpoint-500",
        "Loading checkpoint shards at step 3 of the plan",
        "The process was Killed in the story, he said.",
        "'RAY_memory_usage_threshold=0.95' is set, nodes low on memory are watched",
        "Sending process 68 closing signal SIGTERM",
        "wandb: WARNING URL not available in offline run",
        "NCCL_DEBUG=WARN NCCL version 2.21.5",
    ],
)
def test_lines_that_do_not(line: str) -> None:
    assert read("console", f"{line}\n").notes == []


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ("Training complete", True),
        ("2026-05-01 10:00:00,123 - INFO - Training complete.", True),
        ("=== TRAINING FINISHED ===", True),
        ("Training finished in 1h 20m", True),
        ("[INFO] GRPO training done!", True),
        ("Early stopping triggered at step 30: no improvement for 10 steps", True),
        ("Epoch 3: early stopping", True),
        ("Stopping early: patience exhausted", True),
        ("Epoch 1 training complete", False),
        ("SFT training complete", False),
        ("When training complete, run eval.sh", False),
        ("Training completed 30 of 400 steps", False),
        ("Early stopping enabled with patience 5", False),
        ("Early stopping counter: 2 out of 5", False),
        ("Early stopping at step 3 due to reaching max kl: 0.02", False),
    ],
)
def test_the_last_words_of_a_loop_end_its_run(words: str, ends: bool, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {i}/400: loss=0.{i} reward=0.5\n" for i in range(10, 40)) + words + "\n")
    assert (reported(log)["run"]["state"] == "finished") is ends


def test_training_that_goes_on_behind_such_words_is_not_over(tmp_path: Path) -> None:
    steps = [f"step {i}/400: loss=0.{i} reward=0.5\n" for i in range(10, 40)]
    (tmp_path / "train.log").write_text("".join([*steps[:20], "Training complete\n", *steps[20:]]))
    assert reported(tmp_path / "train.log")["run"]["state"] != "finished"


def test_a_line_matters_by_its_digits_too() -> None:
    """Lines are told apart without digits: one of no interest hides none that matters by them."""
    text = "worker exited with status 0\n50%|█████     | 200/400 [00:08<00:07] exit code 0\n"
    text += "worker exited with status 137\n50%|█████     | 200/400 [00:08<00:07] exit code 137\n"
    assert [(note.kind, note.line) for note in read("console", text).notes if note.kind == "killed"] == [
        ("killed", 3),
        ("killed", 4),
    ]


TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n    ^^^\n'


def test_a_traceback_is_its_last_line_at_the_step_before() -> None:
    found = read("console", "step:4 - a:1\n" + TRACEBACK + "ValueError: no\nstep:5 - a:1\n")
    assert [(n.kind, n.text, n.step, n.line) for n in found.notes] == [("traceback", "ValueError: no", 4, 6)]
    assert found.steps == [4, 5]


def test_tracebacks_of_two_workers_interleave() -> None:
    other = RAY.replace("48301", "7")
    lines = [RAY + x for x in (TRACEBACK + "KeyError: 'a'").split("\n")]
    mixed = [line for pair in zip(lines, [x.replace(RAY, other) for x in lines], strict=True) for line in pair]
    mixed[-1] = mixed[-1].replace("KeyError: 'a'", "TypeError: b")
    found = read("console", "\n".join(mixed) + "\n")
    assert [n.text for n in found.notes if n.kind == "traceback"] == ["KeyError: 'a'", "TypeError: b"]


def test_ray_tells_the_cause_last() -> None:
    text = (
        TRACEBACK
        + "ray.exceptions.RayTaskError(KeyError): \x1b[36mray::TaskRunner.run()\x1b[39m (pid=29515, ip=192.0.2.2)\n"
        + '  File "b.py", line 1, in run\n    x[1]\n'
        + "KeyError: 'deh'\n"
    )
    assert [n.text for n in read("console", text).notes if n.kind == "traceback"] == ["KeyError: 'deh'"]


def test_a_file_that_ends_within_a_traceback() -> None:
    found = read("console", TRACEBACK + "RuntimeError: cut")
    assert [n.text for n in found.notes if n.kind == "traceback"] == ["RuntimeError: cut"]


def test_warnings_are_bounded() -> None:
    text = "".join(f"WARNING: thing {'x' * (i % 300)} failed {i} times\n" for i in range(400))
    assert 0 < len(read("console", text).notes) <= 100


def test_log_lines_are_cleaned_bounded_and_numbered() -> None:
    secret = "sk-" + "A1b2" * 8
    found = read("console", "".join(f"line {i}\n" for i in range(5000)) + f"key {secret} \x1b[31mred\x1b[0m\n")
    assert len(found.log) <= 500
    assert found.log[-1].line == 5001
    assert secret not in found.log[-1].text
    assert found.log[-1].text.endswith("red")
    assert found.log[-2].text == "line 4999"


def test_progress_bars_are_no_log_lines() -> None:
    found = read("console", "a\n\r 1%|   | 1/90 [00:00<?, ?it/s]\r 2%|   | 2/90 [00:00<?, ?it/s]\n" + RAY + "\nb\n")
    assert [line.text for line in found.log] == ["a", "b"]


def test_times() -> None:
    local = datetime(2026, 11, 20, 23, 34, 34, 982000).timestamp()
    assert time_of("2026-11-20 23:34:34,982 INFO x") == local
    assert time_of("[2026-11-20 23:34:34,982] [INFO] x") == local
    assert time_of("INFO 2026-11-20 23:34:34.982 | x") == local
    assert time_of("2026-11-20T23:34:34.982Z x") == datetime.fromisoformat("2026-11-20T23:34:34.982+00:00").timestamp()
    assert time_of("INFO 08-22 12:34:56 x") is None  # no year
    assert time_of("2026-99-20 23:34:34 x") is None


def test_a_notebook_log_is_unwrapped() -> None:
    text = (
        '[{"stream_name":"stderr","time":7.3,"data":"hello\\n"}\n'
        ',{"stream_name":"stdout","time":9.1,"data":"\\r 3%|x | 10/300 [07:58\\u003c3:37:31, 45.01s/it]\\r'
        "          \\r{'loss': '0.5', 'epoch': '0.1'}\\r\\n\"}\n"
        ',{"stream_name":"stdout","time":9.2,"data":"\\r 3%|x | 10/300 [07:58\\u003c3:37:31, 45.01s/it]"}\n]'
    )
    for sizes in ([], [3, 40, 7]):
        found = read("console", text, sizes)
        assert found.rows == [(10, {"loss": 0.5, "epoch": 0.1})]
        assert found.log[0].text == "hello"


def test_a_line_that_was_told_once_is_none_of_which_nothing_was_taken(tmp_path: Path) -> None:
    lines = [f"step {n} | loss {1 / n:.4f} | reward {n / 64}\n" for n in range(1, 61)]
    told = [f"WARNING: reward server returned HTTP 503, retry {n} in 2s\n" for n in range(1, 61)]
    other = [f"wrote {n} rows of 12 columns\n" for n in range(1, 61)]
    (tmp_path / "train.log").write_text("".join(a + b + c for a, b, c in zip(lines, told, other, strict=True)))
    source = reported(tmp_path / "train.log")["run"]["sources"][0]
    assert [(left["count"], left["text"]) for left in source["left_out"]] == [(60, "wrote 1 rows of 12 columns")]


@pytest.mark.parametrize("lead", ["", RAY, "[rank0]: "])
def test_code_that_a_traceback_shows_is_not_what_the_program_says(lead: str) -> None:
    text = [
        "{'loss': 0.1, 'reward': 0.5, 'step': 1}",
        f"{lead}Traceback (most recent call last):",
        f'{lead}  File "train.py", line 8, in reward',
        f'{lead}    raise RuntimeError("No space left on device") if full else MemoryError("CUDA out of memory")',
        f"{lead}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.37 GiB.",
    ]
    notes = read("console", ("\n".join(text) + "\n").encode()).notes
    assert {note.kind for note in notes} == {"traceback", "oom"}
    assert all("raise" not in note.text for note in notes)
