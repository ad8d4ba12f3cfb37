"""Rules: each course and each best of a run is one fact, wherever it is told."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from tests.contradictions.engine import rule
from tests.contradictions.surfaces import Said

WAYS = {1: "up", -1: "down"}


@rule
def case_and_facts(said: Said) -> Iterator[str]:
    """Reward and validation go in the case of KL and reward as they went since the start by the fact table, unless the
    case says that it is so lately. Several validation sets are told together there, and each alone elsewhere."""
    case = (said.report.get("outlook") or {}).get("kl_reward") or {}
    for part, fact in (("reward", "score"), ("validation", "validation")):
        moved = ((said.report.get("facts") or {}).get(fact) or {}).get("since_start") or {}
        wanted, way = WAYS.get(moved.get("direction", 0)), case.get(part, "none")
        several = fact == "validation" and any(name.startswith("val_score:") for name in said.report["metrics"])
        if wanted is None or way in ("none", wanted) or several or part in (case.get("lately") or ()):
            continue
        yield f"the case of KL and reward: {part} {way}; facts: {part} {wanted} since the start"


@rule
def best_and_peak(said: Said) -> Iterator[str]:
    """If no checkpoint was saved, the best step is the best point of the fact table, of the metric that it is chosen
    by; it says so if later steps do not count. A reward that stands for the task no longer chooses none of the steps in
    which it is farmed. A best step that is the first one is no worse than its start."""
    best, facts = said.report["verdict"]["best_checkpoint"], said.report.get("facts") or {}
    if best is None:
        return
    limited = best.get("before") is not None
    for fact in (facts.get(name) for name in ("score", "reward", "validation")):
        if fact is None or fact["key"] != best["metric"] or not fact.get("peak") or best.get("sets", 1) > 1:
            continue
        if best["path"] is None and not limited and fact["peak"]["step"] != best["step"]:
            yield f"best step {best['step']}; facts: {fact['metric']} is at its best at {fact['peak']['step']}"
    score = facts.get("score") or {}
    for finding in said.loud:
        onset = finding["onset_step"]
        farms = finding["id"] in having(Trait.FARMS_REWARD)
        if farms and best["metric"] == score.get("key") and onset is not None and best["step"] >= onset:
            yield f"best step {best['step']} by {best['metric']}, which {finding['id']} has farmed since {onset}"
    if best["step"] == said.report["run"]["steps"].get("first") and "start of" in best.get("against", ""):
        yield f"best step {best['step']} is the first, and {best['against']}"


@rule
def still_and_fallen(said: Said) -> Iterator[str]:
    """A reward of which an open finding says that it fell is nowhere said not to have moved."""
    falls = [f["id"] for f in said.loud if f["id"] in having(Trait.REWARD_FALLS)]
    for where, text in said.sentences() if falls else ():
        if found := re.search(r"\b(?:reward|score) has not moved beyond its noise", text, re.I):
            yield f"{where}: {found[0]!r} beside {falls[0]}"


@rule
def since_when_once(said: Said) -> Iterator[str]:
    """A line says once since which step something is so; a symptom and its root may each have theirs."""
    for page in said.pages:
        for found in page.lines(r"since step (\d+)[^\w\n]+(?:\(`[\w-]+`, )?since step \1\b"):
            yield f"the page: {found[0]!r}"


@rule
def one_date_each(said: Said) -> Iterator[str]:
    """What a finding says of itself dates it as its title does: another date a few rows off is the same thing again."""
    steps = said.report["run"]["steps"]
    for one in said.active:
        onset = one["onset_step"]
        for found in re.finditer(r"since step (\d+)", one["summary"]) if onset is not None and steps["rows"] else ():
            rows = abs(int(found[1]) - onset) * steps["rows"] / max(1, (steps["last"] or 0) - (steps["first"] or 0))
            if 0 < rows <= NEAR_ROWS:
                yield f"{one['id']} since step {onset}, and it says {found[0]!r}: {one['summary']!r}"


NEAR_ROWS = 3


@rule
def gone_back_to(said: Said) -> Iterator[str]:
    """Of a run without a step no page advises to go back to a checkpoint of it."""
    if said.report["run"]["steps"]["last"] is not None:
        return
    for page in said.pages:
        for found in page.lines(r"^\W*\d*\W*\b(?:Resume from|Go back to|Use the best)\b[^\n]*checkpoint"):
            yield f"no step was logged; the page: {found[0].strip()!r}"
