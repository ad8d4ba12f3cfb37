"""A reward that does not move: at one end of its scale, from the start, after a rise, within its noise, or under its
penalty."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from rltui.evidence import words
from rltui.evidence.clock import capped, enough, worth
from rltui.evidence.effects import LIMIT, Effect, between, chance, noise
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import Mark
from rltui.evidence.never_rose import never_rose
from rltui.evidence.shifts import LOUDER, louder
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import flat, trend
from rltui.plots.numbers import percent
from rltui.prose import sentences
from rltui.rules.base import (
    PARTS,
    Memory,
    Params,
    compared,
    head,
    held,
    little_gained,
    logged_for,
    loud,
    never_right,
    opened,
    reward_course,
    reward_name,
    right_held_out,
    rule,
    seldom_right,
    side_by_side,
    since,
    solved,
    tail,
    told,
)
from rltui.rules.noise_of_level import of_its_level
from rltui.rules.traits import Trait
from rltui.rules.unmoved import held_back, no_movement, no_rate, random_text
from rltui.rules.ways import LEAST, way_of
from rltui.rules.wider_batch import prompts_alike, wider_batch
from rltui.run.sums import kind_of_level, level_of
from rltui.run.table import Series


@rule("reward-floor", Look)
def reward_floor(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """No success for many rows in a row."""
    profile = look.profile
    reward = look.series(look.reward)
    if reward is None or len(reward) < p["warmup"] or profile.floor is None:
        return []
    if profile.floor > 0 and profile.spread == 0 and len(look.family(PARTS)) < 2:
        return []  # a single number above 0: the floor is unknown
    name = "score_max" if look.reward == "score_mean" else "reward_max"
    most = look.series(name)
    top = reward.values if most is None or len(most) != len(reward) else most.values
    best = look.blocks(look.reward if top is reward.values else name)
    seen = profile.spread if best is None else float(best.highs.max()) - profile.floor  # a scale of 1 may be a guess
    limit = profile.floor + p["near"] * min(profile.spread, max(0.0, seen))
    opened_before = held(look, "reward-floor")
    if top[-1] > limit and not opened_before:
        return []
    since, (begin, end) = _at_floor(top[-MOST_ROWS:] > limit, longest=opened_before)
    if end - begin < 3:
        return []
    before = max(0, len(top) - MOST_ROWS)
    at_floor = reward.steps[before + begin : before + end]
    level = WARNING if enough(p["warn_rows"], at_floor) else NOTICE
    level = CRITICAL if enough(p["critical_rows"], at_floor) else level
    start, rows = int(reward.steps[before + since]), len(top) - before - since
    failed = int((top[before + since :] <= limit).sum())
    # without a date: the finding keeps the one from its first report
    where = f"at the floor of {num(profile.floor)} "
    newest = f"{rows} rows" if rows == len(top) else f"the newest {rows} rows"
    where += f"in {newest}" if failed == rows else f"in {failed} of {newest}"
    summary = f"{reward_name(look)} is {where.replace('the', 'its', 1)}"
    summary += ": not one success so far." if failed == len(top) else "."
    proofs = [(look.reward, where)]
    cut = look.values("response_clip_ratio")
    if len(cut) and tail(cut, 10) > 0.5:
        proofs.append(
            (
                "response_clip_ratio",
                f"{percent(tail(cut, 10))} of the responses are truncated, and those cannot succeed",
            )
        )
    return [Signal(level, summary, tuple(proofs), onset_step=start)]


MOST_ROWS = 2000
"""The number of newest rows in which a floor is looked for."""
STRAY, SELDOM = 2, 0.05
"""Successes are strays if at most this many consecutive rows, and at most this share of all rows, hold one: the reward
is at its floor before and after them. As many more than the share (`STRAY`) may lie close together by chance."""


def _at_floor(success: NDArray[np.bool_], longest: bool) -> tuple[int, tuple[int, int]]:
    """`success`: whether each row holds a success. Returns where the time at the floor began, including strays, and the
    begin and end of its newest stretch without a success, or of its longest one."""
    n = len(success)
    edges = [0, *(np.flatnonzero(np.diff(success)) + 1).tolist(), n]
    since, runs, strays = n, [(n, n)], 0
    for first, last in zip(reversed(edges[:-1]), reversed(edges[1:]), strict=True):
        if not success[first]:
            since = first
            runs.append((first, last))
            continue
        strays += last - first
        if last - first > STRAY or strays > STRAY + SELDOM * (n - first):
            break
    newest = runs[1] if len(runs) > 1 and runs[1][1] == n else runs[0]
    return since, max(runs, key=lambda run: run[1] - run[0]) if longest else newest


@rule("reward-saturated", Look)
def reward_saturated(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Reward at its ceiling and no variance left to learn from."""
    profile = look.profile
    reward = look.values(look.reward)
    window = worth(p["window"], len(reward))
    if not logged_for(look, look.reward, p["warmup"] + p["window"]):
        return []
    floor, ceiling, known = profile.bottom, profile.ceiling, "ceiling"
    if floor is None or ceiling is None:
        floor, ceiling, known = *_own_range(look), "the best that it reached"
    span = ceiling - floor
    if span <= 0:
        return []
    newest = reward[-window:]
    level_now = (level_of(newest) - floor) / span
    cut = look.facts.cut
    if cut is not None and cut.value > p["cut"]:
        return []  # cut answers are not the best possible: the length limit is the ceiling
    if never_right(look):
        return []  # the ceiling is that of the other parts
    right = right_held_out(look)  # a noisy reward is seldom at the best that it reached
    eased = level_now < p["notice"] and not right
    if eased and not held(look, "reward-saturated"):
        return []
    dead, why = _no_signal(look, p, p["window"])
    level = EASED if eased else WARNING if dead and (level_now >= p["level"] or right) else NOTICE
    if level == NOTICE and ceiling != profile.ceiling and not held(look, "reward-saturated"):
        return []
    begun = (head(reward, window) - floor) / span
    too_easy = min(begun, level_now) >= p["level"]  # not a success of this run

    def summary() -> str:
        text = f"{reward_name(look)} is at {percent(level_now)} of its range ({known} {num(ceiling)}){why}."
        text += f" It was at {percent(begun)} from the start: there is little to learn." if too_easy else ""
        return text + (" Validation finds nearly every answer right." if right and level == WARNING else "")

    proofs = [(look.reward, f"{kind_of_level(newest)} of the last {window} rows {num(level_of(newest))}")]
    proofs += [(n, "") for n in ("frac_reward_zero_std", "reward_std", "grad_norm") if look.series(n) is not None][:2]
    marks = (Mark.COSTS,) if too_easy and level > EASED else ()
    onset = _reached(look, floor + p["level"] * span)
    return [Signal(level, summary, tuple(proofs), onset_step=onset, marks=marks)]


