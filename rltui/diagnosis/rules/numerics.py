"""NaN and infinities."""

from __future__ import annotations

import numpy as np

from rltui.diagnosis.look import Look
from rltui.diagnosis.rules.base import Memory, Params
from rltui.diagnosis.signal import CRITICAL, NOTICE, WARNING, Signal

POISON = ("pg_loss", "total_loss", "kl_ref", "entropy", "vf_loss")
"""Non-finite here once and the step that was applied has spoilt the weights."""


def nonfinite_values(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Core metrics logged as NaN or infinite within the window; gradients count apart: such steps may be skipped."""
    first: dict[str, int] = {}
    counts: dict[str, int] = {}
    since = look.n - int(p["window"])
    for name in (*POISON, "grad_norm"):
        logged = look.logged(name)
        if logged is None or logged.all_finite:
            continue
        recent = int(logged.rows.searchsorted(since))
        bad = np.flatnonzero(np.isnan(logged.values[recent:]))
        if len(bad) and not _never_measured(look, name):
            first[logged.key] = int(logged.steps[recent + bad[0]])
            counts[name] = len(bad)
            memory.setdefault(f"first {name}", float(logged.steps[recent + bad[0]]))
    if not counts:
        return []
    gradients = counts.get("grad_norm", 0)
    poisoned = [name for name in POISON if name in counts]
    if poisoned or gradients >= p["grads_critical"]:
        level = CRITICAL
    else:
        level = WARNING if gradients >= p["grads_warning"] else NOTICE
    start = min(first.values())
    keys = ", ".join(k for k, s in first.items() if s == start)
    total = max(counts.values())
    return [
        Signal(
            level,
            f"{keys} became NaN or infinite at step {start}; {total} such row{'s' if total > 1 else ''} "
            f"in the last {int(min(p['window'], look.n))}.",
            tuple(
                (name, f"{count} non-finite rows, first at step {int(memory[f'first {name}'])}")
                for name, count in counts.items()
            ),
            onset_step=start,
        )
    ]


def _never_measured(look: Look, name: str) -> bool:
    """A metric that is NaN from the first row on, while the gradient is finite, was never computed."""
    return look.series(name) is None and look.series("grad_norm") is not None
