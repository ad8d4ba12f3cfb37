"""`rltui explain`: a rule, a knowledge page or a metric as text for a terminal of 80 columns, or as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

import orjson
from msgspec.structs import asdict

from rltui import settings
from rltui.frameworks.load import config_meanings, dialect, dialect_names, metrics, phases, settings_by_framework
from rltui.frameworks.schema import Metric, Phase
from rltui.manual.glossary import called
from rltui.rules import limits
from rltui.rules.catalogue import adjusted, caused_by, rules, suppressed_by
from rltui.rules.error_rates import error_rates, in_words
from rltui.rules.knowledge import KnowledgePage, pages, pages_for
from rltui.rules.page import Rule
from rltui.rules.traits import Trait

WIDTH = 80

GROUPS = {
    "config": "Settings, before the first step",
    "reward": "Reward",
    "val": "Validation and generalisation",
    "kl": "KL and drift",
    "entropy": "Entropy",
    "loss": "Loss, advantages, invariants",
    "grad": "Gradients",
    "offpolicy": "Policy steps and stale rollouts",
    "mismatch": "Sampler against trainer",
    "gen": "Length, truncation, text",
    "tool": "Tools, turns, formats",
    "samples": "What the samples give away",
    "critic": "Critic",
    "dpo": "Preference training",
    "throughput": "Step time",
    "gpu": "GPU",
    "host": "Host and disk",
    "liveness": "Alive, stalled, crashed",
    "ckpt": "Checkpoints",
    "logging": "Logging",
}
"""Group of the catalogue -> heading, in the order of the list."""

PAGE_GROUPS = {
    "method": "Pages: how to diagnose",
    "meaning": "Pages: what a number means",
    "pitfalls": "Pages: pitfalls of home-made code",
    "action": "Pages: what to do",
}

LEVELS = {"notice": "info", "warning": "warning", "critical": "critical"}
"""Threshold of a page -> the severity that it leads to."""
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
"""What rules look at besides metrics."""
BETTER = {"up": "higher is better", "down": "lower is better"}


def as_text(word: str | None) -> str | None:
    """The page of this id; for None the list of all; None if there is no such id."""
    if word is None:
        return _index()
    if word in _rules():
        return _rule_text(_rules()[word])
    return _page_text(pages()[word]) if word in pages() else _metric_text(word)


def as_json(word: str | None) -> str | None:
    """The same as strict JSON, with its keys in a fixed order."""
    if word is None:
        data: object = {
            "rules": [_entry(rule) for rule in _in_order()],
            "pages": [{"id": p.id, "title": p.title, "when": p.when, "rules": p.rules} for p in pages().values()],
        }
    elif word in _rules():
        data = _rule_data(_rules()[word])
    elif word in pages():
        page = pages()[word]
        data = {"id": page.id, "title": page.title, "when": page.when, "rules": page.rules, "text": page.text}
    elif (found := metric_sections(word, _in_order())) is not None:
        data = {"id": word, "title": found[0], "sections": found[1]}
    else:
        return None
    return orjson.dumps(data, option=orjson.OPT_INDENT_2, default=asdict).decode()


def nearest(word: str) -> list[str]:
    """Ids that the user may have meant, the best first: similar ones, then those that hold one of the words."""
    ids = [*_rules(), *pages()]
    parts = [part for part in word.lower().replace("_", "-").split("-") if len(part) > 1]
    held = [i for i in ids if any(part in i for part in parts)]
    return list(dict.fromkeys([*get_close_matches(word.lower(), ids, 5, 0.5), *held]))[:5]


@lru_cache(maxsize=1)
def _rules() -> dict[str, Rule]:
    """The rules with this user's settings."""
    return adjusted(settings.load())


def _in_order() -> list[Rule]:
    order = list(GROUPS)
    return sorted(_rules().values(), key=lambda r: order.index(r.group))


def _metric_text(word: str) -> str | None:
    found = metric_sections(word, _in_order())
    if found is None:
        return None
    title, sections = found
    lines = [f"# {title}"]
    for heading, told in sections.items():
        if heading:
            lines += _section(
                heading, _items(told) if len(told) > 1 else [line for text in told for line in _wrap(text)]
            )
        else:
            lines += [line for text in told for line in ("", *_wrap(text))]
    return "\n".join(lines) + "\n"


# -- the list ---------------------------------------------------------------------------------------------------------


