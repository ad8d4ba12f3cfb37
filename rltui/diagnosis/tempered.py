"""Lowers the level of open findings beside others, so that one fault is reported loudly only once."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from msgspec import structs

from rltui.diagnosis.life import Key, Life
from rltui.diagnosis.roots import OUTSIDE, dating_tolerance
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING
from rltui.rules.page import Rule
from rltui.rules.traits import Trait


def tempered(lives: Mapping[Key, Life], catalogue: Mapping[str, Rule], made: int) -> dict[Key, Life]:
    """The lives, each with its level beside the others after `made` steps. A hint of a change becomes a note if the run
    was sick before that change."""
    levels: dict[str, int] = {}
    for (rule_id, _), life in lives.items():
        levels[rule_id] = max(levels.get(rule_id, 0), life.level)
    onsets = [at for (i, _), life in lives.items() if (at := _sick_since(catalogue[i], life)) is not None]
    sick = min(onsets, default=inf)
    out = dict(lives)
    for key, life in lives.items():
        level, began = _beside(key[0], life.level, levels, catalogue), life.onset_step
        if began is not None and Trait.HINT in catalogue[key[0]].traits and sick < began - dating_tolerance(made):
            level = min(level, NOTICE)
        if level < life.level:
            last = structs.replace(life.openings[-1], peak=level)
            out[key] = structs.replace(life, level=level, openings=(*life.openings[:-1], last))
    return out


def _sick_since(rule: Rule, life: Life) -> int | None:
    """The step since which an open finding shows that the policy is sick; None if it does not show that."""
    loud = life.level >= WARNING and Trait.HINT not in rule.traits and not OUTSIDE & {*rule.traits}
    return life.onset_step if loud else None


def _beside(rule: str, own: int, others: Mapping[str, int], catalogue: Mapping[str, Rule]) -> int:
    """The level of an open finding of a rule beside the others (id -> level). Once the task is solved, it is a warning
    at most that nothing more can be learnt. A run whose answers are cut off has not solved its task."""

    def is_open(trait: Trait, least: int) -> bool:
        return any(level >= least and trait in catalogue[i].traits for i, level in others.items())

    if own < CRITICAL or Trait.NO_SIGNAL not in catalogue[rule].traits:
        return own
    return WARNING if is_open(Trait.SOLVED, 1) and not is_open(Trait.CUT_OFF, CRITICAL) else own
