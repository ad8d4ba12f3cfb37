from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from rltui.readers.not_a_log import why_not
from rltui.readers.sniff import sniff
from tests.known_gaps import known_gaps

TRL = "{'loss': '0.0123', 'grad_norm': '0.45', 'epoch': '0.02'}\n"
SAMPLE = {"input": "Solve it", "output": "42", "score": 1.0, "step": 7}
STATE = json.dumps({"best_metric": None, "log_history": [{"step": 1, "loss": 0.5}]}, indent=2)
NOISE = "\x1b[36m(TaskRunner pid=4)\x1b[0m vllm INFO something about CUDA\n" * 400


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (
            "noise\n\x1b[36m(TaskRunner pid=1)\x1b[0m step:7 - actor/kl_loss:np.float64(0.1) - a:1\n",
            "x",
            "verl-console",
        ),
        ("\r 1%|x | 3/300 [00:00<?, ?it/s]\r      \r" + TRL, "console.log", "trl-console"),
        (NOISE, "grpo.log", "console"),
        (NOISE, "data", "console"),
        ("***** Running training *****\nstep: 0|act_loss: 0.2|cri_loss: 0.3\n", "a.log", "console"),
        ("========= Step 3/100 =========\n  • Loss: 0.1\n", "out.txt", "console"),
        ('[{"stream_name":"stderr","time":7.3,"data":"x"}\n', "vsr-env.log", "console"),
        ('{"step":1,"data":{"actor/kl_loss":0.1}}\n{"step":2,"da', "run.jsonl", "jsonl"),
        ('{"step":1,"data":{"actor/kl_loss":' + "0.1" * 9, "run.jsonl", "jsonl"),
        ('{"loss": NaN, "global_step/max_steps": "1/9"}\n', "logging.jsonl", "jsonl"),
        ('{"config": {"lr": 1e-6}}\n{"loss": 0.5, "reward": 1, "kl": 0.1}\n', "metrics.jsonl", "jsonl"),
        ("step,actor/entropy_loss,critic/score/mean\n26,0.7,0.4\n", "m.csv", "csv"),
        ("Wall time;Step;Value\n1.5;2;3\n", "export.csv", "several"),
        ("step,reward\n1,0.1\n2,0.2,3\n3,abc\n4,0.4\n5,0.5\n", "m.csv", "several"),
        ("step,reward\n1,2,3\n4,5,6\n7,8\n", "m.csv", None),
        (STATE, "trainer_state.json", "trainer-state"),
        ("", "train.log", None),
        (json.dumps(SAMPLE) + "\n", "7.jsonl", "samples"),
        (json.dumps({"prompt": [{"role": "user", "content": "x"}], "answer": "4"}) + "\n", "train.jsonl", None),
        (json.dumps({"chosen": "a", "rejected": "b", "margin": 0.5, "n": 1}) + "\n", "dpo.jsonl", None),
        (json.dumps({"lr": 1e-6, "model": "x", "steps": 3}, indent=2), "args.json", None),
        (json.dumps({"train_runtime": 3.5, "train_loss": 0.1}), "all_results.json", None),
        ("# GRPO\nWe train with trl and CUDA. step:1 - a:1\n", "README.md", None),
        ("torch==2.9\ntransformers>=5\nvllm==0.9 \ndeepspeed==0.1\n", "requirements.txt", None),
        ("The cat sat on the mat.\nIt was 3 - 1 = 2.\n", "story.txt", None),
        ("id,question,answer\n1,what,4\n", "data.csv", None),
        ("name,age\nbob,3\n", "people.csv", None),
    ],
)
def test_by_content(text: str, name: str, expected: str | None) -> None:
    assert sniff(text.encode(), name) == expected


