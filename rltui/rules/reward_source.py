"""The source of the reward: a grader that gives no number, the same lowest number to every answer, or another scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rltui.evidence import words
from rltui.evidence.clock import enough, worth
from rltui.evidence.lifted import lifted
from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.one_score import BOUNDS, one_score
from rltui.evidence.outages import POLICY, Outage
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import sd_m
from rltui.evidence.turned import AFTER_A_GAP, relearnt, turned
from rltui.plots.numbers import percent
from rltui.rules.alone_in_training import not_followed
from rltui.rules.base import PARTS, Memory, Params, dead_groups, logged_for, policy_labels, reward_name, rule, tail
from rltui.rules.gains import validation_gained
from rltui.rules.logged import holes
from rltui.rules.minus_its_part import minus_its_part
from rltui.rules.part_source import another_policy, part_at_fault
from rltui.run.sums import median
from rltui.run.table import Series

LEAST = 10
"""Rows that show a level."""
HOLES = 50
"""Newest rows that show whether the log has holes."""
FRESH = AFTER_A_GAP + 1
"""Points after a change of the reward's sign within which it is found."""
RETURNS = 3
"""Fewest times that the reward came back within one row: once or twice may be two outages."""


@rule("reward-function-fault", Look)
def reward_function_fault(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The reward was not measured in the newest rows: an outage that lasts or comes and goes, no number at all, or the
    same number again and again. Or its sign changed at one row, or it counts one of its parts with the wrong sign, or
    validation does not follow its leap."""
    graded = tuple(dict.fromkeys((look.reward, "reward_mean")))  # the judged reward and the trained one
    judged = {name: series for name in graded if (series := look.series(name)) is not None}
    parts = look.family(PARTS)
    for name, series in {**judged, **(parts if len(parts) > 1 else {})}.items():
        if (over := _turned_over(look, name, series, memory)) is not None:
            return [over]
    newest = look.outages[-1] if look.outages else None
    lasting = [_out(look, newest, p)] if newest is not None and newest.lasts else []
    if lasting and lasting[0].level >= WARNING:
        return lasting
    flaky = next((found for name in graded if (found := _comes_and_goes(look, name, p))), [])
    missing = flaky or lasting or _no_number(look, graded, p)
    constant = part_at_fault(look, p) or _repeats(look, p) or _never_differs(look, p)
    if found := max((missing, constant), key=lambda told: told[0].level if told else 0):
        return found
    minus = minus_its_part(look)
    return [minus] if minus is not None else not_followed(look, p, memory)


def _out(look: Look, outage: Outage, p: Params) -> Signal:
    lasted = look.steps[outage.first_row : outage.last_row + 1][-outage.exact :]
    lost = enough(p["lost_rows"], lasted) and outage.exact >= p["lost_share"] * look.n
    level = CRITICAL if lost else WARNING if outage.exact >= p["outage_rows"] else NOTICE
    rows = "in 1 row" if outage.exact == 1 else f"for {outage.exact} rows"
    text = (
        f"{reward_name(look, outage.of)} is at {num(outage.value)} to the last digit {rows}, {num(outage.level)} before"
    )
    still = policy_labels(look)
    if still:
        text += f", while the policy is as before ({', '.join(still)})"
    text += ": the grader fails, not the policy. "
    text += "Updates on it teach nothing." if lost else "This is no reason to stop: these rows count nowhere."
    proofs = [
        (outage.of, f"{num(outage.value)} {rows}"),
        *((name, "as before") for name in POLICY if look.series(name)),
    ]
    return Signal(level, text, tuple(proofs), onset_step=outage.since)


def _turned_over(look: Look, name: str, series: Series, memory: Memory) -> Signal | None:
    """A reward, or a part of it, has had the opposite sign since one row. This ends when it is back at half of its old
    value without the policy having learnt the opposite, or when validation shows that the policy is not trained the
    wrong way round."""
    turn, read = f"turned {name}", f"read {name}"
    if turn not in memory:
        found = turned(series, look.logged, int(memory.get(read, 0)) - FRESH)
        memory[read] = len(series)
        if found is None:
            return None
        memory |= {turn: found.since, f"before {name}": found.before, f"after {name}": found.after}
    before, after, step = memory[f"before {name}"], memory[f"after {name}"], int(memory[turn])
    back = median(series.values[series.steps.searchsorted(step) :][-LEAST:]) / before > 0.5
    wrong = back and not _keeps(look, step) and relearnt(series, look.logged, step, before, after)
    if _learns(look, step) or (back and not wrong):
        del memory[turn]
        return None
    part = name not in BOUNDS
    called = f"The part {name} of the reward" if part else reward_name(look, name)
    text = f"{called} went from {num(before)} to {num(after)} at once at step {step}, beyond all values before, and "
    text += "the policy was as before: as if its sign were turned."
    text += " It is up again only as the policy has learnt what it pays for since." if wrong else ""
    proofs = ((series.key if part else name, f"{num(before)} before, {num(after)} after"),)
    return Signal(CRITICAL, text, proofs, subject=name if part else None, onset_step=step)


def _learns(look: Look, step: int) -> bool:
    """Whether validation has gained since a step and kept its sign, so that it is not reversed as well."""
    score = look.facts.validation
    before = None if score is None else score.median_before(step)
    if score is None or before is None or before * score.now.value < 0:
        return False
    return validation_gained(look, step)


def _keeps(look: Look, step: int) -> bool:
    """Whether validation has kept at least half of its value from before a step: nothing else was learnt since."""
    score = look.facts.validation
    before, since = (None, None) if score is None else (score.median_before(step), score.median_after(step + 1, FRESH))
    return before is not None and since is not None and since * before > 0.5 * before * before


def _no_number(look: Look, graded: Sequence[str], p: Params) -> list[Signal]:
    """Rewards logged as NaN: the reward function returned nothing for whole batches."""
    window = int(p["window"])
    for name in graded:
        logged = look.logged(name)
        if logged is None or len(logged) < p["warmup"]:
            continue
        bad = np.isnan(logged.values[-window:])
        share = np.count_nonzero(bad) / len(bad)
        if share <= p["share"]:
            continue
        step = int(logged.steps[len(logged) - len(bad) + int(bad.argmax())])
        level = WARNING if bad.sum() >= p["warn_rows"] else NOTICE
        text = f"The reward is NaN in {percent(share)} of the last {len(bad)} rows"
        if 2.0 * max(holes(look, HOLES), default=0.0) >= share:  # a reward function cannot break the clock
            level, text = NOTICE, f"{text}, as are metrics that cannot overflow: the log has holes."
        else:
            text += ": the reward function gave no number."
        return [Signal(level, text, ((name, f"{int(bad.sum())} rows without a number"),), onset_step=step)]
    return []


def _comes_and_goes(look: Look, name: str, p: Params) -> list[Signal]:
    """Batches with only the lowest reward, between batches as good as before. No policy forgets everything in one
    update and has it back after the next. A hard task among others shows such batches from the start."""
    logged = look.logged(name)
    finite = None if logged is None else logged.finite()
    window = int(p["flaky_window"])
    if finite is None or len(finite) < 2 * window:
        return []
    x = finite.values
    newest = x[-window:]
    if np.count_nonzero(newest == newest.min()) < p["flaky_rows"]:
        return []  # cheaper than looking at the whole column
    lowest = float(x.min())
    out = np.flatnonzero(x == lowest)
    recent, before = out[out >= len(x) - window], out[out < len(x) - window]
    begun = recent if not len(before) else out
    if len(recent) < p["flaky_rows"] or begun[0] < window or recent[-1] < len(x) - worth(p["fresh"], len(x)):
        return []
    ahead, since = x[begun[0] - window : begun[0]], x[begun[0] :]
    rest = since[since > lowest]
    returns = np.count_nonzero((since[:-1] == lowest) & (since[1:] > lowest))
    noise = max(sd_m(ahead), sd_m(rest)) if len(rest) >= LEAST else 0.0
    if returns < RETURNS or noise <= 0 or min(median(ahead), median(rest)) - lowest < p["flaky_sd"] * noise:
        return []
    step = int(finite.steps[begun[0]])
    text = f"{reward_name(look, name)} was {num(lowest)} to the last digit in {len(begun)} rows since step {step}, and "
    text += f"{num(median(rest))} in those between: the grader fails in some of them, not the policy."
    return [Signal(WARNING, text, ((name, f"{num(lowest)} in {len(begun)} rows"),), onset_step=step)]


def _repeats(look: Look, p: Params) -> list[Signal]:
    """The reward is the same number to the last digit although it varied from row to row before, and it is not an end
    of the range. Batches of different answers do not earn the same; a policy that always gives the same answers may."""
    series, rows = look.series(look.reward), int(p["repeat_rows"])
    if series is None or len(series) < 3 * rows:
        return []
    x = series.values
    if (x[-rows:] != x[-1]).any():
        return []  # true for most runs at most rows
    same = np.flatnonzero(x != x[-1])
    begin = int(same[-1]) + 1 if len(same) else 0
    if len(x) - begin < rows or begin < 2 * rows:
        return []
    ahead = x[begin - 2 * rows : begin]
    dead, entropy = dead_groups(look), look.values("entropy")
    decided = (dead is not None and dead > p["agree"]) or (len(entropy) > 0 and tail(entropy, rows) < p["certain"])
    differ = dead is not None and dead < p["differ"]  # at an end of the range, groups would agree
    inside = differ or bool(x[:begin].min() < x[-1] < x[:begin].max())
    if decided or not inside or np.count_nonzero(ahead[1:] == ahead[:-1]) > p["repeat_share"] * len(ahead):
        return []
    step = int(series.steps[begin])
    number = num(float(x[-1]))
    text = f"{reward_name(look)} is {number} to the last digit in {len(x) - begin} rows since step {step}, and "
    text += "varied from row to row before: a number is repeated, and nothing is measured."
    lost = max(len(x) - begin, int(series.steps[-1]) - step)
    level = CRITICAL if lost >= p["lost_rows"] and not another_policy(look, step) else WARNING
    return [Signal(level, text, ((look.reward, f"exactly {number}"),), onset_step=step)]


def _never_differs(look: Look, p: Params) -> list[Signal]:
    """From the first row on, every answer got the same number above 0, although answers differ in length. If the number
    is 0 or less, perhaps no answer was right; if validation is as high as it can be, perhaps all were."""
    found = one_score(look.reward, look.logged)
    if found is None or not found.all_rows or found.value <= 0 or found.rows < p["repeat_rows"] or found.alike:
        return []
    if len(parts := look.family(PARTS)) > 1 and any(float(one.values.max()) <= 0.0 for one in parts.values()):
        return []  # the parts show which one all answers earn and which one none does
    held_out = look.facts.metric("val_score")
    if held_out is not None and p["right"] <= held_out.now.value <= 1.0:
        return []
    number = num(found.value)
    text = f"Every answer got {number} in all {found.rows} rows"
    if found.lengths is not None:
        low, high = (num(length) for length in found.lengths)
        text += f", while their mean length went from {low} to {high}" if low != high else ""
    text += ": the reward tells no answer from another, and nothing can be learnt from it."
    level = CRITICAL if logged_for(look, look.reward, p["lost_rows"]) else WARNING
    return [Signal(level, text, ((look.reward, f"exactly {number}"),), onset_step=found.since)]


@rule("reward-scale-shift", Look)
def reward_scale_shift(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The reward changed to another scale: level and spread changed by one factor at once, with the policy as before.
    Or only its level leapt: usually a note, as new prompts also cause that."""
    found = look.rescale
    if found is None:
        return _leapt(look, memory)
    times = f"{num(found.shown)} times" if found.shown > 1 else f"1/{num(1 / found.shown)} of"
    name = words.called(look.facts, found.of).capitalize()
    text = f"{name} is {times} what it was from step {found.since} on ({num(found.before)} before, "
    text += f"{num(found.after)} after), and so is its {'noise from row to row' if found.alone else 'spread'}"
    still = policy_labels(look)
    if still:
        text += f", while the policy is as before ({', '.join(still)})"
    text += ": another scale, no gain and no loss. Rewards before that step count nowhere."
    proofs = [(found.of, f"{num(found.before)} before, {num(found.after)} after")]
    proofs += [(name, "") for name in ("reward_std", *POLICY) if look.series(name) is not None]
    level = WARNING if look.n - found.first_row >= p["rows"] else NOTICE
    return [Signal(level, text, tuple(proofs), onset_step=found.since)]


def _leapt(look: Look, memory: Memory) -> list[Signal]:
    """The reward leapt beyond all earlier values with the policy as before: that rise is not a gain."""
    series = look.series(look.reward)
    if series is None:
        return []
    if "leapt" not in memory:
        most = "score_max" if look.reward == "score_mean" else "reward_max"
        found = lifted(series, look.logged, int(memory.get("seen", 0)) - LEAST, most)
        memory["seen"] = len(series)
        if found is None:
            return []
        memory |= {"leapt": found.since, "before": found.before, "after": found.after}
        if found.top is not None:
            memory["top"] = found.top
    before, after, step = memory["before"], memory["after"], int(memory["leapt"])
    text = (
        f"{reward_name(look)} went from {num(before)} to {num(after)} at once at step {step}, beyond all values before"
    )
    proofs = ((look.reward, f"{num(before)} before, {num(after)} after"),)
    if "top" in memory:
        text += f", and above {num(memory['top'])}, the most that an answer could earn until then: another grader, "
        text += "weight or bonus, and no gain."
        return [Signal(WARNING, text, proofs, onset_step=step, marks=(Mark.COSTS,))]
    if (followed := _followed(look, step, after - before)) is not None:
        was, now = followed
        text += f", and validation with it, {num(was)} to {num(now)}, while what else is logged of the policy was as "
        text += "before: other weights, or easier prompts in both."
        return [Signal(NOTICE, text, proofs, onset_step=step)]
    text += ", while the policy was as before: another grader, reward model or kind of prompts, and no gain."
    return [Signal(NOTICE, text, proofs, onset_step=step, marks=(Mark.COSTS,))]


def _followed(look: Look, step: int, leap: float) -> tuple[float, float] | None:
    """The values of the evaluations before and after the leap, from the first validation set that rose by half of it.
    None if there is none."""
    for one in look.facts.validation_sets:
        at = int(one.series.steps.searchsorted(step))
        if 0 < at < len(one.values) and one.values[at] - one.values[at - 1] >= leap / 2.0:
            return float(one.values[at - 1]), float(one.values[at])
    return None