def _index() -> str:
    lines = ["# Rules", ""]
    lines += _wrap("`rltui explain ID` prints a rule or a page. Beside a rule: the worst that it can say.")
    group = None
    for rule in _in_order():
        if rule.group != group:
            group = rule.group
            lines += ["", f"## {GROUPS[group]}", ""]
        lines.append(f"{rule.id:<30} {called(rule.worst):<9} {_short(rule.title, WIDTH - 41)}")
        if (why := standing(rule)) is not None:
            lines += _wrap(f"does not run: {why}", "      ", "      ")
    for name, heading in PAGE_GROUPS.items():
        lines += ["", f"## {heading}", ""]
        for page in pages().values():
            if page.group == name:
                lines += _wrap(f"{page.id:<30} {page.when}", "", " " * 31)
    return "\n".join(lines) + "\n"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


# -- a rule -----------------------------------------------------------------------------------------------------------


def title_of(framework: str) -> str:
    """The name of a framework as its authors write it; "others" for the rest."""
    return dialect(framework).title if framework in dialect_names() else "others"


def standing(rule: Rule) -> str | None:
    """Why the rule never runs with this user's settings; None if it may run."""
    return None if rule.enabled else "switched off in your settings"


def _rule_text(rule: Rule) -> str:
    """What the rule means, how it shows, what to check and what to do; then how it judges; keys of the frameworks come
    last."""
    lines = [f"# {rule.title}", ""]
    stage = f"stage {rule.stage}" if rule.stage else "no stage of its own"
    lines += _wrap(f"{rule.id} · {rule.name} · at worst {called(rule.worst)} · {stage} · {rule.kind}")
    if (why := standing(rule)) is not None:
        lines += ["", *_wrap(f"Does not run: {why}.")]
    lines += _section("What it means", _wrap(rule.why))
    lines += _section("Speaks when", _items(f"{called(LEVELS[k])}: {v}" for k, v in rule.thresholds.items()))
    lines += _section("Or by itself", _items(limits.in_words(*one) for one in rule.limits.items()))
    lines += _section("Likely causes", _items(c.text for c in rule.causes))
    lines += _section("Fixes", _items(f"{fix.text} (impact {fix.impact}, risk {fix.risk})" for fix in rule.fixes))
    lines += _section("Would confirm it", _items(rule.confirm))
    lines += _section("Would refute it", _items(one.text for one in rule.refutations))
    lines += _section("False alarms known", _items(rule.false_alarms))
    lines += _section("How often it is wrong", _wrap(_error_rate(rule)))
    lines += _section("Resolved when", _wrap(_over(rule)))
    lines += _section("Related", _items(_relations(rule)))
    lines += _section("Pages", _items(f"{p.id}: {p.when}" for p in pages_for(rule.id)))
    lines += _section("Looks at", _items(f"{label_of(metric)} ({metric})" for metric in rule.metrics))
    lines += _section("Formula", _wrap(rule.formula))
    lines += _section("Seen elsewhere", _items(rule.cases))
    lines += _section("Thresholds", _items(f"{name} = {p.value:g}: {p.why}" for name, p in rule.params.items()))
    lines += _section("Why these", _wrap(f"Basis: {rule.threshold_basis}." if rule.threshold_basis else ""))
    lines += _section("Does not run", _items(_silence(rule)))
    lines += _section("Sources", _items(f"{source.key}: {source.url}" for source in rule.sources))
    lines += _section("Keys of the metrics", _metric_lines(rule))
    lines += _section("Keys of the fixes", _fix_lines(rule))
    return "\n".join(lines) + "\n"


def _error_rate(rule: Rule) -> str:
    found = error_rates().rules.get(rule.id)
    measured = found is not None and (found.planted or found.healthy_steps)
    own = measured and any(p.value != rules()[rule.id].params[name].value for name, p in rule.params.items())
    return in_words(found) + (" This is of the thresholds that ship, not of yours." if own else "")


def _over(rule: Rule) -> str:
    """What else must hold before a warning ends; empty if nothing else must."""
    back = rule.recovery
    if back is None:
        return ""
    least = f", or {back.side} {back.least:g}" if back.least else ""
    paid = ", or the score has risen above its level before it" if back.paid else ""
    live = ", and not at 0, where nothing moves" if back.live else ""
    text = (
        f"{label_of(back.metric)} is {back.side} {back.factor:g} times its median before the onset{least}{paid}{live}"
    )
    return f"{text}: {back.why}"


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", f"## {title}", "", *lines] if lines else []