def _own_range(look: Look) -> tuple[float, float]:
    """The range of a reward with unknown bounds, from its floor or its start to the best that it reached, which is then
    the best that this training can reach. Only if the reward has gained, has lost nothing, and the log shows whether
    groups agree; otherwise an empty range."""
    score = look.facts.metric(look.reward)
    told = held(look, "reward-saturated")  # it stays so until the level falls
    if score is None or look.facts.dead_groups is None or (not told and (not _rose(score) or score.below_best)):
        return 0.0, 0.0
    floor, ceiling = look.profile.floor, look.profile.ceiling
    top = float(score.values.max()) if ceiling is None else ceiling
    return (score.start.value if floor is None else floor), top


def _no_signal(look: Look, p: Params, window: float) -> tuple[bool, str]:
    dead, right = look.facts.dead_groups, look.values("frac_groups_all_right")
    if dead is not None:
        return dead.value >= p["zero_variance"], f" and {words.share(dead, 'groups agree')}"
    if len(right):
        now = tail(right, window)
        return now >= p["zero_variance"], f" and {percent(now)} of the groups are all right"
    spread = look.values("reward_std")
    if len(spread):
        now = tail(spread, window)
        return now < p["spread"] * look.profile.spread, f" and the batch spread is {num(now)}"
    gradient = look.values("grad_norm")
    if len(gradient):
        ratio = tail(gradient, window) / max(head(gradient, window), 1e-12)
        still = "the gradient is" if ratio < p["gradient"] else "the gradient still is"
        return ratio < p[
            "gradient"
        ], f", and {still} {percent(ratio)} of its start ({compared(look, 'grad_norm', window)})"
    return False, ""


