"""The critic of PPO."""

from __future__ import annotations

from rltui.diagnosis.look import Look
from rltui.diagnosis.rules.base import Memory, Params, gaining, held, losing, tail
from rltui.diagnosis.rules.spikes import recent_spikes
from rltui.diagnosis.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num


def critic_uninformative(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Explained variance near or below 0 after the critic's warm-up."""
    explained = look.values("vf_explained_var")
    if len(explained) < p["warmup"]:
        return []
    now = tail(explained, 20)
    eased = now >= p["notice"]
    if eased and not held(look, "critic-uninformative"):
        return []
    level = EASED if eased else NOTICE
    if now <= p["warn"] and not gaining(look):
        level = CRITICAL if now < p["crit"] and losing(look) else WARNING
    text = f"The critic explains {num(now)} of the variance of the returns: its baseline helps little or harms."
    return [Signal(level, text, (("vf_explained_var", "median of 20 rows"),), moved="vf_explained_var")]


def value_loss_explosion(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Spikes of the value loss; loud where they repeat and the reward falls."""
    spikes = recent_spikes(look, "vf_loss", memory, p["z"], p["factor"])
    if not spikes:
        return []
    level = NOTICE
    if losing(look) and len(spikes) >= p["count"]:
        level = CRITICAL if look.open.get("reward-collapse", 0) >= 2 else WARNING
    text = f"The value loss jumped {len(spikes)} time{'s' if len(spikes) > 1 else ''} in the last 50 rows."
    return [Signal(level, text, (("vf_loss", ""),), onset_step=min(spikes))]
