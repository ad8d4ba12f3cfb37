"""A run that crashed is told by the name of what ended it: the first error, not the last; where, with which numbers,
and what to do. Through `rltui report`, on logs with the lines that the programs print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

RAY = "\x1b[36m(WorkerDict pid=48301, ip=10.0.0.2)\x1b[0m "
CUDA = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.11 GiB of"
    " which 1.19 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated"
    " memory {allocated} GiB is allocated by PyTorch, and 5.10 GiB is reserved by PyTorch but unallocated."
)


def traceback(error: str, *frames: str) -> str:
    shown = "".join(f'  File "{frame.split(":")[0]}", line 7, in {frame.split(":")[1]}\n    x()\n' for frame in frames)
    return f"Traceback (most recent call last):\n{shown}{error}\n"


def rows(first: int, last: int, more: float = 0) -> str:
    return "".join(
        f"step:{n} - critic/score/mean:{0.2 + 0.001 * n + more:.3f} - actor/grad_norm:{0.3 + more}\n"
        for n in range(first, last + 1)
    )


def told(tmp_path: Path, capsys: pytest.CaptureFixture[str], log: str) -> dict[str, Any]:
    """The finding about the end of the run."""
    path = tmp_path / "run.log"
    path.write_text("Total training steps: 200\n" + log, encoding="utf-8")
    main(["report", "--format", "json", str(path)])
    report = json.loads(capsys.readouterr().out)
    assert report["run"]["state"] == "crashed"
    (finding,) = (f for f in report["findings"] if f["id"] == "run-crashed")
    assert isinstance(finding, dict)
    return finding


SAVED = ("train.py:fit", "/opt/env/lib/python3.11/site-packages/torch/serialization.py:save")
ENDS = {
    "gpu memory": (
        traceback(CUDA.format(allocated=70.31), "main_ppo.py:run", "verl/workers/actor/dp_actor.py:update_policy"),
        ["GPU memory ran out in the update", "2.32 GiB were asked for", "1.19 GiB of 79.11 GiB", "70.31 GiB"],
        "ppo_micro_batch_size",
    ),
    "gpu memory, as older versions say it": (
        traceback(
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total capacity; 21.30 GiB"
            " already allocated; 12.94 MiB free; 22.10 GiB reserved in total by PyTorch)",
            "grpo.py:get_per_token_logps",
        ),
        ["GPU memory ran out in the log-probs", "12.94 MiB of 23.69 GiB were free", "21.30 GiB"],
        "micro",
    ),
    "gpu memory in a worker, before what the driver says of it": (
        "".join(
            RAY + line + "\n" for line in traceback(CUDA.format(allocated=70.31), "w.py:compute_log_prob").splitlines()
        )
        + "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n",
        ["GPU memory ran out in the log-probs"],
        "micro",
    ),
    "the engine finds no memory": (
        traceback("ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."),
        ["sampler found too little GPU memory"],
        "gpu_memory_utilization",
    ),
    "disk": (
        traceback("OSError: [Errno 28] No space left on device: '/ckpt/global_step_30/model.pt'", *SAVED),
        ["the disk was full while the checkpoint was saved", "/ckpt/global_step_30/model.pt"],
        "Free the disk",
    ),
    "disk, in the words of torch": (
        traceback(
            "RuntimeError: [enforce fail at inline_container.cc:595] . PytorchStreamWriter failed writing file data/12:"
            " file write failed",
            *SAVED,
        ),
        ["the disk was full"],
        "max_actor_ckpt_to_keep",
    ),
    "disk, in the words of safetensors": (
        traceback(
            "safetensors_rust.SafetensorError: Error while serializing: IoError(Os { code: 28, kind: StorageFull,"
            ' message: "No space left on device" })',
            "trainer.py:_save",
        ),
        ["the disk was full while the checkpoint was saved"],
        "Free the disk",
    ),
    "host memory, by the kernel": (
        "[123.4] Memory cgroup out of memory: Killed process 4711 (python3) total-vm:91kB, anon-rss:61341234kB\n"
        "bash: line 1: 4711 Killed                  python3 train.py\n",
        ["host memory ran out", "python3", "61341234kB"],
        "more memory",
    ),
    "host memory, by the scheduler": (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=77.batch. Some tasks have been OOM Killed.\n",
        ["host memory ran out"],
        "more memory",
    ),
    "host memory, by Ray": (
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
        "Memory on the node (IP: 10.0.0.2, ID: 5f) where the task (actor ID: 7) was running was 493.05GB / 503.51GB"
        " (0.979), which exceeds the memory usage threshold of 0.95. Ray killed this worker.\n",
        ["host memory ran out", "493.05GB of 503.51GB were in use"],
        "more memory",
    ),
    "shared memory": (
        traceback(
            "RuntimeError: DataLoader worker (pid 99) is killed by signal: Bus error. It is possible that dataloader's"
            " workers are out of shared memory. Please try to raise your shared memory limit."
        ),
        ["shared memory"],
        "--shm-size",
    ),
    "a rank that raised, and the others that waited for it": (
        "[rank3]: " + "AssertionError: bad mask\n"
        "[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL("
        "SeqNum=12, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n"
        + traceback(CUDA.format(allocated=60.0), "a.py:backward"),
        ["GPU memory ran out in the update"],
        "micro",
    ),
    "a collective operation that nobody explains": (
        "[rank5]:[E ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL("
        "SeqNum=12, OpType=_ALLGATHER_BASE, NumelIn=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing"
        " out.\n[rank2]:[E ProcessGroupNCCL.cpp:616] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL("
        "SeqNum=12, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600090 milliseconds before timing out.\n",
        ["a collective operation timed out", "rank 5 was the first", "_ALLGATHER_BASE", "600012 ms"],
        "the rank that is missing",
    ),
    "NCCL": (
        traceback(
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251, unhandled system error"
            " (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5"
        ),
        ["communication between GPUs failed"],
        "NCCL_DEBUG",
    ),
    "a module that is not there": (
        traceback("ModuleNotFoundError: No module named 'flash_attn.bert_padding'", "x.py:<module>"),
        ["a module is missing", "flash_attn.bert_padding"],
        "pip check",
    ),
    "a library of another version": (
        traceback("ImportError: /x/flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2E"),
        ["wrong version", "_ZN3c105ErrorC2E"],
        "pip check",
    ),
    "reward code": (
        traceback(
            "AssertionError: answer is empty",
            "/opt/env/lib/python3.11/site-packages/verl/trainer/ppo/ray_trainer.py:fit",
            "/home/me/rewards/math_reward.py:compute_score",
            "/opt/env/lib/python3.11/site-packages/sympy/parsing/latex.py:parse",
        ),
        ["the reward code raised an error"],
        "Run the reward function",
    ),
    "the service that rewards": (
        traceback(
            "requests.exceptions.ConnectionError: HTTPConnectionPool(host='rm-0', port=8000): Max retries exceeded",
            "train.py:reward_fn",
            "/opt/env/lib/python3.11/site-packages/requests/adapters.py:send",
        ),
        ["the service that the reward code asks did not answer"],
        "that service was up",
    ),
    "numbers of 16 bits": (
        traceback("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."),
        ["numbers overflowed in FP16"],
        "BF16",
    ),
    "an import that another one hides": (
        traceback(
            "RuntimeError: Failed to import trl.trainer.grpo_trainer because of the following error (look up to see its"
            " traceback):\n/opt/env/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEab",
            "train.py:<module>",
        ),
        ["wrong version", "trl.trainer.grpo_trainer"],
        "pip check",
    ),
    "port": (
        traceback(
            "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network"
            " address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE"
        ),
        ["a port was in use", "port 29500"],
        "another port",
    ),
    "time limit": (
        "slurmstepd: error: *** JOB 7 ON gpu-3 CANCELLED AT 2026-08-04T20:40:01 DUE TO TIME LIMIT ***\n",
        ["the scheduler's time limit"],
        "resume_mode",
    ),
    "time limit, with the signal that it sends": (
        "Received SIGTERM\nslurmstepd: error: *** STEP 7.0 CANCELLED AT 2026-08-04T20:40:01 DUE TO TIME LIMIT ***\n",
        ["the scheduler's time limit"],
        "resume",
    ),
    "preemption": (
        "slurmstepd: error: *** JOB 7 ON gpu-3 CANCELLED AT 2026-08-04T20:40:01 DUE TO PREEMPTION ***\n",
        ["the job was preempted"],
        "resume",
    ),
    "a node": (
        "slurmstepd: error: *** JOB 7 ON gpu-3 CANCELLED AT 2026-08-04T20:40:01 DUE TO NODE FAILURE ***\n",
        ["a node was lost"],
        "--exclude",
    ),
    "a card": (
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n",
        ["a GPU failed", "Xid 79"],
        "out of the job",
    ),
    "an index on the card": (
        traceback("RuntimeError: CUDA error: device-side assert triggered", "m.py:forward"),
        ["an index was out of range on the GPU"],
        "CUDA_LAUNCH_BLOCKING",
    ),
    "NaN in the sampler": (
        traceback("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0", "g.py:generate"),
        ["NaN or infinity reached the sampler"],
        "before the first NaN",
    ),
    "a damaged checkpoint": (
        traceback("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"),
        ["a checkpoint could not be read"],
        "the one before it",
    ),
    "groups": (
        traceback(
            "ValueError: num_gen_batches=10 >= max_num_gen_batches=10. Generated too many. Please check if your"
            " data are too difficult."
        ),
        ["too few groups with both right and wrong answers"],
        "max_num_gen_batches",
    ),
    "a long prompt": (
        traceback("ValueError: The decoder prompt (length 5121) is longer than the maximum model length of 4096."),
        ["a sequence was longer than the model allows"],
        "filter_overlong_prompts",
    ),
    "a setting": (
        traceback("AssertionError: real_train_batch_size (63) must be divisible by total n_gpus (8)", "r.py:_validate"),
        ["the configuration was refused"],
        "setting that the line names",
    ),
    "by hand": (traceback("KeyboardInterrupt", "t.py:fit"), ["stopped by hand"], "nobody stopped it"),
    "from outside": (
        "bash: line 1: 4711 Killed                  python3 train.py\n",
        ["killed from outside"],
        "Find out what killed it",
    ),
}


@pytest.mark.parametrize(("end", "said", "to_do"), ENDS.values(), ids=list(ENDS))
def test_an_end_has_a_name(
    end: str, said: list[str], to_do: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finding = told(tmp_path, capsys, rows(1, 40) + end)
    for words in said:
        assert words.lower() in finding["summary"].lower()
    first = " ".join(f"{fix['text']} {fix['config_key']}" for fix in finding["fixes"][:2])
    assert to_do in first


def test_who_stops_a_run_by_hand_hears_why_it_was_sick_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That somebody stopped it is no fault of the run: what was wrong with it leads."""
    cut = rows(1, 40).replace(" - actor", " - response_length/clip_ratio:1.0 - actor")
    path = tmp_path / "run.log"
    path.write_text(cut + ENDS["by hand"][0])
    assert main(["report", str(path), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    severity = {finding["id"]: finding["severity"] for finding in report["findings"]}
    assert severity["run-crashed"] == "warning"
    assert severity["truncation-high"] == "critical"
    assert report["verdict"]["because"][0] == "truncation-high"


def test_an_error_without_a_name_is_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finding = told(tmp_path, capsys, rows(1, 40) + traceback("ValueError: all rows are blue", "t.py:fit"))
    assert "an error ended the log at step 40 of 200" in finding["summary"].lower()
    assert "all rows are blue" in finding["summary"]
    assert finding["causes"][0]["because"] == "line 45 of the log shows it, raised in fit (t.py:7)"


def test_the_name_of_a_project_is_no_reward_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    end = traceback("AssertionError: no batch", "/home/me/reward-hacking/src/trainer/loop.py:fit")
    assert "reward code" not in told(tmp_path, capsys, rows(1, 40) + end)["summary"]


def test_what_training_survived_names_no_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A grader's caught error at step 10 is not what ended the run at 40."""
    caught = traceback("requests.exceptions.ConnectionError: Max retries exceeded", "reward.py:score")
    finding = told(tmp_path, capsys, rows(1, 10) + caught + rows(11, 40) + ENDS["disk"][0])
    assert "disk" in finding["summary"]


def test_a_loop_of_crashes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = "".join(
        f"Resuming from checkpoint-{20 * n}\n" + rows(20 * n + 1, 20 * n + 30)
        + traceback(CUDA.format(allocated=60 + 2 * n), "a.py:update_policy")
        for n in range(3)
    )  # fmt: skip
    finding = told(tmp_path, capsys, log)
    assert "it is the 3rd end of this kind, with 2.0 gib more each time" in finding["summary"].lower()


def test_two_different_ends_are_no_loop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = rows(1, 30) + ENDS["disk"][0] + "Resuming from checkpoint-30\n" + rows(31, 60) + ENDS["gpu memory"][0]
    assert "end of this kind" not in told(tmp_path, capsys, log)["summary"].lower()


def test_an_earlier_attempt_says_by_name_what_ended_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.log"
    log = rows(1, 30) + ENDS["gpu memory"][0] + "Resuming from checkpoint-20\n"
    path.write_text(log + rows(21, 60, 0.01), encoding="utf-8")
    main(["report", "--long", "--format", "markdown", str(path)])
    page = capsys.readouterr().out
    assert "ended by: GPU memory ran out in the update" in page
    assert "Restarts: from step 21 (GPU memory ran out in the update" in page


def watchdog(rank: int, at: int, op: str, group: str = "") -> str:
    return (
        f"[rank{rank}]:[E1120 08:14:33.{rank} ProcessGroupNCCL.cpp:616] [{group}Rank {rank}] Watchdog caught collective"
        f" operation timeout: WorkNCCL(SeqNum={at}, OpType={op}, NumelIn=1, Timeout(ms)=600000) ran for 600012"
        " milliseconds before timing out.\n"
    )


def came(rank: int, at: int, group: str = "PG ID 0 PG GUID 0(default_pg) ") -> str:
    return (
        f"[rank{rank}]:[E1120 08:14:33.{rank} ProcessGroupNCCL.cpp:1785] [{group}Rank {rank}] Exception (either an"
        f" error or timeout) detected by watchdog at work: {at}, last enqueued NCCL work: {at}, last completed NCCL"
        " work: 1.\n"
    )


SUM, GATHER, SCATTER = "ALLREDUCE", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"


@pytest.mark.parametrize(
    ("log", "who"),
    [
        (watchdog(5, 88123, SUM) + watchdog(0, 88123, SUM) + came(3, 88122), "rank 3 is behind"),
        (came(0, 77) + came(4, 77) + "".join(came(n, 79) for n in (1, 2, 3)), "ranks 0, 4 are behind"),
        (watchdog(1, 5121, GATHER) + watchdog(6, 5120, SCATTER) + watchdog(0, 5121, GATHER), "rank 6 is behind"),
        # one that went on alone, groups of other ranks, counts that tell a least only, all alike
        (came(0, 88123) + came(1, 88122) + came(2, 88122), "rank 0 was the first"),
        (came(1, 500) + came(2, 31, "PG ID 2 PG GUID 3 "), "rank 1 was the first"),
        (watchdog(1, 5121, GATHER) + watchdog(0, 5121, GATHER) + watchdog(6, 40, SUM), "rank 1 was the first"),
        (watchdog(1, 31, SUM) + came(1, 58) + watchdog(0, 31, SUM), "rank 1 was the first"),
        (watchdog(1, 31, SUM) + watchdog(0, 31, SUM), "rank 1 was the first"),
    ],
)
def test_the_rank_that_the_others_wait_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], log: str, who: str
) -> None:
    assert who in told(tmp_path, capsys, rows(1, 60) + log)["summary"].lower()


