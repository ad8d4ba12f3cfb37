"""Runs of any length for the benchmarks: the same 60 metrics as console log, JSONL, W&B log and TensorBoard events.

python -m tests.bench.generate FORMAT FILE STEPS
"""

from __future__ import annotations

import random
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
import orjson

from rltui.readers.tensorboard.records import masked_crc32c, masked_crc32cs

GROUPS = {
    "actor": "entropy kl_loss kl_coef pg_loss pg_clipfrac ppo_kl pg_clipfrac_lower grad_norm lr reward_kl_penalty",
    "critic": "score/mean score/max score/min rewards/mean rewards/max rewards/min advantages/mean advantages/max "
    "advantages/min returns/mean returns/max returns/min values/mean vf_loss vf_clipfrac grad_norm",
    "response_length": "mean max min clip_ratio",
    "prompt_length": "mean max min clip_ratio",
    "response": "aborted_ratio",
    "timing_s": "generate_sequences gen reward old_log_prob ref values adv update_critic update_actor step "
    "save_checkpoint testing",
    "timing_per_token_ms": "gen update_actor ref values adv",
    "perf": "total_num_tokens time_per_step throughput mfu/actor max_memory_allocated_gb max_memory_reserved_gb",
    "training": "global_step epoch",
}
KEYS = [f"{group}/{name}" for group, names in GROUPS.items() for name in names.split()]
LEVELS = {  # level and noise of a healthy run; a reward that rises; the rest is about 1
    "actor/entropy": (0.8, 0.03),
    "actor/kl_loss": (0.004, 0.0005),
    "actor/kl_coef": (0.001, 0.0),
    "actor/pg_loss": (0.0, 0.01),
    "actor/pg_clipfrac": (0.01, 0.002),
    "actor/ppo_kl": (0.0005, 0.0001),
    "actor/pg_clipfrac_lower": (0.0001, 0.00002),
    "actor/grad_norm": (0.3, 0.03),
    "actor/lr": (1e-6, 0.0),
    "actor/reward_kl_penalty": (0.004, 0.0005),
    "critic/score/max": (1.0, 0.0),
    "critic/score/min": (0.0, 0.0),
    "critic/rewards/max": (1.0, 0.0),
    "critic/rewards/min": (0.0, 0.0),
    "critic/advantages/mean": (0.0, 0.02),
    "critic/advantages/max": (2.0, 0.1),
    "critic/advantages/min": (-2.0, 0.1),
    "critic/vf_loss": (0.05, 0.005),
    "critic/grad_norm": (2.0, 0.2),
    "response_length/mean": (420.0, 12.0),
    "response_length/max": (1024.0, 0.0),
    "response_length/min": (40.0, 6.0),
    "response_length/clip_ratio": (0.02, 0.004),
    "prompt_length/mean": (110.0, 3.0),
    "prompt_length/max": (230.0, 8.0),
    "prompt_length/min": (48.0, 3.0),
    "prompt_length/clip_ratio": (0.0, 0.0),
    "response/aborted_ratio": (0.0, 0.0),
    "timing_s/gen": (24.0, 1.2),
    "timing_s/generate_sequences": (22.0, 1.2),
    "timing_s/update_actor": (18.0, 0.6),
    "timing_s/step": (62.0, 2.0),
    "perf/total_num_tokens": (540_000.0, 12_000.0),
    "perf/time_per_step": (62.0, 2.0),
    "perf/throughput": (2200.0, 60.0),
    "perf/mfu/actor": (0.31, 0.01),
    "perf/max_memory_allocated_gb": (55.0, 0.2),
    "perf/max_memory_reserved_gb": (61.0, 0.2),
}
RISING = ("critic/score/mean", "critic/rewards/mean", "critic/returns/mean")
START = 1.7e9
RAY = "\x1b[36m(TaskRunner pid=48123)\x1b[0m "
NOISE = (
    RAY + "INFO 07-14 10:11:12 [loggers.py:116] Engine 000: Avg prompt throughput: 812.3 tokens/s, Running: 12 reqs\n",
    "\x1b[36m(WorkerDict pid=48301)\x1b[0m WARNING 07-14 10:11:12 [cuda.py:59] Using a slow tokenizer; step: warmup\n",
    RAY + "[response] Janet sells 16 - 3 - 4 = <<16-3-4=9>>9 duck eggs a day.\n#### 18\n",
    RAY + "Training Progress:   3%|▎         | 14/435 [12:07<5:58:01, 51.02s/it]\n",
)


