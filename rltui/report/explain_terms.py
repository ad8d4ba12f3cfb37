"""What the words of a rule stand for: a metric's label and raw keys, the worst a rule can say, why it does not run."""

from __future__ import annotations

from rltui.diagnosis.catalogue import Rule
from rltui.vocabulary.load import config_meanings, dialect, dialect_names, metrics, phases

FRAMEWORKS = ("verl", "trl", "openrlhf", "nemo_rl", "prime_rl")
"""Whose keys are printed; every other dialect only where none of these logs the metric."""

INPUTS = {
    "gpu": "GPU samples",
    "host_disk": "the free disk space",
    "host_load": "the load of the host",
    "host_ram": "the memory of the host",
    "checkpoints": "the checkpoints found on disk",
    "config": "the config",
    "log_text": "notable lines of the log",
    "samples": "prompts and completions",
    "run_clock": "the time since the newest row",
    "phase:log_probs": "seconds of the phases log-probs and reference",
}
"""What a rule looks at besides metrics."""


def label_of(metric: str) -> str:
    """A metric in words."""
    if metric in metrics():
        return metrics()[metric].label
    if metric.startswith("phase:") and metric[6:] in phases():
        return f"seconds of the phase {phases()[metric[6:]].label}"
    return INPUTS.get(metric) or config_meanings().get(metric, metric)


def keys_of(metric: str) -> dict[str, str]:
    """Framework -> the keys under which it logs the metric, the preferred one first."""
    found = {name: _keys(metric, name) for name in FRAMEWORKS}
    found = {name: keys for name, keys in found.items() if keys}
    if not found:
        found = {name: keys for name in dialect_names() if (keys := _keys(metric, name))}
    return {dialect(name).title: keys for name, keys in found.items()}


def _keys(metric: str, name: str) -> str:
    names = dialect(name)
    if metric == "phase:log_probs":
        metric = "phase:old_log_prob"
    aliases = names.phases.keys.get(metric[6:], ()) if metric.startswith("phase:") else names.aliases.get(metric, ())
    plain = [a for a in aliases if not a.startswith("re:")][:3]
    return ", ".join(plain) or "".join(f"keys like {a[3:]}" for a in aliases[:1])


def title_of(framework: str) -> str:
    """A framework as its people write it; "others" for what the catalogue calls other."""
    return dialect(framework).title if framework in dialect_names() else "others"


def severity_of(rule: Rule) -> str:
    """The worst that the rule can say."""
    if "critical" in rule.thresholds:
        return "critical"
    return "warning" if "warning" in rule.thresholds else "info"


def standing(rule: Rule) -> str | None:
    """Why the rule never runs for this user, None where it does."""
    return None if rule.enabled else "switched off in your settings"
