"""A metric in words: its meaning, what a healthy run looks like, what is easily misread, which rules look at it."""

from __future__ import annotations

from rltui.diagnosis.catalogue import Rule
from rltui.diagnosis.knowledge import pages_for
from rltui.report.explain_terms import keys_of, severity_of
from rltui.vocabulary.load import Metric, Phase, metrics, phases

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
        "Rules that look at it": _looking([r for r in rules if name in r.metrics or r.id == "phase-bottleneck"]),
    }


def _looking(rules: list[Rule]) -> list[str]:
    return [f"{rule.id}: {rule.title} (at worst {severity_of(rule).replace('info', 'note')})" for rule in rules]
