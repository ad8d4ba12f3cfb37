"""Length of the responses, and responses that are cut."""

from __future__ import annotations

from math import sqrt

import numpy as np

from rltui.evidence import words
from rltui.evidence.above_start import beats_start
from rltui.evidence.beside_rows import Standing
from rltui.evidence.facts import SHARE_ROWS
from rltui.evidence.look import Look
from rltui.evidence.metric import FIRST, MetricFacts, alone
from rltui.evidence.one_length import FORMAL, one_length
from rltui.evidence.present import in_a_row, jumped
from rltui.evidence.shifts import Shift, at_once
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import running_medians, trend
from rltui.frameworks.parts import is_task
from rltui.plots.numbers import percent
from rltui.prose import sentences
from rltui.rules.base import (
    PARTS,
    Memory,
    Params,
    compared,
    errors_of,
    farmed,
    gained,
    gaining,
    head,
    held,
    logged_for,
    losing,
    opened,
    reward_course,
    rule,
    since,
    solved,
    tail,
    told,
    validation,
)
from rltui.rules.traits import Trait


@rule("truncation-high", Look)
def truncation_high(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Share of responses cut at the length limit."""
    series, found = look.series("response_clip_ratio"), look.facts.cut
    if series is None or found is None or len(series) <= p["warmup"]:
        return []
    cut = series.values
    share = found.value
    eased = share <= p["notice"]
    if eased and not held(look, "truncation-high"):
        return []
    way = jumped(cut, SHARE_ROWS) or look.trend("response_clip_ratio").direction
    better = way < 0 or (gaining(look) and not losing(look))
    doubled = way > 0 and share > p["growth"] * head(cut, p["start"])
    level = EASED if eased else NOTICE
    if share > p["critical"]:
        level = WARNING if better and way < 0 else CRITICAL
    elif share > p["harm"] and losing(look):
        level = CRITICAL
    elif (doubled and share > p["warn"]) or ((doubled or share > p["warn"]) and not better):
        level = WARNING
    cap = look.settings.length_cap
    limit = f"at the length limit of {num(cap)} tokens" if cap else "at the length limit"
    summary = f"{words.share(found, f'responses are cut {limit}')}: their reward judges the limit."
    if (mean := _ended_unseen(look, share, p)) is not None:
        level = min(level, WARNING)  # the counting is at fault, not the answers
        summary = f"{words.share(found, f'responses count as cut {limit}')}, yet they average {num(mean)}"
        summary += ": most end before it, by a token other than tokenizer.eos_token_id, "
        summary += f"the only one that {look.dialect.title} counts."
    proofs = [("response_clip_ratio", _moves(way, f"mean of the last {found.rows} rows {percent(share)}"))]
    for name in ("response_length_mean", look.reward):
        if look.series(name) is not None:
            proofs.append((name, ""))
    beyond = cut > (p["warn"] if level >= WARNING else p["notice"])
    onset = int(series.steps[0]) if since(beyond) == 0 else None  # true from the start, so there is no turn
    metric, lasted = "response_clip_ratio", in_a_row(beyond)
    return [Signal(level, summary, tuple(proofs), None, metric, look.reward, onset, lasted=lasted)]


@rule("truncation-high", Standing, able=lambda seen: one_length(seen.look) is not None)
def all_of_one_length(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """Answers that are all as long as a limit, if the log does not count cut answers. Only a note if the run has gained
    with them or is solved, or if an answer has only a few tokens: some tasks ask for one length."""
    look, ranked = seen.look, seen.ranked
    if (one := one_length(look)) is None:
        return []
    lived = one.always and ranked is not None and beats_start(ranked, int(np.argmax(ranked.score)))
    if lived or solved(look) or gained(look):
        level = NOTICE
    elif one.always and opened(look, Trait.AT_FLOOR):
        level = CRITICAL
    else:
        level = NOTICE if one.tokens < FORMAL else WARNING
    proofs = [("response_length_mean", f"{one.tokens} tokens in {one.rows} of {one.of_rows} rows")]
    if look.series(look.reward) is not None:
        proofs.append((look.reward, ""))
    text = one.told[0].upper() + one.told[1:]
    return [Signal(level, f"{text}.", tuple(proofs), None, "response_length_mean", look.reward, one.since)]


def _ended_unseen(look: Look, share: float, p: Params) -> float | None:
    """Mean length of responses that are too short to be cut so often, as a cut response is as long as the limit. None
    if they are long enough, or unless the framework counts responses without an end token as cut; most compare the
    length."""
    cap, length = look.settings.length_cap, look.values("response_length_mean")
    if look.dialect.conventions.cut != "no end token" or not cap or not len(length):
        return None
    mean = tail(length, SHARE_ROWS)
    return mean if mean < p["short"] * share * cap else None


def _moves(way: int, text: str) -> str:
    return text + {1: ", rising", -1: ", falling", 0: ""}[way]


@rule("length-collapse", Look)
def length_collapse(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Responses shrink to a fraction of their start. Harmless if the reward gains from it."""
    length = look.values("response_length_mean")
    if not logged_for(look, "response_length_mean", p["min_rows"]):
        return []
    first, last = head(length, p["rows"]), tail(length, p["rows"])
    if first <= 0:
        return []
    ratio = last / first
    aborted = look.values("aborted_ratio")
    empty = tail(aborted, p["rows"]) if len(aborted) else 0.0
    eased = ratio >= p["notice"] and empty <= p["empty"]
    if eased and not held(look, "length-collapse"):
        return []
    held_out = validation(look)
    worse = losing(look) or (held_out is not None and held_out <= -p["gain_se"]) or _task_falls(look)
    level, unpaid = EASED if eased else NOTICE, False
    if empty > p["empty_critical"] or (ratio < p["critical"] and worse and not solved(look)):
        level = CRITICAL
    elif (ratio < p["warn"] or empty > p["empty"]) and not solved(look):
        gain = (held_out is not None and held_out >= p["gain_se"]) or _paid(look, None, p)
        unpaid = not gain and not _too_early(look, p)
        level = WARNING if worse or unpaid else level

    def text() -> str:
        if empty <= p["empty"] or ratio < p["notice"]:
            what = f"Responses shrank from {num(first)} to {num(last)} tokens, {percent(ratio)} of their start"
            what += f" ({compared(look, 'response_length_mean', p['rows'])})"
        else:
            what = f"{percent(empty)} of the responses are empty or aborted"
        at_once = _jumped(look, p) if unpaid else None  # a gain before the jump is not due to it
        return sentences(what, _gained_before(look, at_once.step) if at_once else "", reward_course(look))

    proofs = (("response_length_mean", ""), told(look))
    return [Signal(level, text, proofs, moved="response_length_mean", hurt=look.reward)]


def _jumped(look: Look, p: Params) -> Shift | None:
    """The newest jump of the mean length from one row to the next that is as large as the rule notices. No trend shows
    it. What takes some rows is learnt, and a gain while it is learnt belongs to it."""
    length = look.facts.metric("response_length_mean")
    far = [s for s in length.shifts if (s.after - p["notice"] * s.before) * (p["notice"] - 1.0) > 0.0] if length else []
    return next((s for s in reversed(far) if length is not None and at_once(length.series, s)), None)


def _paid(look: Look, since: int | None, p: Params) -> bool:
    """Whether the reward gained since a step (None: since the start). If the length changed at once, gains before that
    do not count."""
    jumped, goals = _jumped(look, p), _goals(look)
    step = since if jumped is None else jumped.step
    if step is None or not goals:
        return gained(look, p["gain_se"])
    return any((errors_of(goal.beyond(step)) or 0.0) >= p["gain_se"] for _, goal in goals) and not farmed(look)


def _too_early(look: Look, p: Params) -> bool:
    """Whether the length jumped so recently that the newest points of the goals, which would show a gain from it, began
    before the jump."""
    jumped = _jumped(look, p)
    return jumped is not None and any(goal.now.first_step < jumped.step for _, goal in _goals(look))


def _goals(look: Look) -> list[tuple[str, MetricFacts]]:
    """What longer answers must improve, each with its name: the parts of the reward that are the task, otherwise the
    whole reward. Another part may pay for the length itself. Empty if none is logged."""
    parts = [(f"the task itself ({m})", alone(m, x)) for m, x in look.family(PARTS).items() if is_task(m)]
    reward = look.facts.metric(look.reward)
    if parts or reward is None:
        return parts
    return [(words.called(look.facts, look.reward), reward)]


def _half_grown(look: Look, first: float, last: float) -> int | None:
    """Step since which the mean length has been nearer, as a factor, to its present level than to its first. None if
    there are too few points before."""
    blocks, series = look.blocks("response_length_mean"), look.series("response_length_mean")
    if blocks is None or series is None:
        return None
    short = np.flatnonzero(running_medians(blocks.levels) < sqrt(first * last))
    at = (int(short[-1]) + 1) * blocks.size if len(short) else 0
    return int(series.steps[at]) if FIRST <= at < len(series) else None


def _gained_before(look: Look, step: int | None) -> str:
    """Words for a reward whose gain came before a step. Empty if it has gained nothing at all."""
    goals = _goals(look)
    if not goals or step is None or not gained(look):
        return ""
    name, goal = goals[0]
    since, before = goal.beyond(step), goal.before(step)
    if since is None or before is None:
        return ""
    rose = goal.since_start is not None and before.value > goal.start.value
    how = "has fallen" if since.direction == -goal.better else "shows no sure gain"
    told = f"{name} rose until step {step}, and {how} since" if rose else f"{name} {how} since step {step}"
    return f"{told}: {num(before.value)} → {num(goal.now.value)}"


def _task_falls(look: Look) -> bool:
    """Whether the raw score falls while the shaped reward hides it."""
    return look.reward == "score_mean" and look.facts.errors("score_mean") <= -3.0


def _longer(look: Look, p: Params) -> bool:
    """Whether the mean length grew beyond its noise: lately, at once, or from the first rows to the newest. Growth at
    the end of a long level stretch does not show as a trend of the whole."""
    length = look.facts.metric("response_length_mean")
    grew = length is not None and length.since_start is not None and length.since_start.direction > 0
    return (
        grew
        or trend(np.log(look.values("response_length_mean")[-int(p["window"]) :])).direction > 0
        or bool(_jumped(look, p))
    )


@rule("length-explosion", Look)
def length_explosion(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Responses grow for a long time and the reward does not follow."""
    length, blocks = look.values("response_length_mean"), look.blocks("response_length_mean")
    if not logged_for(look, "response_length_mean", p["min_rows"]) or blocks is None or blocks.lows.min() <= 0:
        return []
    first, last = head(length, p["rows"]), tail(length, p["rows"])
    ratio = last / first
    eased = ratio < p["notice"]
    opened = held(look, "length-explosion")
    if eased and not opened:
        return []
    if not opened and not _longer(look, p):
        return []
    held_out = validation(look)
    cut_now = look.facts.cut.value if look.facts.cut is not None else 0.0
    level = EASED if eased else NOTICE
    gain = held_out is not None and held_out >= p["gain_se"]
    half = _half_grown(look, first, last)
    unpaid = ratio >= p["ratio"] and not gain and not _paid(look, half, p)
    if unpaid:
        level = CRITICAL if cut_now > p["truncation"] else WARNING

    def text() -> str:
        grew = f"Responses grew {num(ratio)}-fold, from {num(first)} to {num(last)} tokens"
        grew += f" ({compared(look, 'response_length_mean', p['rows'])})"
        cut = f"{percent(cut_now)} are cut at the limit" if cut_now > 0.01 else ""
        since = _gained_before(look, half) if unpaid else ""
        return sentences(grew, since or reward_course(look), cut)

    proofs = (("response_length_mean", ""), told(look))
    return [Signal(level, text, proofs, moved="response_length_mean")]
