"""What is logged, and what it means."""

from __future__ import annotations

from rltui.diagnosis.look import Look
from rltui.diagnosis.rules.base import Memory, Params, tail
from rltui.diagnosis.signal import NOTICE, WARNING, Signal

CORE = ("score_mean", "reward_mean", "pg_loss", "total_loss", "grad_norm", "entropy", "kl_ref")


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
