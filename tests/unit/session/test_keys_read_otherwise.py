"""What a key means may show only by its later values. What was concluded before is then concluded anew: a run that is
followed and one that is opened later are told the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rltui.session.locate import locate
from rltui.session.run_reader import RunReader

KEYS = {
    "success_pct": lambda i: 0.9 if i < 60 else 60.0 + i / 10,  # a share, it seems, for 60 rows
    "L": lambda i: 0.5 if i < 50 else 200.0 + i,  # a loss, it seems
    "entropy_loss": lambda i: 0.0 if i < 60 else 0.004 * i - 1.0,
}


def findings(reader: RunReader) -> list[tuple[str, str, str, int | None]]:
    return [(f.id, f.severity, f.status, f.onset_step) for f in reader.diagnosis().findings]


@pytest.mark.parametrize("key", KEYS)
def test_a_followed_run_and_one_that_is_opened_later_are_told_the_same(key: str, tmp_path: Path) -> None:
    rng, lines = np.random.default_rng(0), []
    for i in range(130):
        row = {"step": i + 1, "kl": 0.01 + 0.0001 * i, "loss": 0.1 * rng.standard_normal(), "lr": 1e-6}
        row |= {"grad_norm": 1 + 0.1 * rng.standard_normal(), key: KEYS[key](i)}
        row |= {} if key == "success_pct" else {"reward": 0.2 + 0.4 * i / 200 + 0.02 * rng.standard_normal()}
        lines.append(json.dumps(row) + "\n")
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(lines[:20]))
    live = RunReader(locate([str(path)])[0], follow=True)
    live.load()
    live.diagnosis()
    meant = {live.run.names[key].canonical}
    for i, line in enumerate(lines[20:], 20):
        with path.open("a") as out:
            out.write(line)
        live.poll()
        told = findings(live)
        if i % 10 == 5:
            opened = RunReader(locate([str(path)])[0])
            opened.load()
            assert told == findings(opened)
        meant.add(live.run.names[key].canonical)
    assert len(meant) > 1 or key != "L"