def blocks(steps: int, size: int = 2000) -> Iterator[tuple[int, np.ndarray]]:
    """First step and values (rows x 60) of one block after another. A healthy run."""
    draw = np.random.default_rng(7)
    level, noise = np.array([LEVELS.get(key, (1.0, 0.05)) for key in KEYS]).T
    rising = [KEYS.index(key) for key in RISING]
    for first in range(1, steps + 1, size):
        at = np.arange(first, min(first + size, steps + 1), dtype=np.float64)[:, None]
        values = level + noise * draw.standard_normal((len(at), len(KEYS)))
        values[:, rising] = 0.3 + 0.4 * at / (at + steps / 3) + 0.02 * draw.standard_normal((len(at), len(rising)))
        values[:, KEYS.index("training/global_step")] = at[:, 0]
        values[:, KEYS.index("training/epoch")] = at[:, 0] // 117
        yield first, values


def verl(steps: int) -> Iterator[bytes]:
    """verl's console with Ray's prefixes, other output in between, and numpy's names around every tenth number."""
    chance = random.Random(7)
    around = [("np.float64(", ")") if i % 10 == 3 else ("", "") for i in range(len(KEYS))]
    for first, values in blocks(steps):
        out = []
        for i, row in enumerate(values.tolist()):
            out += [chance.choice(NOISE) for _ in range(chance.randint(1, 4))]
            cells = (f"{k}:{a}{v!r}{b}" for k, v, (a, b) in zip(KEYS, row, around, strict=True))
            out.append(f"{RAY}step:{first + i} - {' - '.join(cells)}\n")
        yield "".join(out).encode()


def jsonl(steps: int, sick: bool = False) -> Iterator[bytes]:
    """verl's file logger. `sick`: the run goes wrong from 60 % of its steps on, and some metrics hold a NaN."""
    for first, values in blocks(steps):
        if sick:
            _spoil(values, np.arange(first, first + len(values)), steps)
        rows = ({"step": first + i, "data": dict(zip(KEYS, r, strict=True))} for i, r in enumerate(values.tolist()))
        yield b"".join(orjson.dumps(row) + b"\n" for row in rows).replace(b"null", b"NaN")


def csv(steps: int) -> Iterator[bytes]:
    """A table with a header, a row a step."""
    yield ",".join(["step", *KEYS]).encode() + b"\n"
    for first, values in blocks(steps):
        rows = (f"{first + i},{','.join(map(repr, row))}\n" for i, row in enumerate(values.tolist()))
        yield "".join(rows).encode()


WORSE = {  # times so much at the end
    "critic/score/mean": 0.05,
    "critic/rewards/mean": 0.05,
    "actor/entropy": 7.0,
    "actor/kl_loss": 200.0,
    "actor/grad_norm": 20.0,
    "response_length/mean": 2.0,
    "response_length/clip_ratio": 40.0,
    "timing_s/step": 2.0,
}
HOLES = ("actor/entropy", "actor/kl_loss", "actor/pg_loss", "actor/grad_norm", "critic/vf_loss", "response_length/mean")


