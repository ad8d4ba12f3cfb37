"""Reward parts: one that never moves, and a true part that falls while the total rises."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

import numpy as np
import orjson

from rltui.diagnosis.look import Look
from rltui.diagnosis.rules.base import Memory, Params
from rltui.diagnosis.signal import CRITICAL, NOTICE, WARNING, Signal, num, percent
from rltui.diagnosis.trends import change, onset
from rltui.run.table import Series

FAMILY = "reward_component_mean"


@lru_cache(maxsize=1)
def _true_names() -> re.Pattern[str]:
    words = orjson.loads((files("rltui.diagnosis") / "data" / "true_components.json").read_bytes())["words"]
    return re.compile("|".join(re.escape(w) for w in words))


def is_task(member: str) -> bool:
    """Whether a reward part is named as the task itself (accuracy, correctness), not as format or shaping."""
    return _true_names().search(member.lower()) is not None


def reward_component_decoupling(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The part that is the task falls below its start while the total reward rises."""
    total = look.values(look.reward)
    if len(total) < p["min_rows"] or look.change(look.reward) < p["gain_se"]:
        return []
    out = []
    for member, series in look.family(FAMILY).items():
        x = series.values
        if not is_task(member) or len(x) < p["min_rows"]:
            continue
        z = change(x)
        if z > -p["loss_se"]:
            continue
        k = min(50, max(10, len(x) // 10))
        first, last = float(x[:k].mean()), float(x[-k:].mean())
        lost = (first - last) / abs(first) if first else 1.0
        rise = float(total[-k:].mean() - total[:k].mean())
        summary = (
            f"{member} fell from {num(first)} to {num(last)}, {percent(lost)} lost, while the total reward rose by "
        )
        summary += f"{num(rise)} (means of {k} rows at both ends)."
        proofs = ((series.key, ""), (look.reward, ""))
        level = CRITICAL if lost > p["critical_share"] else WARNING
        out.append(Signal(level, summary, proofs, subject=member, onset_step=_onset(series)))
    return out


def _onset(series: Series) -> int:
    values = series.values[-200:]
    return int(series.steps[len(series) - len(values) + onset(values)])


def reward_component_dead(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A part that has been constant from the start while others vary."""
    members = look.family(FAMILY)
    rows = int(p["rows"])
    if len(members) < 2:
        return []
    constant = {m: s for m, s in members.items() if len(s) >= rows and np.ptp(s.values[-2000:]) == 0.0}
    if len(constant) == len(members):
        return []
    out = []
    for member, series in constant.items():
        value = float(series.values[-1])
        learnt = value > 0.0
        summary = f"Reward part {member} has stood at {num(value)} for all {len(series)} rows."
        level = NOTICE if learnt or not _varies(members, member) else WARNING
        out.append(
            Signal(
                level,
                summary,
                ((series.key, f"constant {num(value)}"),),
                subject=member,
                onset_step=int(series.steps[0]),
            )
        )
    return out


def _varies(members: dict[str, Series], but: str) -> bool:
    return any(m != but and np.ptp(s.values[-200:]) > 0.0 for m, s in members.items())
