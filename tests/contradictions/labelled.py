"""The labelled runs, and samples of them that stay the same."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path


def all_labelled(root: Path) -> list[Path]:
    """Paths of the labelled runs that are there."""
    lines = (root / "LABELS.jsonl").read_text(encoding="utf-8").splitlines()
    return [path for line in lines if (path := root / json.loads(line)["path"]).exists()]


def draws(name: str, of: int, seed: str = "contradictions") -> bool:
    """Whether this run is in a sample of one in `of`: by its name, so that adding a run moves no other."""
    return int(sha256(f"{seed} {name}".encode()).hexdigest()[:8], 16) % of == 0