def test_the_quote_is_of_the_error_that_names_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chain = (
        traceback("RuntimeError: [enforce fail at inline_container.cc:664] . unexpected pos 8448 vs 8342", *SAVED)
        + "\nThe above exception was caused by:\nOSError: [Errno 28] No space left on device\n"
    )
    summary = told(tmp_path, capsys, rows(1, 60) + chain)["summary"]
    assert "The disk was full" in summary
    assert "No space left on device" in summary
    assert "unexpected pos" not in summary


@pytest.mark.parametrize(
    ("frames", "phase"),
    [
        (
            ("trainer.py:training_step", "grpo_trainer.py:compute_loss", "grpo_trainer.py:_get_per_token_logps"),
            "update",
        ),
        (("dp_actor.py:update_policy", "dp_actor.py:_forward", "torch_functional.py:logprobs_from_logits"), "update"),
        (("trainer.py:training_step", "grpo.py:_generate_and_score", "grpo.py:_get_per_token_logps"), "log-probs"),
        (("ray_trainer.py:fit", "dp_actor.py:compute_log_prob", "dp_actor.py:_forward"), "log-probs"),
        (("trainer.py:training_step", "grpo.py:_generate_and_score", "utils.py:generate"), "generation"),
    ],
)
def test_log_probs_within_the_update_are_the_update(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], frames: tuple[str, ...], phase: str
) -> None:
    log = rows(1, 60) + traceback(CUDA.format(allocated=70.31), *frames)
    assert f"GPU memory ran out in {'the ' * (phase != 'generation')}{phase}" in told(tmp_path, capsys, log)["summary"]