def _spoil(values: np.ndarray, at: np.ndarray, steps: int) -> None:
    """In place: reward falls while KL, entropy and length run away; one row of some metrics is NaN."""
    far = np.clip((at - 0.6 * steps) / (0.4 * steps), 0.0, 1.0)
    for key, times in WORSE.items():
        values[:, KEYS.index(key)] *= 1.0 + (times - 1.0) * far
    values[at == steps // 2, [[KEYS.index(key)] for key in HOLES]] = np.nan


def tensorboard(steps: int, shuffled: bool = False) -> Iterator[bytes]:
    """One event a scalar, as SummaryWriter writes them in a loop over a dict. `shuffled`: the tags come in another
    order each step."""
    chance = random.Random(7)
    lengths: dict[int, bytes] = {}
    for first, values in blocks(steps):
        events = []
        for i, row in enumerate(values.astype("<f4")):
            step = _varint(first + i)
            head = b"\x09" + struct.pack("<d", START + first + i) + b"\x10" + step + b"\x2a"
            cells = list(zip(KEYS, row, strict=True))
            if shuffled:
                chance.shuffle(cells)
            for key, cell in cells:
                value = b"\x0a" + _sized(key.encode()) + b"\x15" + cell.tobytes()
                events.append(head + _sized(b"\x0a" + _sized(value)))
        sizes = np.array([len(event) for event in events])
        data = np.frombuffer(b"".join(events) + bytes(8), dtype=np.uint8)
        sums = masked_crc32cs(data, np.cumsum(sizes) - sizes, sizes).astype("<u4")
        out = []
        for event, checksum in zip(events, sums, strict=True):
            if len(event) not in lengths:
                size = struct.pack("<Q", len(event))
                lengths[len(event)] = size + struct.pack("<I", masked_crc32c(size))
            out += [lengths[len(event)], event, checksum.tobytes()]
        yield b"".join(out)


def shuffled(steps: int) -> Iterator[bytes]:
    """The same with no cycle in it."""
    return tensorboard(steps, shuffled=True)


def wandb(steps: int) -> Iterator[bytes]:
    """A transaction log, row by row: each has one history and two summary records, their items in random order."""
    chance = random.Random(7)
    at, number = 7, 1
    yield b":W&B\xe1\xbe\x00"
    run = _message(17, _message(1, b"bench001") + _message(3, b"bench"))
    framed, at = _framed(b"\x08\x01" + run, at)
    yield framed
    keys = [_message(2, key.encode()) for key in (*KEYS, "_step", "_runtime", "_timestamp")]
    for first, values in blocks(steps):
        for i, row in enumerate(values.tolist()):
            out = []
            step = first + i
            cells = [*row, step, 10.0 * step, START + 10.0 * step]
            items = [_message(1, key + b"\x82\x01" + _sized(b"%r" % v)) for key, v in zip(keys, cells, strict=True)]
            chance.shuffle(items)
            body = b"".join(items)
            history = _message(2, body + _message(2, b"\x08" + _varint(step)))
            clock = b"".join(item for item in items if b"\x01_" in item[:4])
            for payload in (history, _message(3, body), _message(3, clock)):
                number += 1
                framed, at = _framed(b"\x08" + _varint(number) + payload, at)
                out.append(framed)
            yield b"".join(out)
    yield _framed(b"\x08" + _varint(number + 1) + _message(18, b"\x08\x00\x10\x01"), at)[0]  # its end


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _sized(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _message(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _sized(data)


def _framed(record: bytes, at: int) -> tuple[bytes, int]:
    """A record as chunks of LevelDB's log from file offset `at` on, and the offset behind it."""
    out, first = bytearray(), True
    while first or record:
        left = 32768 - at % 32768
        if left < 7:
            out += bytes(left)
            at += left
            left = 32768
        chunk, record = record[: left - 7], record[left - 7 :]
        kind = (2 if record else 1) if first else (3 if record else 4)
        out += struct.pack("<IHB", crc32(chunk, crc32(bytes([kind]))), len(chunk), kind) + chunk
        at += 7 + len(chunk)
        first = False
    return bytes(out), at


WRITERS: dict[str, tuple[str, Callable[[int], Iterator[bytes]]]] = {
    "verl": ("console.log", verl),
    "jsonl": ("metrics.jsonl", jsonl),
    "csv": ("metrics.csv", csv),
    "sick": ("metrics.jsonl", partial(jsonl, sick=True)),
    "tensorboard": ("events.out.tfevents.1700000000.bench.1.0", tensorboard),
    "shuffled": ("events.out.tfevents.1700000000.bench.1.0", shuffled),
    "wandb": ("run-bench001.wandb", wandb),
}


LISTED = ["verl", "jsonl", "tensorboard", "shuffled", "wandb"]
VERSION = f"{crc32(Path(__file__).read_bytes()):08x}"
"""Of this generator: what an older one wrote is written anew."""


def write(kind: str, directory: Path, steps: int) -> Path:
    """The file of a format in `directory`, written unless it is there already."""
    name, writer = WRITERS[kind]
    path = directory / VERSION / f"{kind}-{steps}" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(path.name + ".partial")
        with partial.open("wb") as out:
            out.writelines(writer(steps))
        partial.rename(path)
    return path


def write_many(directory: Path, runs: int, steps: int = 200) -> Path:
    """A folder of `runs` runs in their own folders, of the formats of real sweeps in turn."""
    root = directory / VERSION / f"{runs}-runs-{steps}"
    if not root.exists():
        partial = root.with_name(root.name + ".partial")
        contents = {kind: b"".join(WRITERS[kind][1](steps)) for kind in LISTED}
        for number in range(runs):
            kind = LISTED[number % len(LISTED)]
            folder = partial / f"sweep-{number:04d}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / WRITERS[kind][0]).write_bytes(contents[kind])
        shutil.rmtree(root, ignore_errors=True)
        partial.rename(root)
    return root


if __name__ == "__main__":
    print(write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