def test_binary_files() -> None:
    assert sniff(b":W&B\xbe\xe0\x01" + b"\0" * 40, "run-x.wandb") == "wandb"
    record = b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\x80\xd0\x3c\x18\xdaA\x1a\rbrain.Event:2" + b"\0" * 9
    assert sniff(record, "renamed") == "tensorboard"
    assert sniff(b"\x7fELF\x02\x01\x01" + b"\0" * 99, "train.log") is None
    assert sniff(b"PAR1\x15\x04\x15" + bytes(range(256)), "x.parquet") is None
    assert sniff(b"SQLite format 3\0" + b"\x10\0\x01\x01\0@  ", "mlflow.db") == "sqlite"


def test_no_bytes_raise() -> None:
    for seed in range(300):
        sniff(random.Random(seed).randbytes(seed), "x.jsonl")
        sniff(b"{'[\","[: seed % 5] + random.Random(seed).randbytes(seed).replace(b"\0", b"a"), "x.log")


@pytest.mark.long
def test_labelled_runs(runs_dir: Path) -> None:
    """Every console log, metrics file and trainer state of the labelled runs is told from everything else there: of
    all real runs, and of every sixth of those that one program made, which hold the same kinds of files."""
    made = sorted(
        run for group in runs_dir.iterdir() if group.name != "real" and group.is_dir() for run in group.iterdir()
    )
    left_out = {run for at, run in enumerate(made) if at % 6}
    wrong = set()
    for path in sorted(runs_dir.rglob("*")):
        inside = path.relative_to(runs_dir).parts
        if not path.is_file() or len(inside) < 3 or "mlruns" in inside:
            continue
        if runs_dir.joinpath(*inside[:2]) in left_out:
            continue
        name = path.name
        with path.open("rb") as file:
            found = sniff(file.read(1 << 14), name)
        expected: set[str | None] = {"console"} if "debug_log" in name else {None}
        if path.suffix in (".log", ".out") or name.startswith("terminal_output"):
            expected = {"verl-console", "trl-console", "console"}
        elif path.suffix == ".jsonl":
            expected = {"jsonl", "several"}
        elif path.suffix == ".csv":
            expected = {"csv", "several"}
        elif path.suffix == ".txt" and ("output" in name or "log" in name):
            expected = {"verl-console", "trl-console", "console"}
        elif name == "trainer_state.json":
            expected = {"trainer-state"}
        elif path.suffix == ".json" and path.read_bytes().lstrip().startswith(b"[") and b'"step"' in path.read_bytes():
            expected = {"json"}
        elif ".tfevents." in name:
            expected = {"tensorboard"}
        elif path.suffix == ".ipynb":
            expected = {"notebook"}
        elif path.suffix == ".db":
            expected = {"sqlite"}
        elif path.suffix == ".wandb":
            expected = {"wandb"}
        if found not in expected:
            wrong.add("/".join(inside))
    assert wrong == set(known_gaps("sniff")), "more, or fewer: tests/known_gaps.toml"


def test_one_row_longer_than_the_head_is_known() -> None:
    cells = ", ".join(f'"val/{i}": {i}.5' for i in range(9000))
    for row in (f'{{"step": 1, {cells}}}', f'{{"step": 1, "data": {{{cells}}}}}'):
        assert sniff(row.encode()[: 1 << 16], "m.jsonl") == "jsonl"
    for row in (f'{{"text": "a", "step": 1, {cells}}}', f"{{{cells}}}", '{"step": 1, "x": "' + "y" * 99999):
        assert sniff(row.encode()[: 1 << 16], "m.jsonl") is None


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (b"", "empty"),
        (b"\n \n", "blank lines"),
        (b"\0" * 500, "zeros"),
        (bytes(range(256)) * 9, "binary"),
        (b"PK\x03\x04zz", "zip"),
        (gzip.compress(b"nothing\n", mtime=0)[:5], "nothing comes out"),
        (b'{"a": [1, 2', "hold no metrics by step"),
        (b"hello\n", "hold no metrics by step"),
    ],
)
def test_why_a_file_is_no_log(head: bytes, says: str) -> None:
    assert sniff(head, "x.log") is None
    assert says in why_not(head)
