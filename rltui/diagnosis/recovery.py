"""Whether a fault is over: the metric that left is back in the band of before the onset, or the harm is made good.

A condition that no longer holds is no recovery: a window forgets a jump that stays, a trend ends on the wrong level.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from rltui.diagnosis.life import Life
from rltui.evidence.look import Look
from rltui.evidence.model import RecoveryBand
from rltui.evidence.signal import WARNING, Signal, num
from rltui.frameworks.load import metrics
from rltui.rules.base import solved
from rltui.rules.page import Recovery

LEAST = 5
NEWEST = 10
"""Points whose median is the value now, of those since the onset: one good row is no recovery."""
SPREAD = 4.0
"""Sd of the noise that a band holds beside its middle, at least: of a noisy metric a factor may be less than that."""


def band_of(rule: Recovery | None, life: Life, look: Look) -> RecoveryBand | None:
    """The band of an episode that has just become loud; None if the rule has none, or if too few points were logged
    before the onset or they stood at 0."""
    onset = life.onset_step
    metric = None if rule is None else look.facts.metric(rule.metric)
    level = None if metric is None or onset is None else metric.before(onset)
    if rule is None or metric is None or onset is None or level is None or level.points < LEAST:
        return None
    spread = SPREAD * metric.noise
    if rule.side == "below":
        edge = max(level.value * rule.factor, level.value + spread, rule.least)
    else:
        edge = min(level.value * rule.factor, level.value - spread)
    if edge <= 0.0:
        return None
    return RecoveryBand(rule.metric, rule.side, level.value, edge, onset, None, "")


def told(band: RecoveryBand, look: Look) -> RecoveryBand:
    """The band with the value now, for a report."""
    now = _now(band, look)
    text = f"{metrics()[band.metric].label} is back {band.side} {num(band.edge)}: "
    text += f"it was {num(band.before)} before step {band.onset_step} and is {num(now)} now"
    return replace(band, now=now, text=text)


def upheld(rule: Recovery | None, life: Life, signal: Signal | None, look: Look) -> Signal | None:
    """What a rule says, but no less than a warning while the fault stands that made it loud."""
    if rule is None or life.level < WARNING or life.band is None or (signal is not None and signal.level >= WARNING):
        return signal
    newest = life.signal if signal is None else signal
    if newest is None or _over(life.band, rule.paid, look):
        return signal
    return structs.replace(newest, level=WARNING)


def _now(band: RecoveryBand, look: Look) -> float | None:
    metric = look.facts.metric(band.metric)
    return None if metric is None else metric.median_after(band.onset_step, NEWEST)


def _over(band: RecoveryBand, paid: bool, look: Look) -> bool:
    now = _now(band, look)
    if now is None or (now <= band.edge if band.side == "below" else now >= band.edge):
        return True
    if paid and solved(look):
        return True
    score = look.facts.metric(look.reward) if paid else None
    change = None if score is None else score.beyond(band.onset_step)
    return change is not None and change.direction > 0
