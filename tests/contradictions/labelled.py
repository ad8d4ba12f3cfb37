"""The labelled runs."""

from __future__ import annotations

import json
from pathlib import Path


def all_labelled(root: Path) -> list[Path]:
    """Paths of the labelled runs that are there."""
    lines = (root / "LABELS.jsonl").read_text(encoding="utf-8").splitlines()
    return [path for line in lines if (path := root / json.loads(line)["path"]).exists()]
