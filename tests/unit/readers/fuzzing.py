"""Inputs for fuzzing: a small file of each container, and a mutator of bytes. The same number gives the same input."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import pprint
import random
import sqlite3
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl

from tests.unit.frameworks.cases import WRITERS
from tests.unit.frameworks.more_cases import ALL_CASES
from tests.unit.readers import tracker_files
from tests.unit.readers_binary.encode import blocks, event, field, history, output, simple, summary, tfrecords

ROWS: list[tracker_files.Row] = [
    (s, {"train/loss": s / 7, "actor/kl": -0.125 * s, "reward": 1e-7 * s, "n": float(s)}) for s in range(1, 13)
]
_CONFIG = {"trainer": {"lr": 1e-6, "name": "x"}, "data.path": "a/b", "list": [1, 2]}
_INTERESTING = [
    *(b"NaN", b"-Infinity", b"1e999", b"nan", b"null", b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",", b"\n", b"\r"),
    *(b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", b"\x1b[31m", b"step:", b" - ", b"'", b"(", b"np.float64("),
    *(
        b"9" * 400,
        b"-1",
        b"0.",
        b"1e-400",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"{" * 300,
        b"[" * 3000,
        b" " * 500,
    ),
    *(
        b"\r" * 60,
        b"\n" * 60,
        b"100%|##| 3/3 [",
        b"Traceback (most recent call last):\n",
        b"\xe2\x80\xae",
        b"'a':" * 50,
    ),
]


def _jsonl() -> bytes:
    lines = [{"step": s, "data": c} if s % 2 else {"step": s, **c, "t": "x", "deep": {"a": s}} for s, c in ROWS]
    lines[3] = {"global_step": 4, "loss": float("nan"), "timestamp": 1.7e9, "config": _CONFIG}
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _csv() -> bytes:
    lines = ["step,time,loss,kl,note"] + [f'{s},{1.7e9 + s},{s / 7},{"" if s % 3 else s},"a, b"' for s, _ in ROWS]
    return ("\n".join(lines) + "\n").encode()


def _verl() -> bytes:
    lines = [
        "(TaskRunner pid=123) {'actor_rollout_ref': {'actor': {'lr': 1e-06,",
        "(TaskRunner pid=123)    'kl': 0.1}}}",
    ]
    for s, cells in ROWS:
        body = " - ".join(f"{k}:{v!r}" if s % 2 else f"{k}:np.float64({v!r})" for k, v in cells.items())
        lines += [
            f"(TaskRunner pid=123) step:{s} - {body}",
            f"\x1b[36m(WorkerDict pid=9)\x1b[0m {s} warnings [repeated 7x across cluster]",
            f"Training Progress:  8%|8  | {s}/12 [00:03<00:30, 2.7s/it]\r",
        ]
    return "\n".join(
        [*lines, "Traceback (most recent call last):", '  File "x.py", line 3', "ValueError: no", ""]
    ).encode()


def _trl() -> bytes:
    lines = []
    for s, cells in ROWS:
        values = ", ".join(f"'{k}': '{v:.4g}'" if s % 2 else f"'{k}': {v!r}" for k, v in cells.items())
        lines.append(
            f"\r {8 * s}%|8   | {s}/12 [00:03<00:30,  2.7s/it]\r{' ' * 60}\r{{{values}, 'epoch': {s / 12:.3f}}}\n"
        )
    lines.append("{'train_runtime': '12.5', 'train_loss': '0.5', 'epoch': '1'}\n")
    return "".join(lines).encode()


def _console() -> bytes:
    lines = []
    for s, cells in ROWS:
        shapes = (
            f"2026-11-20 23:00:{s:02d} INFO step {s}: loss={cells['train/loss']:.4f} reward={s}",
            f"[rank0] iteration {s}/12 | loss: {s / 7:.3f} | lr: 1e-06",
            f"perf {s}: {{'train/loss': {s / 7}, 'time': 3.5}}",
            json.dumps({"stream_name": "stdout", "time": s, "data": f"step {s} loss 0.5\n"}),
        )
        lines += [shapes[s % 4], "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"]
    return "\n".join([*lines, "srun: error: Killed", ""]).encode()


def _tables() -> bytes:
    """Tables of an evaluation below steps."""
    lines = []
    for s, _ in ROWS:
        lines += [f"step {s} | loss {s / 7:.3f} | reward {s}", "| benchmark | acc | n |", "|---|---|---|"]
        lines += [f"| gsm8k | 0.{s:03d} | 1319 |", f"| amc23 | {s}.5% | 40 |"]
    return ("\n".join(lines) + "\n").encode()


def _printed() -> bytes:
    """Rows that were printed at once, between others."""
    rows = [{"step": s, "loss": s / 7, "reward": s} for s, _ in ROWS]
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    lines = [
        f"history: {rows!r}",
        "step 13 | loss: 0.5 | reward: 13",
        pprint.pformat(rows[:4]),
        json.dumps(columns, indent=1),
        f"eval history = {rows[::4]!r}",
    ]
    return ("start\n" + "\n".join(lines) + "\ndone\n").encode()


def _dialects() -> list[bytes]:
    """The console of every framework that has one of its own."""
    logs = [c.text(path).encode() for c in ALL_CASES for path in c.files if path.endswith((".log", ".txt"))]
    wrapped = [
        {"timestamp": "2026-01-02T03:04:05", "level": "INFO", "message": f"Step {s} | Loss 0.5 | LR 1e-6"}
        for s in (1, 2)
    ]
    counts = b"epoch 0, step 3\nRound 1: invalid draft format count = 3/16\nstep:3 - a:1 - b:2\n"
    return [*logs, "".join(json.dumps(line) + "\n" for line in wrapped).encode(), counts]


def _trl_runs() -> list[bytes]:
    """What TRL's trainers wrote."""
    return [path.read_bytes() for path in sorted(WRITERS.glob("trl-*/*/train.log"))]


