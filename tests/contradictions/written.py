"""Runs that a seeded generator writes: containers, lengths, plans, ends and courses drawn at random, so that no two
of them have been looked at when the program was built."""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

LONG_AGO_S = 2 * 86400.0
"""A run that does not run any more ended so long ago."""

Row = dict[str, float]


@dataclass(frozen=True)
class Draw:
    """What was drawn of a run: `course` what happens in it, `end` how it ends."""

    name: str
    course: str
    container: str
    rows: int
    plan: int | None
    end: str
    resumed: bool
    saves: int | None
    validates: int | None
    step_s: float
    seed: int
    until: int | None = None
    """The step that its log has come to, if it is cut: nothing that comes later is there."""

    @property
    def began(self) -> float:
        """Seconds since the epoch. Commands and screens judge by the clock whether a run is running, so that times are
        those of now."""
        return time.time() - self.step_s * self.rows - (0.0 if self.end == "running" else LONG_AGO_S)


COURSES = (
    *("learns", "solved", "flat", "collapse", "late-collapse", "dead-groups", "bimodal-groups", "hacking", "outage"),
    *("kl-up-score-up", "penalty-down-score-up", "entropy-dies", "truncates", "nan", "rise-and-fall", "spiky", "slow"),
    *("peak-then-half", "loss-only", "invariant-broken"),
)
CONTAINERS = ("jsonl", "csv", "verl-console", "trainer-state", "trl-console", "json-of-verl")
ENDS = ("finished", "crashed", "cut", "running")


def draw(number: int, seed: int) -> Draw:
    """The `number`-th run of a seed. Every course and container comes round."""
    chance = random.Random(f"{seed}/{number}")
    course = COURSES[number % len(COURSES)]
    container = CONTAINERS[chance.randrange(len(CONTAINERS))]
    rows = chance.choice((3, 9, 24, 61, 120, 180, 260))
    if course not in ("learns", "flat", "loss-only"):
        rows = max(rows, 61)
    end = chance.choice(ENDS)
    plan = rows if end == "finished" else chance.choice((None, 2 * rows, 10 * rows))
    return Draw(
        name=f"w{number:02d}-{course}",
        course=course,
        container=container,
        rows=rows,
        plan=plan,
        end=end,
        resumed=chance.random() < 0.2 and rows > 60,
        saves=chance.choice((None, None, 20, 50)),
        validates=chance.choice((None, 10, 20)),
        step_s=chance.choice((0.5, 12.0, 190.0)),
        seed=seed * 1000 + number,
    )


