"""Written runs as their trainers would leave them: each container, named as its framework names things."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.contradictions.written import ODD, Draw, Row, draw, odd, rows_of

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
    "val_2": "val-core/math500/acc/mean@1",
    "val_3": "val-core/aime24/acc/mean@1",
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
    "val_2": "eval_math_reward",
    "val_3": "eval_code_reward",
}
HOME = {
    **{name: name for name in ("reward", "entropy", "grad_norm", "loss", "lr", "clip_frac", "step_time")},
    "kl": "kl",
    "length": "response_length",
    "val": "val_score",
    "cut": "truncated_ratio",
    "score": "score",
    "dead": "frac_reward_zero_std",
    "val_2": "val_score/math",
    "val_3": "val_score/code",
}


def _named(row: Row, names: dict[str, str]) -> Row:
    return {names[name]: value for name, value in row.items() if name in names}


def _replayed(d: Draw) -> list[tuple[int, Row]]:
    """The rows as they were written: of a run that was resumed some steps come twice, as after a restart from a
    checkpoint; of one that was begun anew the first ones. A cut log ends where a later step first comes."""
    rows = list(rows_of(d))
    for at in (
        [len(rows) // 2] if d.resumed else [len(rows) // 3, 2 * len(rows) // 3] if d.odd == "resumed twice" else []
    ):
        rows = [*rows[:at], *rows[at - 7 :]]
    if d.odd == "several attempts":
        rows = [*rows[: len(rows) // 4], *rows]
    later = None if d.until is None else next((i for i, (step, _) in enumerate(rows) if step > d.until), None)
    return rows[:later]


def _jsonl(d: Draw, folder: Path) -> Path:
    lines, clock = [], d.began
    for step, row in _replayed(d):
        clock += row.get("step_time", 1.0)  # seconds, of a step whose time is not logged, too
        lines.append(json.dumps({"step": step, "timestamp": clock, **_named(row, HOME)}))
    if d.odd == "validation after the end" and d.until is None:
        lines.append(json.dumps({"step": d.rows, "timestamp": clock + 9.0, HOME["val"]: 0.61}))
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
    if d.odd == "validation after the end" and d.until is None:
        lines.append(f"(TaskRunner pid=71) step:{d.rows} - {VERL['val']}:0.61")
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
    if d.odd == "validation after the end" and d.until is None:
        lines.append(str({"eval_reward": 0.61, "eval_runtime": 12.0, "epoch": d.rows / 1000}))
    (folder / "console.log").write_text("\n".join(lines) + "\n" + _last_words(d))
    return folder / "console.log"


def _trainer_state(d: Draw, folder: Path) -> Path:
    rows: list[dict[str, float]] = []
    for step, row in rows_of(d):
        if d.until is not None and step > d.until:
            break
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
BESIDE = {"verl-console": "json-of-verl", "trl-console": "trainer-state"}
"""What a trainer also writes, of the same rows."""


def logs(d: Draw, folder: Path) -> Iterator[Path]:
    """Writes the logs of a run."""
    yield WRITERS[d.container](d, folder)
    if d.odd == "two files" and d.container in BESIDE:
        yield WRITERS[BESIDE[d.container]](d, folder)


def write(d: Draw, folder: Path) -> Path:
    """The run's directory, as its trainer would leave it. The files are as old as the end of the run says."""
    path = folder / d.name
    path.mkdir(parents=True)
    written = list(logs(d, path))
    if d.saves is not None:
        prefix = "global_step_" if "verl" in d.container else "checkpoint-"
        for step in range(d.saves, (d.until or d.rows) + 1, d.saves):
            (path / f"{prefix}{step}").mkdir()
            (path / f"{prefix}{step}" / "model.safetensors").write_bytes(b"\0" * 64)
    if d.end != "running" or d.age_s is not None:
        ended = d.began + d.step_s * d.rows
        for log in written:
            os.utime(log, (ended, ended))
    return path


def write_all(folder: Path, count: int = 40, seed: int = 14) -> Iterator[Path]:
    """Writes `count` runs of a seed below the folder."""
    for number in range(count):
        yield write(draw(number, seed), folder)


def write_odd(folder: Path, count: int = 4 * len(ODD), seed: int = 14) -> Iterator[Path]:
    """Writes `count` runs with something unusual about their logs."""
    for number in range(count):
        yield write(odd(number, seed), folder)
