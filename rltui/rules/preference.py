"""Preference training (DPO)."""

from __future__ import annotations

from math import sqrt

from rltui.evidence.clock import enough
from rltui.evidence.effects import LIMIT
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.plots.numbers import percent
from rltui.rules.base import Memory, Params, logged_for, loud, rule, tail, validation
from rltui.rules.gains import validation_gained
from rltui.rules.pairs import beta_too_small, pairs_turned
from rltui.rules.reward import fall_begins
from rltui.rules.traits import Trait

EPS = 1e-9
LEAST_EVALUATIONS = 3
"""Fewest evaluations that show how held-out pairs are ranked."""
NEWER = 0.6
"""Share of the run over which an accuracy must not have risen: a slow rise does not show in fewer rows."""


@rule("dpo-likelihood-displacement", Look)
def dpo_likelihood_displacement(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Chosen responses are less likely than at the start, and the margin has risen."""
    chosen, rejected = look.values("dpo_logps_chosen"), look.values("dpo_logps_rejected")
    least = 2.0 if len(chosen) >= p["rows"] else p["sure"]
    if len(chosen) < p["few"] or look.facts.errors("dpo_logps_chosen") > -least:
        return []
    if look.facts.errors("dpo_reward_margin") < 2.0:
        return []
    fall = float(chosen[:10].mean() - chosen[-10:].mean())
    other = float(rejected[:10].mean() - rejected[-10:].mean()) if len(rejected) >= 20 else 0.0
    if fall < p["nat"]:
        return []
    start = abs(float(chosen[:10].mean()))
    much = fall > p["share"] * start or (other > 0 and fall > p["of_rejected"] * other)
    lost = fall > max(p["lost"], p["doubled"] * start)
    level = NOTICE
    if much:
        level = CRITICAL if lost or loud(look, Trait.VALIDATION_FALLS) else WARNING
    course = look.facts.course("dpo_logps_chosen")
    lost_so = course.first - course.last if course is not None and course.first > course.last else fall
    text = f"Chosen answers lost {num(lost_so)} nats of log-probability while the margin rose."
    return [Signal(level, text, (("dpo_logps_chosen", ""), ("dpo_reward_margin", "")), moved="dpo_logps_chosen")]


@rule("dpo-no-signal-or-saturated", Look)
def dpo_no_signal_or_saturated(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The loss is where it starts by construction (ln 2), or all pairs are ranked correctly."""
    loss = look.values("pg_loss") if look.series("pg_loss") is not None else look.values("total_loss")
    right = look.values("dpo_accuracy")
    rows = int(p["rows"])
    if inverted := _inverted(look, p) or _contradicted(look, p):
        return inverted
    if not look.settings.preference or len(right) < rows:
        return []
    now = tail(right, 20)
    equal = look.is_zero("dpo_reward_margin")  # then no pair counts as right, as none is strictly better
    at_start = len(loss) >= rows and abs(float(loss[-rows:].mean()) - p["ln2"]) < p["still"]
    if at_start and (equal or 0.45 <= now <= 0.55):
        long = len(loss) >= 2 * rows or int(look.steps[-1]) - int(look.steps[0]) >= p["long"] * rows
        level = WARNING if long and abs(float(loss[-2 * rows :].mean()) - p["ln2"]) < p["still"] else NOTICE
        text = f"The loss is at {num(tail(loss, 20))}, where it begins, and "
        text += "the margin of every pair is exactly 0." if equal else f"{percent(now)} of the pairs are right."
        return [Signal(level, text, (("dpo_accuracy", ""),), onset_step=int(look.steps[0]))]
    margin = look.values("dpo_reward_margin")
    if now > p["saturated"] and len(margin) and tail(margin, 20) > p["margin"]:
        text = (
            f"{percent(now)} of the pairs are right by a margin of {num(tail(margin, 20))}: nothing is left to learn."
        )
        held_out = validation(look)
        level = WARNING if held_out is not None and held_out < 1.0 else NOTICE
        return [Signal(level, text, (("dpo_accuracy", ""), ("dpo_reward_margin", "")), moved="dpo_reward_margin")]
    return beta_too_small(look, p, now) or _hardly_told_apart(look, p, now)


def _inverted(look: Look, p: Params) -> list[Signal]:
    """From the start on, fewer pairs are right than guessing gives, by more than chance, and the margin is below 0: the
    training pulls the wrong way. At the very first steps no pair is right, as both models are the same."""
    right, margin = look.values("dpo_accuracy"), look.values("dpo_reward_margin")
    rows = int(p["inverted_rows"])
    if not look.settings.preference or min(len(right), len(margin)) < rows:
        return []
    newest, wide = right[-rows:], margin[-rows:]
    beyond = (p["chance"] - float(newest.mean())) * sqrt(rows) / max(float(newest.std(ddof=1)), EPS)
    apart = -float(wide.mean()) * sqrt(rows) / max(float(wide.std(ddof=1)), EPS)
    if float(newest.mean()) >= p["inverted"] or min(beyond, apart) < p["errors"] or right[:rows].mean() >= p["chance"]:
        return []
    if look.settings.of_likelihood and not _drawn_apart(look):
        return []
    text = (
        f"Only {percent(float(newest.mean()))} of the pairs are right, fewer than guessing gives, by a mean margin of "
    )
    text += f"{num(float(wide.mean()))}: the training prefers the rejected answers."
    proofs = (("dpo_accuracy", ""), ("dpo_reward_margin", ""))
    return [Signal(CRITICAL, text, proofs, onset_step=int(look.steps[0]))]


def _drawn_apart(look: Look) -> bool:
    """Whether rejected answers have gained on chosen ones since the start. Without a reference model only that shows a
    wrong pull: the policy may have begun with less than half of the pairs right."""
    margin = look.facts.metric("dpo_reward_margin")
    return margin is not None and margin.since_start is not None and margin.since_start.direction < 0


def _contradicted(look: Look, p: Params) -> list[Signal]:
    """The training pairs are learnt, but fewer held-out pairs are right than guessing gives: the two sets disagree on
    which answer is better."""
    right, held_out = look.facts.metric("dpo_accuracy"), _held_out_pairs(look)
    if right is None or held_out is None or len(held_out.series) < LEAST_EVALUATIONS:
        return []
    newest = held_out.values[-int(p["evaluations"]) :]
    beyond = (p["chance"] - float(newest.mean())) * sqrt(len(newest)) / max(float(newest.std(ddof=1)), EPS)
    learnt = right.now.value >= p["weak"]
    never = held_out.values.max() < p["chance"]  # otherwise it was learnt and lost again
    if not (look.settings.preference and learnt and never and newest.max() < p["inverted"] and beyond >= p["errors"]):
        return []
    text = f"{percent(right.now.value)} of the training pairs are right, and of the validation pairs only "
    text += (
        f"{percent(float(newest.mean()))}, fewer than guessing gives: the two contradict each other on which answer "
    )
    text += "is the better one."
    proofs = (("dpo_accuracy", ""), ("val_score", ""))
    return [Signal(CRITICAL, text, proofs, onset_step=int(held_out.series.steps[0]))]


def _held_out_pairs(look: Look) -> MetricFacts | None:
    """The share of held-out pairs that are right; None if validation measures something else."""
    right, held_out = look.facts.metric("dpo_accuracy"), look.facts.metric("val_score")
    same = right is not None and held_out is not None and held_out.series.key.endswith(right.series.key)
    return held_out if same else None


def _hardly_told_apart(look: Look, p: Params, now: float) -> list[Signal]:
    """Hardly more pairs are right than guessing gives, and their number does not grow. A warning if the held-out pairs
    show the same."""
    right = look.facts.metric("dpo_accuracy")
    if right is None or not logged_for(look, "dpo_accuracy", 2 * p["rows"]):
        return []
    by_chance = p["chance"] - LIMIT * right.now.se  # by chance the share is as often below half as above
    if not by_chance <= now < p["weak"]:
        return []
    window = max(int(p["rows"]), int(NEWER * len(right.series)))
    if look.trend("dpo_accuracy", window).direction > 0:
        return []
    guessed = "hardly more than" if now > p["chance"] else "about"
    text = f"{percent(now)} of the pairs are right, {guessed} the half that guessing gives, and no more than "
    text += f"{window} rows before"
    held_out = _held_out_pairs(look)
    told = held_out.now if held_out is not None and len(held_out.series) >= LEAST_EVALUATIONS else None
    text += "" if told is None else f". Of the validation pairs {percent(told.value)} are right"
    level = WARNING if told is not None and told.value < p["held_out"] else NOTICE
    proofs = (("dpo_accuracy", ""), ("dpo_reward_margin", ""))
    return [Signal(level, f"{text}.", proofs, onset_step=int(look.steps[0]), marks=(Mark.COSTS,))]


@rule("dpo-accuracy-falls", Look)
def dpo_accuracy_falls(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Fewer pairs are ranked correctly than at the best, measured as a share of what was learnt beyond chance."""
    right = look.facts.metric("dpo_accuracy")
    if right is None or not look.settings.preference or not enough(p["rows"], right.series.steps):
        return []
    if turned := pairs_turned(look, p["chance"], p["least_learnt"]):
        return [turned]
    best = right.peak
    if best is None or not right.below_best or best.value - p["chance"] < p["least_learnt"]:
        return []
    lost = (best.value - right.now.value) / (best.value - p["chance"])
    if lost < p["least"]:
        return []
    level = CRITICAL if lost >= p["most"] else WARNING if lost >= p["half"] else NOTICE
    text = f"{percent(right.now.value)} of the pairs are told apart, where it was {percent(best.value)} at the best, "
    text += f"around step {best.step}."
    proofs, steps = ((right.name, ""), ("dpo_reward_margin", "")), right.series.steps
    step = int(steps[fall_begins(right.values, int(steps.searchsorted(best.step)), best.value, right.now.value)])
    return [Signal(level, text, proofs, onset_step=step)]


@rule("dpo-validation-loss-rises", Look)
def dpo_validation_loss_rises(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The loss of held-out pairs is above its lowest value, and the loss of the training pairs did not rise with it. A
    warning if much of its fall is lost and no validation score rose meanwhile: the loss of a few clearly wrong pairs
    may rise while more pairs are ranked correctly."""
    held_out = look.facts.metric("val_loss")
    if held_out is None or not look.settings.preference or len(held_out.series) < p["least"]:
        return []
    lowest, train = held_out.peak, _loss(look)
    if lowest is None or train is None or not (held_out.below_best or _rises_in_order(held_out, lowest.step)):
        return []
    since = train.since_step(lowest.step)
    course = None if since is None else since.since_start
    if since is None or course is None or course.direction > 0:
        return []
    fallen, risen = held_out.first - lowest.value, held_out.now.value - lowest.value
    text = f"The loss of validation pairs rose from {num(lowest.value)} around step {lowest.step} to "
    text += f"{num(held_out.now.value)}, and that of the training pairs went {num(since.start.value)} → "
    text += f"{num(since.end.value)}."
    level = NOTICE if risen < p["half"] * fallen or validation_gained(look, lowest.step) else WARNING
    scored = look.series("val_score") is not None
    proofs = (("val_loss", ""), (train.name, ""), *([("val_score", "")] if scored else []))
    return [Signal(level, text, proofs, onset_step=lowest.step)]


def _rises_in_order(loss: MetricFacts, lowest: int) -> bool:
    """Whether a loss with few evaluations, too few for standard errors, rises from its lowest value by their order."""
    since = loss.since_step(lowest) if loss.since_peak is None else None
    return since is not None and since.ordered == -loss.better


def _loss(look: Look) -> MetricFacts | None:
    """The loss of the training pairs."""
    return look.facts.metric("pg_loss") or look.facts.metric("total_loss")
