"""Which code a finding points at: the topics of its rule, as files of this framework."""

from __future__ import annotations

from rltui.diagnosis.catalogue import Rule
from rltui.vocabulary.code_places import code_places

BY_GROUP = {"kl": "kl", "reward": "reward", "val": "validation", "gen": "generation", "tool": "generation"}
BY_STAGE = {
    "reward": "reward",
    "advantages": "advantages",
    "log-probs": "loss",
    "loss": "loss",
    "generation": "generation",
}


def where(rule: Rule, framework: str | None, algorithm: str | None) -> tuple[str, ...]:
    """Files and directories to open, the nearest first; empty where the framework's code is not known, or where the
    rule is about machines and logging."""
    topics = (
        "config" if rule.group == "config" else None,
        BY_GROUP.get(rule.group),
        BY_STAGE.get(rule.stage or ""),
    )
    found = (path for topic in topics if topic for path in code_places(framework, algorithm, topic))
    return tuple(dict.fromkeys(found))
