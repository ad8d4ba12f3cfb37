"""Validation that did not gain with training."""

from __future__ import annotations

from math import sqrt

from rltui.evidence import words
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import Mark
from rltui.evidence.parting import parted_at, set_out_at
from rltui.evidence.signal import NOTICE, WARNING, Signal, num
from rltui.evidence.trends import sd_d
from rltui.evidence.untrained import untrained
from rltui.plots.numbers import percent
from rltui.rules.base import Memory, Params, held, tail
from rltui.rules.outpaced import left_in_proportion
from rltui.rules.ways import LEAST, Way, ends_of, way_of
from rltui.run.table import Floats, Series

STANDS = 0.5
"""Share of the limits that is enough once the finding was reported: a dip below them for a row or two is noise."""


def beside_training(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """What a validation that does not fall shows together with the train reward. `memory` keeps the step since which it
    was left behind lately."""
    train = _while_evaluated(look)
    told = _left_behind(look, train, p) or _left_lately(look, p, memory) or left_in_proportion(look, p, memory)
    return told or _apart(look, train, p) or _unmoved(look, train, p)  # warnings come before a note on the two levels


def _apart(look: Look, train: MetricFacts | None, p: Params) -> list[Signal]:
    """Train reward is near its top, and validation (the highest of several sets) near the bottom of the same scale:
    another task, or a reward that is not the task. A warning if the rise in reward has moved no validation at all."""
    reward, sets, profile = look.values(look.reward), look.facts.validation_sets, look.profile
    known = [one for one in sets if len(one.values) >= 4]
    if len(known) < max(1, len(sets)) or len(reward) < 20 or profile.floor != 0.0 or profile.ceiling != 1.0:
        return []
    now, levels = tail(reward, 20), [tail(one.values, 3) for one in known]
    seen = max(levels)
    if now <= p["high"] or min(levels) < 0.0 or seen >= p["low"]:
        return []
    useless = _gain_shown(look, train, p) and not any(_moved(one.values) for one in known)
    text = f"Train reward is at {num(now)}, validation at {num(seen)}"
    text += ": nothing of what was gained shows there." if useless else ": a harder task, or a reward that is not it."
    proof = "val_score" if len(sets) == 1 else known[levels.index(seen)].series.key
    onset = int(look.steps[0]) if not look.revalued else min(int(one.series.steps[0]) for one in known)
    return [Signal(WARNING if useless else NOTICE, text, ((proof, ""), (look.reward, "")), onset_step=onset)]


def _gain_shown(look: Look, train: MetricFacts | None, p: Params) -> bool:
    """Whether training gained something that these evaluations could show. If validation changed to another measure,
    gains before that change do not count."""
    if not look.revalued:
        return look.facts.errors(look.reward) >= 2.0
    gain = None if train is None else train.since_start
    return gain is not None and gain.errors >= p["se"] and gain.value >= p["gain"]


def _while_evaluated(look: Look) -> MetricFacts | None:
    """The train reward, from the first evaluation on if it had moved by then: no evaluation can show earlier gains."""
    train, sets = look.facts.metric(look.reward), look.facts.validation_sets
    first = min((int(one.series.steps[0]) for one in sets), default=0)
    return train if train is None or untrained(train, first) is None else train.since_step(first)


def _since(look: Look, train: MetricFacts) -> str:
    first = int(train.series.steps[0])
    return "" if train is look.facts.metric(look.reward) else f" since step {first}, that of the first evaluation"


def _left_behind(look: Look, train: MetricFacts | None, p: Params) -> list[Signal]:
    """Train reward gained much, and no validation set gained a quarter of that, although each began where training did
    and had as far to go: what is learnt holds only for the train prompts."""
    sets, profile = look.facts.validation_sets, look.profile
    gain = None if train is None else train.since_start
    if train is None or gain is None or profile.floor != 0.0 or profile.ceiling != 1.0 or not sets:
        return []
    if gain.errors < p["se"] or gain.value < p["gain"] or any(len(one.values) < LEAST for one in sets):
        return []
    ways = [way_of(one.values) for one in sets]
    if any(way.sure for way in ways):
        return []  # validation gained, even if less
    newest = max(float(one.values[-1]) - way.start for one, way in zip(sets, ways, strict=True))
    if newest >= p["behind"] * gain.value and not held(look, "train-val-divergence"):
        return []  # the newest evaluation may have followed: the next one will show it
    most = max(way.most for way in ways)
    alike = [abs(float(one.values[:2].mean()) - train.start.value) <= p["alike"] for one in sets]
    if most >= p["behind"] * gain.value or not all(alike) or max(way.start for way in ways) > 1 - gain.value:
        return []
    name = words.called(look.facts, look.reward)
    text = f"Train {name} rose {num(train.start.value)} → {num(train.end.value)}{_since(look, train)}, and validation, "
    text += "which began near it, "
    text += _went(ways[0], most)
    proofs = (("val_score", "no gain beside that of training"), (look.reward, ""))
    return [Signal(WARNING, text, proofs, onset_step=set_out_at(train.series))]  # no set moved: training's onset


def _left_lately(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """As `_left_behind`, for the newest half of the evaluations: both gained at first, then only training. The limit is
    half of its gain, because half of the evaluations show less."""
    sets, profile = look.facts.validation_sets, look.profile
    if profile.floor != 0.0 or profile.ceiling != 1.0 or not sets or any(len(one.values) < 2 * LEAST for one in sets):
        return []
    steps, known = sets[0].series.steps, held(look, "train-val-divergence")
    if not known:
        memory.clear()
    step, part = int(memory.get("left", steps[len(steps) // 2])), STANDS if "left" in memory else 1.0
    whole = look.facts.metric(look.reward)
    train = None if whole is None else whole.since_step(step)
    gain = None if train is None else train.since_start
    if train is None or gain is None or gain.errors < part * p["se"] or gain.value < part * p["gain"]:
        return []
    late = [one.values[int(one.series.steps.searchsorted(step)) :] for one in sets]
    if any(len(x) < LEAST for x in late):
        return []
    ways = [way_of(x, one.values) for x, one in zip(late, sets, strict=True)]
    most = max(way.most for way in ways)
    gained = max(way.end - way.start for way in ways) if "left" in memory else most  # it ends with a gain
    if gained >= p["half"] * gain.value or any(abs(way.start - train.start.value) > p["alike"] for way in ways):
        return []
    wholly = None if whole is None else whole.since_start
    if whole is None or wholly is None:
        return []
    for one in sets:
        way, began = way_of(one.values), float(one.values[:2].mean())
        if way.end - way.start >= p["share"] * wholly.value or abs(began - whole.start.value) > p["alike"]:
            return []  # validation gained before training did, or began elsewhere and training only passed it
    if max(way.start for way in ways) > 1 - gain.value:
        return []
    memory["left"] = step
    if "parted" not in memory:
        memory["parted"] = _parted(whole.series, sets[0].series, step)
    return [_since_parted(look, whole, sets[0], int(memory["parted"]))]


def _parted(train: Series, held_out: Series, known: int) -> int:
    """The step at which both parted, by all evaluations. If too few evaluations came since, the step at which training
    began to rise since they are known to have parted."""
    step = parted_at(train, held_out)
    enough = step is not None and len(held_out) - int(held_out.steps.searchsorted(step)) >= LEAST
    if step is not None and enough:
        return step
    set_out = set_out_at(train.since_row(int(train.rows[train.steps.searchsorted(known)])))
    return min(set_out, int(held_out.steps[-EVALUATED]))


def _since_parted(look: Look, whole: MetricFacts, held_out: MetricFacts, step: int) -> Signal:
    """The warning about what both did since the step at which they parted."""
    train = whole.since_step(step) or whole
    way = way_of(held_out.values[int(held_out.series.steps.searchsorted(step)) :], held_out.values)
    name = words.called(look.facts, look.reward)
    text = f"Train {name} rose {num(train.start.value)} → {num(train.end.value)} since step {step}, and validation, "
    text += f"which was near it then, {_went(way, way.most, 'the means of the first and the last third since then')}"
    proofs = (("val_score", f"no gain beside that of training since step {step}"), (look.reward, ""))
    return Signal(WARNING, text, proofs, onset_step=step)


def _unmoved(look: Look, train: MetricFacts | None, p: Params) -> list[Signal]:
    """Train reward gained most of its possible gain, on any scale. No validation set (all are shares) made a quarter of
    that part of its own way: another task, or nothing of it is learnt for other prompts."""
    sets = look.facts.validation_sets
    gain = None if train is None else train.since_start
    if train is None or gain is None or gain.errors < p["se"] or not sets:
        return []
    top = look.profile.ceiling if look.profile.ceiling is not None else float(train.values.max())
    room = top - train.start.value
    if room <= 0 or gain.value < p["most"] * room or any(len(one.values) < LEAST for one in sets):
        return []
    if any(one.values.min() < 0.0 or one.values.max() > 1.0 for one in sets):
        return []
    ways = [way_of(one.values) for one in sets]
    one_scale = look.profile.floor == 0.0 and look.profile.ceiling == 1.0
    if one_scale and any(way.end >= train.end.value - p["alike"] for way in ways):
        return []  # validation is as high as training: it gained before the first evaluation
    part = gain.value / room
    if any(way.sure or way.most >= p["behind"] * part * (1.0 - way.start) for way in ways):
        return []
    name = words.called(look.facts, look.reward)
    text = f"Train {name} rose {num(train.start.value)} → {num(train.end.value)}{_since(look, train)}, "
    text += f"{percent(part)} of what there was to gain, and validation {_went(ways[0], max(way.most for way in ways))}"
    proofs = (("val_score", "no gain beside that of training"), (look.reward, ""))
    return [Signal(NOTICE, text, proofs, onset_step=int(sets[0].series.steps[0]), marks=(Mark.COSTS,))]


EVALUATED = 3
"""Fewest evaluations after both parted that show what validation did since."""


def _went(way: Way, most: float, of: str = "its first evaluations, and the mean of the last third") -> str:
    gain = f"a gain of {num(most)} at most" if most > 0.0 else "no gain"
    return f"went {num(way.start)} → {num(way.end)} ({of}): {gain}."


def _moved(held_out: Floats) -> bool:
    """Whether the last third of the evaluations is better than the first by two standard errors."""
    start, end = ends_of(held_out)
    return end - start > 2.0 * sd_d(held_out) * sqrt(2.0 / max(2, len(held_out) // 3))
