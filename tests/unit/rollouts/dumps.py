"""Dumps as trainers write them, built in the test: a few samples in each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars

from rltui.rollouts.index import Dump, RolloutIndex, open_index
from rltui.sources.local import LocalPlace

GOOD = "<think>2 and 2 is 4</think><answer>4</answer>"
LOOP = "Wait, let me check again. " * 60
VERL_LOG = "".join(f"step:{n} - critic/score/mean:0.5 - actor/lr:1e-06 - training/global_step:{n}\n" for n in range(8))


def lines(path: Path, records: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def verl(root: Path, step: int, rows: list[tuple[str, str, float]], folder: str = "rollouts") -> Path:
    """`{step}.jsonl` of verl: (prompt, completion, score)."""
    return lines(
        root / folder / f"{step}.jsonl",
        [{"input": p, "output": c, "score": s, "step": step, "gts": "4", "acc": s > 0.5} for p, c, s in rows],
    )


def trl(root: Path, step: int, rows: list[tuple[str, str, float, float]]) -> Path:
    """TRL's parquet: (prompt, completion, accuracy_reward, format_reward)."""
    path = root / "completions" / f"completions_{step:05d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    polars.DataFrame(
        {
            "step": [step] * len(rows),
            "prompt": [row[0] for row in rows],
            "completion": [row[1] for row in rows],
            "accuracy_reward": [row[2] for row in rows],
            "format_reward": [row[3] for row in rows],
            "advantage": [row[2] - 0.5 for row in rows],
        }
    ).write_parquet(path)
    return path


def index(root: Path, **options: Any) -> RolloutIndex:
    """The index over every file below `root`; `*.log` are console logs."""
    found = [Dump(str(p), p.stat().st_size, p.stat().st_mtime) for p in sorted(root.rglob("*")) if p.is_file()]
    logs = [one for one in found if one.path.endswith(".log")]
    return open_index(LocalPlace(), str(root), [one for one in found if one not in logs], logs, **options)
