"""Rules: each course and each best of a run is one fact, wherever it is told."""

from __future__ import annotations

from collections.abc import Iterator

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
