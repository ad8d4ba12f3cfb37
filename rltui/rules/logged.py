"""What is logged, and what it means."""

from __future__ import annotations

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal
from rltui.rules.base import Memory, Params, rule, tail

POISON = ("pg_loss", "total_loss", "kl_ref", "entropy", "vf_loss")
"""Non-finite here once and the step that was applied has spoilt the weights."""


UPDATE = ("pg_loss", "total_loss", "vf_loss", "grad_norm")
"""Of these it is the loss that broke; of KL and entropy the log-probs."""


@rule("nonfinite-values", Look)
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
            stage="loss" if any(name in counts for name in UPDATE) else None,
        )
    ]


def _never_measured(look: Look, name: str) -> bool:
    """A metric that is NaN from the first row on, while the gradient is finite, was never computed."""
    return look.series(name) is None and look.series("grad_norm") is not None


CORE = ("score_mean", "reward_mean", "pg_loss", "total_loss", "grad_norm", "entropy", "kl_ref")


@rule("metric-vanished", Look)
def metric_vanished(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A core metric that came with every row stopped, while others of the same place go on."""
    last = {name: s for name in CORE if (s := look.logged(name)) is not None and len(s) >= p["window"]}
    going = {s.key.rpartition("/")[0] for s in last.values() if int(s.rows[-1]) >= look.n - 2}
    out = []
    for name, series in last.items():
        gone = look.n - 1 - int(series.rows[-1])
        window = int(p["window"])
        steady = int(series.rows[-1] - series.rows[-window]) + 1 <= window / p["present"]
        if gone < p["rows"] or not steady or series.key.rpartition("/")[0] not in going:
            continue
        step = int(series.steps[-1])
        text = f"{series.key} is logged no more since step {step}; others of the same place go on."
        out.append(Signal(WARNING, text, ((name, f"last at step {step}"),), subject=name, onset_step=step))
    return out


@rule("metric-definition-trap", Look)
def metric_definition_trap(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Metrics whose values show that they mean other than their name, or were rounded away."""
    out = []
    start = int(look.steps[0]) if look.n else None
    rate, gradient = look.values("lr"), look.values("grad_norm")
    rows = int(p["rows"])
    if len(rate) >= rows and len(gradient) >= rows and look.is_zero("lr") and tail(gradient, rows) > 0:
        text = "The learning rate prints as 0: the log rounds it away; the config has the true one."
        out.append(Signal(NOTICE, text, (("lr", ""),), subject="lr", onset_step=start))
    if look.series("kl_ref") is not None and not look.profile.kl_per_token:
        text = "This KL is summed over the sequence: thresholds a token hold after division by the length."
        out.append(Signal(NOTICE, text, (("kl_ref", ""),), subject="kl_ref", onset_step=start))
    return out
