"""What in this run's config and code stands behind a finding, and what to change."""

from __future__ import annotations

from collections.abc import Mapping

from rltui.evidence.model import IMPACTS, RISKS, SEVERITY_RANK, Cause, Fix, Severity
from rltui.frameworks.dialect import Dialect
from rltui.frameworks.schema import Topic
from rltui.rules.page import Rule
from rltui.run.run import ConfigValue

BY_GROUP: Mapping[str, Topic] = {
    "kl": "kl",
    "reward": "reward",
    "val": "validation",
    "gen": "generation",
    "tool": "generation",
}
BY_STAGE: Mapping[str, Topic] = {
    "reward": "reward",
    "advantages": "advantages",
    "log-probs": "loss",
    "loss": "loss",
    "generation": "generation",
}


def where(rule: Rule, names: Dialect, algorithm: str | None) -> tuple[str, ...]:
    """Files and directories to open, the nearest first; empty where the framework's code is not known, or where the
    rule is about machines and logging."""
    topics: tuple[Topic | None, ...] = (
        "config" if rule.group == "config" else None,
        BY_GROUP.get(rule.group),
        BY_STAGE.get(rule.stage or ""),
    )
    found = (path for topic in topics if topic for path in names.code(topic, algorithm))
    return tuple(dict.fromkeys(found))


OTHER_PATH = {"kl_coef_loss": "kl_coef_reward"}
"""Where the first does not act, the second may act in its place."""


def causes(rule: Rule, config: Mapping[str, ConfigValue]) -> tuple[Cause, ...]:
    """Candidate causes with key and value as the user wrote them: first those that a value speaks for, then those that
    it does not decide, then those without a key. A cause that its value speaks against is left out."""
    spoken: list[Cause] = []
    open_: list[Cause] = []
    loose: list[Cause] = []
    for cause in rule.causes:
        entry = config.get(cause.config) if cause.config else None
        if entry is not None and not entry.active and cause.config in OTHER_PATH:
            other = config.get(OTHER_PATH[cause.config])
            entry = other if other is not None and other.active else entry
        if entry is None:
            loose.append(Cause(cause.text))
            continue
        value = entry.value
        plain = value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
        if not entry.active:
            if cause.speaks is not None and cause.speaks.op in (">", ">=", "not in"):
                continue  # what is off is neither large nor on
            note = entry.note or "set, but not on the active path"
            open_.append(Cause(f"{cause.text} ({note})", entry.key, plain))
            continue
        says = None if cause.speaks is None else cause.speaks.holds(value)
        if says is None and value is None:
            loose.append(Cause(cause.text))
        elif says is not False:
            (spoken if says else open_).append(Cause(cause.text, entry.key, plain))
    return (*spoken, *open_, *loose)


def fixes(rule: Rule, names: Dialect, severity: Severity) -> tuple[Fix, ...]:
    """Remedies for a finding this severe, by impact, then risk, then the catalogue's order; keys in this framework's
    spelling."""
    rank = SEVERITY_RANK[severity]
    fit = [f for f in rule.fixes if SEVERITY_RANK[f.least] <= rank]
    found = [Fix(f.text, f.config.get(names.family, f.config.get("other")), f.impact, f.risk) for f in fit]
    return tuple(sorted(found, key=lambda f: (IMPACTS.index(f.impact), RISKS.index(f.risk))))