@pytest.mark.parametrize("growth", [4.0, 1.05])
def test_what_had_grown_when_memory_ran_out(tmp_path: Path, capsys: pytest.CaptureFixture[str], growth: float) -> None:
    log = "".join(
        f"step:{n} - critic/score/mean:0.5 - response_length/mean:{700 + 10 * (n % 3) + 7 * (growth - 1) * n:.1f}"
        f" - perf/cpu_memory_used_gb:{100 + n % 3 + (growth - 1) * n:.1f}\n"
        for n in range(1, 101)
    )
    summary = told(tmp_path, capsys, log + traceback(CUDA.format(allocated=70.31), "a.py:backward"))["summary"]
    assert ("Length mean had grown from" in summary) == (growth > 2)
    assert "ost memory" not in summary, "it is no reason for the GPU's"
    killed = "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    summary = told(tmp_path, capsys, log + killed)["summary"]
    assert ("Host memory had grown from" in summary) == (growth > 2)


@pytest.mark.parametrize("name", ENDS)
def test_no_number_of_an_end_is_told_twice(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the log says is told in words or quoted, not both; and what proves it names the line."""
    log, _, _ = ENDS[name]
    finding = told(tmp_path, capsys, rows(1, 40) + log)
    sizes = re.findall(r"\d+\.\d+ [GM]iB", finding["summary"])
    assert len(sizes) == len(set(sizes)), finding["summary"]
    assert all("line" in cause["because"] and not re.search(r"[GM]iB", cause["because"]) for cause in finding["causes"])