def _reached(look: Look, level: float) -> int | None:
    """First step since which the reward has been at the level on most rows."""
    series = look.series(look.reward)
    if series is None:
        return None
    recent = series.values[-2000:] >= level
    if len(recent) < 10:
        return int(series.steps[0])
    share = np.convolve(recent, np.full(10, 0.1), mode="valid")
    below = np.flatnonzero(share < 0.5)
    begin = int(below[-1]) + 5 if len(below) else 0
    return int(series.steps[len(series) - len(recent) + min(begin, len(recent) - 1)])


def _detectable(noise: float, rows: int) -> float:
    """Smallest difference of two windows that would have been detected: 2.8 standard errors."""
    return 2.8 * noise * sqrt(2.0 / rows)


def _gain(score: MetricFacts, p: Params, known: bool) -> Effect | None:
    """The present score against its start. None if there are too few points. `known`: the lack of a gain was already
    reported. The question is then asked at each row, so the gain must exceed the best of many noisy means."""
    x, steps = score.series.values, score.series.steps
    rows = worth(p["window"], len(x))
    first, last = score.within(None, int(steps[rows - 1]), rows), score.after(int(steps[0]), rows)
    if first is None or last is None:
        return None
    return between(first, last, LIMIT + chance(len(x), rows) if known else LIMIT)


def _rose(score: MetricFacts) -> bool:
    """Whether the score rose from its first window to its last, as every text describes its course."""
    return score.since_start is not None and score.since_start.direction == score.better


