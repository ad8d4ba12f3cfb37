"""What `rltui explain` tells of a metric: its words, its keys in each framework, and the rules that look at it."""

from __future__ import annotations

from rltui.frameworks.load import config_meanings, dialect, dialect_names, metrics, phases
from rltui.frameworks.schema import Metric, Phase
from rltui.manual.glossary import called
from rltui.rules.knowledge import pages_for
from rltui.rules.page import Rule
from rltui.rules.traits import Trait

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
    """Framework -> the keys under which it logs the metric, the preferred one first: of the widely used frameworks, of
    others only if none of them logs it."""
    found = {name: keys for name in dialect_names() if (keys := _keys(metric, name))}
    examples = {name: keys for name, keys in found.items() if dialect(name).widely_used} or found
    return {dialect(name).title: keys for name, keys in examples.items()}


def _keys(metric: str, name: str) -> str:
    names = dialect(name)
    if metric == "phase:log_probs":
        metric = "phase:old_log_prob"
    aliases = names.phases.keys.get(metric[6:], ()) if metric.startswith("phase:") else names.aliases.get(metric, ())
    plain = [a for a in aliases if not a.startswith("re:")][:3]
    return ", ".join(plain) or "".join(f"keys like {a[3:]}" for a in aliases[:1])


BETTER = {"up": "higher is better", "down": "lower is better"}


def metric_sections(name: str, rules: list[Rule]) -> tuple[str, dict[str, list[str]]] | None:
    """Title, and for each heading its paragraphs ("" for what comes first) or items; None where nobody knows it."""
    if name.removeprefix("phase:") in phases() and name.startswith("phase:"):
        return _phase_sections(phases()[name.removeprefix("phase:")], rules)
    known = metrics().get(name)
    if known is None:
        return None
    found = [rule for rule in rules if name in rule.metrics]
    seen = {page.id: page for rule in found for page in pages_for(rule.id) if page.group == "meaning"}
    return known.label, {
        "": [_head(known), f"{known.meaning}."],
        "Usual range": [known.range] if known.range else [],
        "Healthy": [known.healthy] if known.healthy else [],
        "Easily misread": [known.trap] if known.trap else [],
        "Keys": [f"{framework}: {keys}" for framework, keys in keys_of(name).items()],
        "Rules that look at it": _looking(found),
        "Pages on what it means": [f"{page.id}: {page.when}" for page in seen.values()],
    }


def _head(known: Metric) -> str:
    unit = f"in {known.unit}" if known.unit not in ("", "1", known.group) else ""
    return " · ".join(part for part in (known.name, known.group, unit, BETTER.get(known.direction, "")) if part)


def _phase_sections(known: Phase, rules: list[Rule]) -> tuple[str, dict[str, list[str]]]:
    """The same of a part of a training step."""
    name = f"phase:{known.name}"
    usual = f"{100 * known.usual[0]:.0f}–{100 * known.usual[1]:.0f} % of the step" if known.usual else ""
    return f"{known.label}, part of a step", {
        "": [f"{name} · in s", f"{known.meaning}."],
        "Usual share": [part for part in (usual, known.why) if part],
        "Keys": [f"{framework}: {keys}" for framework, keys in keys_of(name).items()],
        "Rules that look at it": _looking([r for r in rules if name in r.metrics or Trait.EVERY_PHASE in r.traits]),
    }


def _looking(rules: list[Rule]) -> list[str]:
    return [f"{rule.id}: {rule.title} (at worst {called(rule.worst)})" for rule in rules]