def _trainer_state() -> bytes:
    log = [{"step": s, "epoch": s / 12, **c} for s, c in ROWS] + [{"step": 12, "train_runtime": 3.0}]
    return json.dumps({"global_step": 12, "max_steps": 12, "best_metric": None, "log_history": log}, indent=2).encode()


def _wandb() -> bytes:
    records = [field(1, 1) + field(17, field(1, "id") + field(4, field(1, field(1, "t") + field(16, '{"lr": 0.1}'))))]
    for s, cells in ROWS:
        texts: dict[str | tuple[str, ...], str] = {k: json.dumps(v) for k, v in cells.items()}
        texts |= {"_step": str(s), ("nested", "x"): "NaN", "table": '{"_type": "table-file"}'}
        records += [history(3 * s, texts, s), summary(3 * s + 1, texts), output(3 * s + 2, f"step {s}\n")]
    records.append(
        field(1, 9) + field(7, field(2, field(1, 1_700_000_000)) + field(3, field(1, "gpu.0.gpu") + field(16, "93")))
    )
    records.append(field(1, 99) + field(18, field(2, 60)))
    return blocks(records)[0]


def _database(make: str, page: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.db"
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA page_size = {page}")
        connection.execute("VACUUM")
        connection.close()
        (tracker_files.trackio if make == "trackio" else tracker_files.mlflow)(path, {"a": ROWS, "b": ROWS[:3]})
        return path.read_bytes()


def write_ahead_log() -> tuple[bytes, bytes]:
    """A trackio database and its log, in which the later rows lie."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.db"
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA page_size = 512")
        connection.execute("PRAGMA journal_mode = WAL")
        tracker_files.trackio(path, {"a": ROWS[:4]}, wal=True)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for row in ROWS[4:]:
            tracker_files.add_trackio(connection, "a", [row])
            connection.commit()
        found = path.read_bytes(), path.with_name("p.db-wal").read_bytes()
        connection.close()
        return found


def _notebook() -> bytes:
    names = list(ROWS[0][1])
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr><td>{s}</td>" + "".join(f"<td>{v}</td>" for v in c.values()) + "</tr>" for s, c in ROWS)
    table = f"<progress value='3' max='9'></progress><table><tr><th>Step</th>{head}</tr>{body}</table>"
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["[1/9] loss=0.5 kl=0.1\n", "[2/9] loss=0.4 kl=0.1\n"]},
        {"output_type": "display_data", "data": {"text/html": [table]}},
        {"output_type": "error", "traceback": ["Traceback (most recent call last):", "ValueError: no"]},
    ]
    return json.dumps({"cells": [{"cell_type": "code", "outputs": outputs}], "nbformat": 4}).encode()


def _page() -> bytes:
    outputs = json.loads(_notebook())["cells"][0]["outputs"]
    text, table = "".join(outputs[0]["text"]), outputs[1]["data"]["text/html"][0]
    cell = '<div class="cell"><div class="input"><pre>loss = 1</pre></div><div class="output">{}</div></div>'
    by_epoch = "[6/9 00:01, Epoch 2/3]" + table.replace("Step", "Epoch").replace("train/loss", "Training Loss")
    return "".join(cell.format(shown) for shown in (f"<pre>{text}</pre>", table, by_epoch)).encode()


@cache
def _broken(log: bytes) -> bytes:
    """A log as a terminal of 80 places shows it."""
    return b"\n".join(line[i : i + 80] for line in log.split(b"\n") for i in range(0, max(len(line), 1), 80))


def _tensorboard() -> bytes:
    events = [event(s, *(simple(k, float(str(v))) for k, v in cells.items())) for s, cells in ROWS]
    return tfrecords([field(1, 1.7e9) + field(3, "brain.Event:2"), *events])[0]


SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "verl-console": lambda: [_verl()],
    "trl-console": lambda: [_trl(), *_trl_runs()],
    "console": lambda: [_console(), _verl() + _trl(), _printed(), _tables(), *_dialects()],
    "wrapped-console": lambda: [_broken(_verl()), _broken(_console())],
    "jsonl": lambda: [_jsonl()],
    "json": lambda: [
        json.dumps([{"step": s, **cells} for s, cells in ROWS]).encode(),
        b'{"config": {"lr": 1}, "loss": [0.5, 0.25, 0.125], "reward": [1, 2, 3]} // cut',
    ],
    "samples": lambda: [
        b"".join(b'{"step": %d, "prompt": "a", "reward": %d, "i": %d}\n' % (s // 3, s, s) for s in range(9))
    ],
    "notebook": lambda: [_notebook()],
    "page": lambda: [_page()],
    "csv": lambda: [
        *(_csv(), b"Wall time,Step,Value\n1.7e9,1,0.5\n1.7e9,2,0.25\n"),
        b"Step;kl;n\n1;12,345;7\n2;0,5;1.234\n3;1,5E-3;1.234.567,5\n",
    ],
    "parquet": lambda: [_columns("parquet")],
    "arrow": lambda: [_columns("ipc"), _columns("ipc_stream")],
    "trainer-state": lambda: [_trainer_state()],
    "tensorboard": lambda: [_tensorboard()],
    "wandb": lambda: [_wandb()],
    "swanlab": lambda: [tracker_files.swanlab(ROWS)[0], tracker_files.swanlab_old(ROWS)],
    "trackio": lambda: [_database("trackio", 512), _database("trackio", 4096)],
    "mlflow": lambda: [_database("mlflow", 512), _database("mlflow", 4096)],
    "mlflow-files": lambda: ["".join(f"{tracker_files.START_MS + s} {s / 7} {s}\n" for s, _ in ROWS).encode()],
    "compressed": lambda: [
        gzip.compress(_jsonl(), mtime=0),
        lzma.compress(_jsonl()),
        _jsonl().decode().encode("utf-16"),
    ],
}
"""What makes the files of a format; those of `compressed` hold JSON lines. Made when they are asked for: polars starts
threads, and who forks after that, as the mutants do, waits for ever."""


def _columns(writer: str) -> bytes:
    out = io.BytesIO()
    getattr(pl.DataFrame([{"step": s, **cells} for s, cells in ROWS]), f"write_{writer}")(out)
    return out.getvalue()


def mutate(data: bytes, numbers: random.Random) -> tuple[bytes, int]:
    """The data with one to four wounds, and the offset before which nothing was touched."""
    out = bytearray(data)
    first = len(data)
    for _ in range(numbers.choice((1, 1, 1, 2, 4))):
        at = numbers.randrange(len(out) + 1)
        length = min(numbers.choice((1, 2, 4, 8, 16, 64, 300)), len(out) - at)
        kind = numbers.randrange(8)
        if kind == 0 and length:
            out[at] ^= 1 << numbers.randrange(8)
        elif kind == 1:
            out[at : at + length] = numbers.randbytes(length)
        elif kind == 2:
            del out[at : at + length]
        elif kind == 3:
            out[at:at] = out[at : at + length] * numbers.choice((1, 3, 40))
        elif kind == 4:
            out[at:at] = numbers.choice(_INTERESTING)
        elif kind == 5:
            other = numbers.choice(_INTERESTING)
            out[at : at + len(other)] = other
        elif kind == 6:
            begin = numbers.randrange(len(out) + 1)
            out[at : at + length] = out[begin : begin + length]
        else:
            del out[at:]
        first = min(first, at)
    return bytes(out), first
