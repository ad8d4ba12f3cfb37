"""Finds out which open finding is a symptom of which. A root is a warning or worse, is at least as severe as its
symptoms, and began before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from rltui.diagnosis.life import Key
from rltui.evidence.signal import WARNING
from rltui.rules.page import Rule
from rltui.rules.traits import Trait


def dating_tolerance(made: int) -> int:
    """By how many steps two onsets may be dated wrongly against each other after so many steps of a log. Of two
    findings that began within this distance, either may have been the first."""
    return max(10, made // 20)


FALLS = frozenset((Trait.REWARD_FALLS, Trait.VALIDATION_FALLS))
"""Rules about a score that fell."""
OUTSIDE = frozenset((Trait.MEASUREMENT, Trait.MECHANICAL, Trait.COST_ONLY))
"""Rules about things around the policy, not about the policy itself."""
SUDDEN = OUTSIDE | {Trait.LEADS_FALL, Trait.GRADIENT_RISES, Trait.UNSTABLE_UPDATE}
"""Rules about faults that may go on for long and then do harm from one row to the next."""


class Fired(Struct, frozen=True):
    """What grouping needs to know about an open finding. `onset` in steps; config findings count as 0. `outside`: its
    leading cause lies outside the policy. `at_once`: its metric went to another level from one row to the next."""

    id: str
    level: int
    onset: int
    confidence: float
    subject: str | None = None
    outside: bool = False
    at_once: bool = False

    @property
    def key(self) -> Key:
        return self.id, self.subject


def roots(fired: Sequence[Fired], catalogue: Mapping[str, Rule], made: int) -> dict[Key, str]:
    """Symptom -> id of its root, among the findings that are open after `made` steps.

    An edge of the catalogue's graph (`leads_to`; `suppresses`: one rule speaks for another) counts only if the cause is
    a warning or worse, is at least as severe as the effect and began no later (`dating_tolerance`). The graph has
    feedback loops, so it is never walked as a tree. A fall of a score belongs to what set in with it rather than to
    what had been there for long (`outdone`). Roots are taken greedily: first the one that explains most symptoms, then
    the earliest, then the surest. In a loop every member explains the same, so the one that explains most of it
    directly is taken.
    """
    worst: dict[str, Fired] = {}
    for f in fired:
        if f.id not in worst or f.level > worst[f.id].level:
            worst[f.id] = f
    late = dating_tolerance(made)
    speakers = {i: {s for s in worst if i in catalogue[s].relations.suppresses} for i in worst}

    def explains(cause: Fired, effect: Fired) -> bool:
        if effect.outside and not (cause.outside or OUTSIDE & {*catalogue[cause.id].traits}):
            return False  # what the policy did since came of it
        if effect.at_once and cause.onset < effect.onset - late and not SUDDEN & {*catalogue[cause.id].traits}:
            return False  # what grows slowly does not jump
        return cause.level >= max(WARNING, effect.level) and cause.onset <= effect.onset + late

    def effects(cause: Fired) -> set[str]:
        rule = catalogue[cause.id]
        reached = {*rule.relations.suppresses, *rule.relations.leads_to} - speakers[cause.id] - {cause.id}
        return {i for i in reached if i in worst and explains(cause, worst[i])}

    at_first_hand = {i: effects(f) for i, f in worst.items()}

    def outdone(old: Fired, fall: Fired) -> bool:
        """Whether a score fell long after the old finding set in, and together with another finding that may have led
        to the fall and did not come from the old one. What a run has lived with does not start to harm by itself."""
        if not FALLS & {*catalogue[fall.id].traits} or old.onset >= fall.onset - late:
            return False
        told = {fall.id, *speakers[fall.id]}  # what speaks for it has the same cause
        return any(
            told & at_first_hand[i] and abs(f.onset - fall.onset) <= late and i not in at_first_hand[old.id]
            for i, f in worst.items()
            if i != old.id
        )

    reach = {
        i: {x for x in _reachable(f, worst, effects) if explains(f, worst[x]) and not outdone(f, worst[x])}
        for i, f in worst.items()
    }
    suppressed = {i for i in worst if any(i in reach[s] for s in speakers[i])}
    direct = {i: len(effects(f)) for i, f in worst.items()}

    def first(f: Fired) -> tuple[object, ...]:
        loop = [worst[i].onset for i in reach[f.id] if f.id in reach[i]]
        return f.id in suppressed, -len(reach[f.id]), min([f.onset, *loop]), -direct[f.id], f.onset, -f.confidence, f.id

    order = sorted(worst.values(), key=first)
    root_of: dict[str, str] = {}
    taken: set[str] = set()
    for f in order:
        if f.id in root_of:
            continue
        taken.add(f.id)
        for symptom in reach[f.id] - taken:
            root_of.setdefault(symptom, f.id)
    return {f.key: root_of[f.id] for f in fired if f.id in root_of and explains(worst[root_of[f.id]], f)}


def _reachable(start: Fired, by_id: Mapping[str, Fired], effects: Callable[[Fired], set[str]]) -> set[str]:
    seen: set[str] = set()
    edge = [start]
    while edge:
        for i in effects(edge.pop()):
            if i not in seen and i != start.id:
                seen.add(i)
                edge.append(by_id[i])
    return seen