def rows_of(d: Draw) -> Iterator[tuple[int, Row]]:
    """(step, values by canonical-like short name) of each row."""
    chance = random.Random(d.seed)
    n = d.rows
    for i in range(n):
        t, late = i / max(1, n - 1), max(0.0, (i / n - 0.6) / 0.4)

        def noise(scale: float) -> float:
            return chance.gauss(0, scale)

        reward, kl, entropy, length, cut = 0.2 + 0.5 * min(1, t / 0.8), 0.05 * t, 0.9 - 0.4 * t, 300 + 60 * t, 0.01
        dead, grad, val, penalty = 0.2 + 0.1 * t, 0.4, 0.3 + 0.3 * t, 0.01
        match d.course:
            case "solved":
                reward, dead, val = min(0.99, 0.3 + 3 * t), min(0.95, 0.2 + 2 * t), min(0.98, 0.35 + 2.5 * t)
            case "flat" | "slow":
                reward, val = 0.3, 0.3
            case "collapse":
                reward, val, entropy = reward * (t < 0.6), val * (t < 0.6), entropy + 3 * late
            case "late-collapse":
                reward *= t < 0.94
            case "dead-groups":
                dead = 0.3 + 0.69 * min(1, 2 * t)
            case "bimodal-groups":
                dead = 1.0 if chance.random() < 0.5 + 0.3 * late else 0.1
            case "hacking":
                reward, val, length = 0.2 + 0.75 * t, 0.5 - 0.4 * late, 300 + 900 * late
            case "outage":
                reward = 0.0 if 0.7 < t < 0.8 else reward
            case "kl-up-score-up":
                kl = 0.01 * math.exp(6 * t)
            case "penalty-down-score-up":
                kl, penalty = 0.3 + 2.5 * t, 0.3 + 2.5 * t
            case "entropy-dies":
                entropy, reward = 0.9 * math.exp(-6 * t), reward - 0.3 * late
            case "truncates":
                cut, reward = 0.02 + 0.8 * late, reward * (1 - 0.7 * late)
            case "rise-and-fall":
                reward, val = 0.2 + 0.6 * math.sin(math.pi * t), 0.3 + 0.3 * math.sin(math.pi * t)
            case "peak-then-half":
                reward = 0.1 + 0.8 * min(1, 3 * t) - 0.35 * (t > 0.55)
            case "spiky":
                grad = 40.0 if chance.random() < 0.03 else 0.4
        row: Row = {
            "score": min(1.0, max(0.0, reward + noise(0.03) * (d.course != "solved" or t < 0.3))),
            "kl": abs(kl + noise(0.002)),
            "entropy": max(0.0, entropy + noise(0.02)),
            "grad_norm": abs(grad * math.exp(noise(0.2))),
            "length": max(1.0, length * math.exp(noise(0.05))),
            "cut": min(1.0, max(0.0, cut + abs(noise(0.003)))),
            "dead": min(1.0, max(0.0, dead if d.course == "bimodal-groups" else dead + noise(0.03))),
            "loss": noise(0.01),
            "lr": 1e-6,
            "clip_frac": abs(0.01 + noise(0.003)),
            "step_time": d.step_s * (1 + (1.5 * late if d.course == "slow" else 0)) * math.exp(noise(0.04)),
            "spread": max(0.0, 0.3 + noise(0.02)),
            "adv_max": 1.8 + noise(0.05),
        }
        row["reward"] = row["score"] - penalty * (1.0 if d.course == "penalty-down-score-up" else 0.0) * 0.4
        row["adv_min"] = -row["adv_max"]
        if d.course == "nan" and t > 0.8:
            row["grad_norm"] = row["loss"] = math.nan
        if d.course == "invariant-broken" and t > 0.4:
            row["adv_max"], row["adv_min"] = 1e-6, -1e-6
        if d.validates is not None and i % d.validates == 0:
            row["val"] = min(1.0, max(0.0, val + noise(0.01)))
        if d.course == "loss-only":
            row = {name: row[name] for name in ("loss", "lr", "step_time")}
        yield i + 1, row


VERL = {
    "score": "critic/score/mean",
    "reward": "critic/rewards/mean",
    "kl": "actor/kl_loss",
    "entropy": "actor/entropy",
    "grad_norm": "actor/grad_norm",
    "length": "response_length/mean",
    "cut": "response_length/clip_ratio",
    "loss": "actor/pg_loss",
    "lr": "actor/lr",
    "clip_frac": "actor/pg_clipfrac",
    "step_time": "perf/time_per_step",
    "val": "val-core/gsm8k/acc/mean@1",
    "adv_max": "critic/advantages/max",
    "adv_min": "critic/advantages/min",
    "dead": "frac_reward_zero_std",
    "spread": "reward_std",
}
TRL = {
    "score": "rewards/accuracy_reward/mean",
    "reward": "reward",
    "kl": "kl",
    "entropy": "entropy",
    "grad_norm": "grad_norm",
    "length": "completions/mean_length",
    "cut": "completions/clipped_ratio",
    "loss": "loss",
    "lr": "learning_rate",
    "clip_frac": "clip_ratio/region_mean",
    "step_time": "step_time",
    "dead": "frac_reward_zero_std",
    "spread": "reward_std",
    "val": "eval_reward",
}
HOME = {
    **{name: name for name in ("reward", "entropy", "grad_norm", "loss", "lr", "clip_frac", "step_time")},
    "kl": "kl",
    "length": "response_length",
    "val": "val_score",
    "cut": "truncated_ratio",
    "score": "score",
    "dead": "frac_reward_zero_std",
}


def _named(row: Row, names: dict[str, str]) -> Row:
    return {names[name]: value for name, value in row.items() if name in names}


def _replayed(d: Draw) -> list[tuple[int, Row]]:
    """The rows; of a run that was resumed some steps come twice, as after a restart from a checkpoint."""
    rows, end = list(rows_of(d)), d.rows if d.until is None else d.until
    at = len(rows) // 2
    if not d.resumed or end <= at:
        return rows[:end]
    return [*rows[:at], *rows[at - 7 : end]]


def _jsonl(d: Draw, folder: Path) -> Path:
    lines, clock = [], d.began
    for step, row in _replayed(d):
        clock += row["step_time"]
        lines.append(json.dumps({"step": step, "timestamp": clock, **_named(row, HOME)}))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "metrics.jsonl"


