"""Where the reward comes from: a grader that gives no number, the same lowest one to every answer, or another scale."""

from __future__ import annotations

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.outages import POLICY, Outage
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.frameworks.load import metrics
from rltui.plots.numbers import percent
from rltui.rules.base import Memory, Params, reward_name, rule


@rule("reward-function-fault", Look)
def reward_function_fault(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The reward was not measured in the newest rows: an outage that lasts, or no number at all."""
    newest = look.outages[-1] if look.outages else None
    return [_out(look, newest, p)] if newest is not None and newest.lasts else _no_number(look, p)


def _out(look: Look, outage: Outage, p: Params) -> Signal:
    lost = outage.exact >= max(p["lost_rows"], p["lost_share"] * look.n)
    level = CRITICAL if lost else WARNING if outage.exact >= p["outage_rows"] else NOTICE
    rows = "in 1 row" if outage.exact == 1 else f"for {outage.exact} rows"
    text = f"{reward_name(look)} is at {num(outage.value)} to the last digit {rows}, {num(outage.level)} before"
    still = [metrics()[name].label for name in POLICY if look.series(name) is not None]
    if still:
        text += f", while the policy is as before ({', '.join(still)})"
    text += ": the grader fails, not the policy. "
    text += "Updates on it teach nothing." if lost else "This is no reason to stop: these rows count nowhere."
    proofs = [
        (look.reward, f"{num(outage.value)} {rows}"),
        *((name, "as before") for name in POLICY if look.series(name)),
    ]
    return Signal(level, text, tuple(proofs), onset_step=outage.since)


def _no_number(look: Look, p: Params) -> list[Signal]:
    """Rewards logged as NaN: the reward function returned nothing for whole batches."""
    logged = look.logged(look.reward) or look.logged("reward_mean")
    window = int(p["window"])
    if logged is None or len(logged) < p["warmup"]:
        return []
    bad = np.isnan(logged.values[-window:])
    share = float(bad.mean())
    if share <= p["share"]:
        return []
    step = int(logged.steps[len(logged) - len(bad) + int(bad.argmax())])
    level = WARNING if bad.sum() >= p["warn_rows"] else NOTICE
    text = f"The reward is NaN in {percent(share)} of the last {len(bad)} rows: the reward function gave no number."
    return [Signal(level, text, ((look.reward, f"{int(bad.sum())} rows without a number"),), onset_step=step)]


@rule("reward-scale-shift", Look)
def reward_scale_shift(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The reward went over to another scale: level and spread by one factor at once, the policy as before."""
    found = look.rescale
    if found is None:
        return []
    times = f"{num(found.times)} times" if found.times > 1 else f"1/{num(1 / found.times)} of"
    text = f"{reward_name(look)} is {times} what it was from step {found.since} on ({num(found.before)} before, "
    text += f"{num(found.after)} after), and so is its spread"
    still = [metrics()[name].label for name in POLICY if look.series(name) is not None]
    if still:
        text += f", while the policy is as before ({', '.join(still)})"
    text += ": another scale, no gain and no loss. Rewards before that step count nowhere."
    proofs = [(look.reward, f"{num(found.before)} before, {num(found.after)} after")]
    proofs += [(name, "") for name in ("reward_std", *POLICY) if look.series(name) is not None]
    level = WARNING if look.n - found.first_row >= p["rows"] else NOTICE
    return [Signal(level, text, tuple(proofs), onset_step=found.since)]
