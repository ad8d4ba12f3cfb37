"""KL that jumps for a moment, and KL that stays at zero although it is switched on."""

from __future__ import annotations

import numpy as np

from rltui.diagnosis.look import Look
from rltui.diagnosis.rules.base import Memory, Params, losing, tail
from rltui.diagnosis.rules.spikes import recent_spikes
from rltui.diagnosis.signal import CRITICAL, NOTICE, WARNING, Signal, num


def kl_spike_transient(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Spikes of the KL; alone they are harmless, repeated and with damage beside them they are not."""
    spikes = recent_spikes(look, "kl_ref", memory, p["k1"], p["factor"])
    if not spikes:
        return []
    harm = losing(look) or look.open.get("grad-norm-explosion", 0) >= 2 or look.open.get("mismatch-high", 0) >= 2
    level = NOTICE
    if harm and len(spikes) >= p["count"]:
        level = CRITICAL if look.open.get("reward-collapse", 0) >= 2 else WARNING
    steps = ", ".join(str(step) for step in spikes)
    return [Signal(level, f"KL to the reference jumped at step {steps}.", (("kl_ref", ""),), onset_step=min(spikes))]


def kl_zero_unexpected(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """KL exactly 0 in a run whose KL term acts and whose weights move."""
    logged = look.logged("kl_ref")
    rows = int(p["n"])
    if logged is None or not look.settings.kl_coef or len(logged) < rows + p["warmup"]:
        return []
    gradient, rate = look.values("grad_norm"), look.values("lr")
    if not len(gradient) or tail(gradient, rows) <= 0 or (len(rate) and not (rate[-rows:] > 0).all()):
        return []
    if np.abs(logged.values[-rows:]).max() > p["zero"]:
        return []
    text = f"KL has been exactly 0 for {rows} rows although its coefficient is {num(look.settings.kl_coef)}."
    onset = int(logged.steps[len(logged) - rows])
    return [Signal(WARNING, text, (("kl_ref", "0"), ("grad_norm", "above 0")), onset_step=onset)]