def _wrap(text: str, first: str = "", rest: str = "") -> list[str]:
    """Lines of at most 80 columns; a key or an address is never broken."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _items(texts: Iterable[str], indent: str = "") -> list[str]:
    return [line for text in texts for line in _wrap(text, f"{indent}- ", f"{indent}  ")]


def _metric_lines(rule: Rule) -> list[str]:
    """The keys under which frameworks log what it looks at."""
    lines = []
    for metric in rule.metrics:
        if keys := keys_of(metric):
            lines += _items([metric])
            lines += _items((f"{framework}: {told}" for framework, told in keys.items()), "  ")
    return lines


def _silence(rule: Rule) -> list[str]:
    """The cases in which the rule stays silent, no matter what the numbers are."""
    out = [f"it applies only if: {rule.applies_if}"] if rule.applies_if else []
    out += [f"without {' or '.join(label_of(m) for m in group)}: it is then not evaluable" for group in rule.needs]
    if rule.hold.looks > 1 or rule.hold.rows > 1:
        out.append(f"before the condition has held over {rule.hold.looks} looks and {rule.hold.rows} rows")
    if speakers := suppressed_by(rule.id):
        out.append(f"as a finding of its own while one of these is open: {', '.join(speakers)}")
    return out


def _fix_lines(rule: Rule) -> list[str]:
    """The settings that each fix changes."""
    lines = []
    for fix in rule.fixes:
        if fix.lever:
            lines += _items([fix.text])
            lines += _items(
                (f"{title_of(name)}: {keys}" for name, keys in settings_by_framework(fix.lever).items()), "  "
            )
    return lines


def _relations(rule: Rule) -> list[str]:
    told = (
        ("caused by", caused_by(rule.id)),
        ("leads to", rule.relations.leads_to),
        ("speaks for", rule.relations.suppresses),
        ("is told under", suppressed_by(rule.id)),
    )
    return [f"{how}: {', '.join(ids)}" for how, ids in told if ids]


def _page_text(page: KnowledgePage) -> str:
    lines = [f"# {page.title}", "", *_wrap(f"When to open: {page.when}"), "", page.text.rstrip()]
    lines += _section("Rules", _items(f"{i}: {_rules()[i].title}" for i in page.rules))
    return "\n".join(lines) + "\n"


# -- as data ----------------------------------------------------------------------------------------------------------


def _entry(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "title": rule.title,
        "group": rule.group,
        "severity": rule.worst,
        "does_not_run": standing(rule),
    }


def _rule_data(rule: Rule) -> dict[str, object]:
    return {
        **_entry(rule),
        "name": rule.name,
        "stage": rule.stage,
        "kind": rule.kind,
        "metrics": [{"metric": m, "label": label_of(m), "keys": keys_of(m)} for m in rule.metrics],
        "needs": rule.needs,
        "formula": rule.formula,
        "levels": rule.thresholds,
        "params": {name: {"value": p.value, "why": p.why} for name, p in rule.params.items()},
        "limits": {name: asdict(limit) for name, limit in rule.limits.items()},
        "why": rule.why,
        "threshold_basis": rule.threshold_basis,
        "over_when": _over(rule) or None,
        "silent": _silence(rule),
        "false_alarms": rule.false_alarms,
        "error_rate": {"text": _error_rate(rule), "counts": error_rates().rules.get(rule.id)},
        "causes": [c.text for c in rule.causes],
        "fixes": [
            {"text": f.text, "impact": f.impact, "risk": f.risk, "config": settings_by_framework(f.lever)}
            for f in rule.fixes
        ],
        "confirm": rule.confirm,
        "refute": [one.text for one in rule.refutations],
        "caused_by": caused_by(rule.id),
        "leads_to": rule.relations.leads_to,
        "pages": [p.id for p in pages_for(rule.id)],
        "sources": [{"key": source.key, "url": source.url} for source in rule.sources],
    }


def label_of(metric: str) -> str:
    """A metric, described in words."""
    if metric in metrics():
        return metrics()[metric].label
    if metric.startswith("phase:") and metric[6:] in phases():
        return f"seconds of the phase {phases()[metric[6:]].label}"
    return INPUTS.get(metric) or config_meanings().get(metric, metric)


def keys_of(metric: str) -> dict[str, str]:
    """Framework -> the keys under which it logs the metric, the preferred one first. Only widely used frameworks are
    listed, unless none of them logs it."""
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


def metric_sections(name: str, rules: list[Rule]) -> tuple[str, dict[str, list[str]]] | None:
    """A title, and for each heading its paragraphs ("" is the heading of the first ones) or items; None for an unknown
    metric."""
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