@rule("reward-flat-from-start", Look)
def reward_flat_from_start(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """No gain since the start, or next to none of the possible gain. A warning if something explains why (such as a
    policy that does not move), mostly only after enough rows. Once reported, it ends only with a clear gain, in the
    whole course or between its ends, not when the noise happens to be high or low."""
    score, blocks = look.facts.metric(look.reward), look.blocks(look.reward)
    if score is None or blocks is None or not logged_for(look, look.reward, p["rows"]):
        return []
    known = held(look, "reward-flat-from-start")
    gain = _gain(score, p, known)
    if gain is None or opened(look, Trait.AT_FLOOR) or solved(look):
        return []
    if loud(look, Trait.REWARD_FALLS):  # its last text must not deny the fall
        said = f"{reward_name(look)} had not risen from its start before it fell."
        return (
            [Signal(EASED, said, ((look.reward, ""),), onset_step=int(score.series.steps[0]), marks=(Mark.NOT_YET,))]
            if known
            else []
        )
    little = little_gained(look, score, look.profile.ceiling)
    marks = (Mark.NOT_YET, Mark.COSTS) if little else (Mark.NOT_YET,)
    if little and (_rose(score) or gain.direction == score.better):
        why = no_movement(look, p) or held_back(look)
        proofs = [(look.reward, f"noise {num(score.noise)} a row")]
        gained = f"{reward_name(look)} gained next to nothing in {len(score.values)} rows"
        gained = f"{gained}: {num(score.start.value)} → {num(score.end.value)} (means of both ends), {little}"
        level, onset = WARNING if why else NOTICE, int(score.series.steps[0])
        return [Signal(level, sentences(gained, why), tuple(proofs), onset_step=onset, marks=marks)]
    whole = trend(blocks.levels, len(blocks.levels)).direction if not known or _rose(score) else 0
    if known and (whole == score.better or (gain.direction == score.better and abs(gain.value) >= gain.smallest)):
        return []
    unlearnt = _unlearnt(look, score, p)
    if unlearnt:
        memory["unlearnt"] = 1.0
    if (not known or "unlearnt" in memory) and score.better in (gain.direction, whole) and not unlearnt:
        memory.clear()
        return []
    x, why = score.values, unlearnt or no_movement(look, p) or seldom_right(look, p["seldom"], int(p["window"]))
    why = why or random_text(look, p) or (held_back(look) if little else "")
    if not why and _rose(score):
        return []
    fell = gain.direction == -score.better or score.lost
    moved = (
        "is below where it began"
        if fell
        else "shows no sure gain"
        if gain.direction or _rose(score)
        else "is back where it began"
        if score.below_best
        else "has not moved beyond its noise"
    )
    unseen = gain.smallest

    def summary() -> str:
        text = f"{reward_name(look)} {moved} in {len(x)} rows: {num(head(x, p['window']))} → "
        text += f"{num(tail(x, p['window']))} ({compared(look, look.reward, p['window'])})"
        return sentences(text, why or ("" if fell else f"a change below {num(unseen)} could not be seen"))

    proofs = [(look.reward, f"noise {num(score.noise)} a row")]
    proofs += [(n, "") for n in ("kl_ref", "lr", "grad_norm") if why and look.logged(n) is not None]
    enough_rows = no_rate(look, p) or logged_for(look, look.reward, p["warn_rows"])
    level = WARNING if why and enough_rows else NOTICE
    if logged_for(look, look.reward, p["long_rows"]) and not _learns_elsewhere(look):
        marks = (Mark.NOT_YET, Mark.COSTS)  # many steps without a gain
    return [Signal(level, summary, tuple(proofs), onset_step=int(score.series.steps[0]), marks=marks)]


def _unlearnt(look: Look, score: MetricFacts, p: Params) -> str:
    """A sentence if the reward has fallen since its first rows, little by little and by more than the lowest of many
    means does by chance, and no validation set rose."""
    course = score.since_start
    if course is None or course.errors > -LIMIT - chance(len(score.series), score.start.points):
        return ""
    if not never_rose(score, p["unlearnt"]) or _learns_elsewhere(look):
        return ""
    return "it was at its best in its first rows, and has fallen little by little since: updates unlearn what is right"


def _learns_elsewhere(look: Look) -> bool:
    """Whether validation has risen since its start: the training prompts may have become harder."""
    found = look.facts.validation
    if found is not None and found.since_start is not None:
        return found.since_start.direction == found.better
    ways = [way_of(one.values) for one in look.facts.validation_sets if len(one.values) >= LEAST]
    return any(way.sure and way.end > way.start for way in ways)


def _coefficient(look: Look, p: Params) -> float | None:
    """Weight of the KL term in the loss: as configured, otherwise as the ratio of weighted KL to plain KL shows."""
    if look.settings.kl_where == "loss":
        return look.settings.kl_coef
    weighted, kl = side_by_side(look, "kl_ref_weighted", "kl_ref")
    if look.settings.kl_where is not None or not len(kl) or tail(kl, p["window"]) <= 0:
        return None
    return tail(weighted, p["window"]) / tail(kl, p["window"])


@rule("kl-dominates", Look)
def kl_dominates(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """At the distance that learning needs, the penalty outweighs what the advantages pay for it."""
    kl = look.values("kl_ref")
    x = look.values(look.reward)
    if not (logged_for(look, "kl_ref", p["rows"]) and logged_for(look, look.reward, p["rows"])):
        return []
    coef = _coefficient(look, p)
    if not coef:
        return []
    distance = max(tail(kl, p["window"]), p["learning_kl"])
    share = coef * distance / p["signal"]
    if share < p["notice"]:
        return []
    stuck = trend(x).direction <= 0 and look.facts.errors(look.reward) < 2.0 and not solved(look)
    runs = trend(kl, 200).direction > 0  # the penalty does not hold a KL that runs away
    level = WARNING if share >= p["warn"] and stuck and not runs else NOTICE
    summary = (
        f"With a KL coefficient of {num(coef)} the penalty at {num(distance)} nats weighs "
        f"{percent(share)} of the policy gradient"
    )
    summary = sentences(summary, reward_course(look) if stuck else "")
    series, onset = look.series("kl_ref"), int(look.steps[0])
    if (
        series is not None and coef * p["learning_kl"] / p["signal"] < p["notice"]
    ):  # the coefficient alone is not too large
        onset = int(series.steps[since(kl >= p["notice"] * p["signal"] / coef)])
    return [Signal(level, summary, (("kl_ref", ""), told(look)), onset_step=onset)]


@rule("reward-plateau", Look)
def reward_plateau(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Reward rose and has stopped rising. Only a note: some runs rose again after thousands of level steps."""
    x = look.values(look.reward)
    rows = int(max(capped(p["window_rows"], len(x)), p["window_share"] * len(x)))
    if len(x) < 2 * rows or look.facts.errors(look.reward) < p["gain_se"]:
        return []
    series, known = look.series(look.reward), held(look, "reward-plateau")
    if series is None or (known and _risen_since(look, memory)):
        return []
    recent = trend(x[-rows:], rows) if rows <= 200 else look.trend(look.reward)
    if not flat(recent):
        return []
    now = num(tail(x, 20))

    def summary() -> str:
        unseen = num(_detectable(recent.noise, rows // 2))
        text = f"{reward_name(look)} has been flat at {now} for the last {rows} rows "
        return f"{text}(a gain below {unseen} could not be seen)."

    proofs = ((look.reward, f"flat over {rows} rows, median of the newest {now}"),)
    onset = int(series.steps[-rows])  # not the turn, where the reward still rose
    if not known or "began" not in memory:
        memory["began"] = onset
    return [Signal(NOTICE, summary, proofs, onset_step=onset)]


def _risen_since(look: Look, memory: Memory) -> bool:
    """Whether the reward has risen since the plateau began: it is then not a plateau. Each stretch of a slow rise looks
    flat by itself. Another plateau may begin once this one is closed."""
    facts = look.facts.metric(look.reward)
    since = facts.since_step(int(memory["began"])) if facts is not None and "began" in memory else None
    return since is not None and since.since_start is not None and since.since_start.direction == since.better


def _since_noisy(series: Series, now: float, memory: Memory) -> int | None:
    """First step since which the reward jumps more. `memory` keeps the noise before it, as those rows may lie further
    back than a change is looked for. If the reward had no noise before, the increase is unknown."""
    grown = louder(series.steps, series.values)
    if grown is not None:
        if (before := noise(series.values[: series.steps.searchsorted(grown)])) > 0:
            memory.update(since=grown, before=before)
    elif memory and now < LOUDER * memory["before"]:
        memory.clear()
    return int(memory["since"]) if memory else None


@rule("reward-noise-dominates", Look)
def reward_noise_dominates(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The batch mean jumps so much from row to row that no plausible trend would show, or single rewards vary that
    much."""
    if (wider := wider_batch(look, p) or prompts_alike(look)) is not None:
        return [wider]
    window = int(p["window"])
    if not logged_for(look, look.reward, max(p["rows"], window)) or look.profile.spread <= 0:
        return []
    series, way = look.series(look.reward), look.trend(look.reward, window)
    share = way.noise / look.profile.spread
    if share < p["noise"] / 2.0:
        return []  # too little even for a reward that became noisier, and that is costly to check
    grown, before = None if series is None else _since_noisy(series, way.noise, memory), inf
    if grown is not None and series is not None:
        before = memory["before"] * of_its_level(look, series, grown)
        grown = grown if way.noise >= LOUDER * before else None
    if share < p["noise"] / (1.0 if grown is None else 2.0) or (grown is None and abs(way.total) >= way.noise):
        return []
    summary = f"{reward_name(look)} jumps by {num(way.noise)} from row to row, {percent(share)} of its range"
    if grown is not None:
        summary += f", and by {num(memory['before'])} before step {grown}."
    else:
        summary += ": a trend below that does not show."
    proofs = ((look.reward, f"noise {num(way.noise)}, fitted change {num(way.total)}"),)
    times = 0.0 if grown is None else way.noise / before
    level = WARNING if share >= p["noise"] and times >= p["times"] else NOTICE
    return [Signal(level, summary, proofs, onset_step=grown if grown is not None else int(look.steps[0]))]