def _json_of_verl(d: Draw, folder: Path) -> Path:
    lines = [json.dumps({"step": step, "data": _named(row, VERL)}) for step, row in _replayed(d)]
    (folder / "verl.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "verl.jsonl"


def _csv(d: Draw, folder: Path) -> Path:
    names = [*dict.fromkeys(HOME[name] for _, row in rows_of(d) for name in row if name in HOME)]
    lines = [",".join(["step", *names])]
    for step, row in _replayed(d):
        cells = _named(row, HOME)
        lines.append(",".join([str(step), *(f"{cells[name]:.6g}" if name in cells else "" for name in names)]))
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    return folder / "metrics.csv"


def _verl_console(d: Draw, folder: Path) -> Path:
    lines = []
    if d.plan is not None:
        lines.append(f"(TaskRunner pid=71) Total training steps: {d.plan}")
    for step, row in _replayed(d):
        cells = " - ".join(f"{k}:{v:.6g}" for k, v in _named(row, VERL).items())
        lines.append(f"(TaskRunner pid=71) step:{step} - {cells}")
        if d.saves and step % d.saves == 0:
            lines.append(f"(TaskRunner pid=71) local_global_step_folder: ckpt/global_step_{step}")
    (folder / "train.log").write_text("\n".join(lines) + "\n" + _last_words(d))
    return folder / "train.log"


def _trl_console(d: Draw, folder: Path) -> Path:
    lines, rows = [], _replayed(d)
    total = d.plan or 2 * d.rows
    for step, row in rows:
        cells = {k: float(f"{v:.6g}") for k, v in _named(row, TRL).items()} | {"epoch": step / 1000}
        held_out = {k: cells.pop(k) for k in list(cells) if k.startswith("eval_")}
        lines += [str(cells), *([str(held_out | {"epoch": step / 1000})] if held_out else [])]
        lines.append(f" {100 * step // total:3d}%|███       | {step}/{total} [00:{step % 60:02d}<01:00,  1.00s/it]")
    if d.end == "finished" and d.until is None:
        lines.append(str({"train_runtime": 100.0, "train_steps_per_second": 1.0, "train_loss": 0.01, "epoch": 1.0}))
    (folder / "console.log").write_text("\n".join(lines) + "\n" + _last_words(d))
    return folder / "console.log"


def _trainer_state(d: Draw, folder: Path) -> Path:
    rows: list[dict[str, float]] = []
    for step, row in list(rows_of(d))[: d.until]:
        cells = _named(row, TRL)
        held_out = {k: cells.pop(k) for k in list(cells) if k.startswith("eval_")}
        rows += [{"step": step, "epoch": step / 1000, **part} for part in (cells, held_out) if part]
    state = {
        "best_metric": None,
        "epoch": 1.0,
        "global_step": d.until or d.rows,
        "max_steps": d.plan or 2 * d.rows,
        "log_history": rows,
        "logging_steps": 1,
        "is_world_process_zero": True,
    }
    (folder / "trainer_state.json").write_text(json.dumps(state, indent=1))
    return folder / "trainer_state.json"


def _last_words(d: Draw) -> str:
    if d.end == "crashed" and d.until is None:
        return (
            "Traceback (most recent call last):\n"
            '  File "/app/train.py", line 88, in <module>\n    trainer.train()\n'
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
        )
    return ""


WRITERS: dict[str, Callable[[Draw, Path], Path]] = {
    "jsonl": _jsonl,
    "json-of-verl": _json_of_verl,
    "csv": _csv,
    "verl-console": _verl_console,
    "trl-console": _trl_console,
    "trainer-state": _trainer_state,
}


def write(d: Draw, folder: Path) -> Path:
    """The run's directory, as its trainer would leave it. The files are as old as the end of the run says."""
    path = folder / d.name
    path.mkdir(parents=True)
    log = WRITERS[d.container](d, path)
    if d.saves is not None:
        prefix = "global_step_" if "verl" in d.container else "checkpoint-"
        for step in range(d.saves, (d.until or d.rows) + 1, d.saves):
            (path / f"{prefix}{step}").mkdir()
            (path / f"{prefix}{step}" / "model.safetensors").write_bytes(b"\0" * 64)
    if d.end != "running":
        ended = d.began + d.step_s * d.rows
        os.utime(log, (ended, ended))
    return path


def write_all(folder: Path, count: int = 40, seed: int = 14) -> Iterator[Path]:
    """Writes `count` runs of a seed below the folder."""
    for number in range(count):
        yield write(draw(number, seed), folder)
