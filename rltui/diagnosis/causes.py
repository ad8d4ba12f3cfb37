"""The causes of a finding that this run supports, what to change, and which code to open."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rltui.diagnosis.outcome import DECISIVE, Answer, Outcome, Spell, label_of
from rltui.diagnosis.tested import AT_RESUME, RESUMED, Ground, acting
from rltui.diagnosis.tested_numbers import JUST_BEFORE
from rltui.evidence.guard import Guard
from rltui.evidence.model import IMPACTS, RISKS, SEVERITY_RANK, Cause, CauseStatus, Fix, Severity
from rltui.frameworks.dialect import Dialect
from rltui.frameworks.schema import Topic
from rltui.frameworks.spelling import words_of
from rltui.plots.numbers import setting_value
from rltui.prose import each_once, sentences
from rltui.rules.bounds import as_number
from rltui.rules.expectation import (
    AnyOf,
    Calm,
    Configured,
    HeldLevel,
    LittleByLittle,
    MetricMoved,
    PenaltyOff,
    Stands,
    Test,
    Updates,
)
from rltui.rules.expected_drift import IsPenalty, Steady
from rltui.rules.expected_length import CouldCost
from rltui.rules.expected_validation import HeldOut
from rltui.rules.page import CauseText, FixText, NewValue, RefuteText, Rule
from rltui.run.run import ConfigValue

EXTRA = "the extra part"
"""What a page calls the part of a reward that is not the task."""
_WEIGHTS = frozenset({"weight", "coef", "coeff", "coefficient", "lambda", "scale", "factor", "w"})
_SAYS_NOTHING = frozenset({"reward", "bonus", "penalty", "score", "mean", "func", "fn"})
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
    """Files and directories to open, the nearest first; empty if the framework's code is not known, or if the rule is
    about machines or logging."""
    topics: tuple[Topic | None, ...] = (
        "config" if rule.group == "config" else None,
        BY_GROUP.get(rule.group),
        BY_STAGE.get(rule.stage or ""),
    )
    found = (path for topic in topics if topic for path in names.code(topic, algorithm))
    return tuple(dict.fromkeys(found))


OTHER = 1.5
"""From this factor on, a logged setting differs from the one in the config."""
MOST_FIXES = 3
"""The most fixes shown for one finding: nobody tries more at once."""
TELL = "tell apart:"
"""The start of the `act` of a fix that is suggested only while no cause is proven."""
UNPROVEN = "No cause is proven"
"""The end of a finding's first fix if none of its causes is supported."""
LOOKS = 2
"""The most places to look at that are named together if no cause is proven."""
UNTESTED = 2
"""Rank of a fix that only an untested cause needs."""
BORNE_OUT: Mapping[CauseStatus, int] = {"supported": 0, "untestable": 1, "contradicted": 2}


class Weighed(Struct, frozen=True):
    """A cause from a rule's page after its tests. `weight`: how strong the evidence for it is. `part`: the part of the
    reward that it is about, if a test found one. `outside`: it lies outside the policy and did not come later. `alone`:
    the finding that is its only proof, if there is one."""

    cause: Cause
    name: str
    weight: int = 0
    part: str = ""
    outside: bool = False
    alone: str = ""


Assumable = (Calm, Configured, CouldCost, HeldLevel, HeldOut, IsPenalty, LittleByLittle, MetricMoved, Stands, Steady)
"""Tests that may be mere conditions instead of proofs."""


def weighed(rule: Rule, ground: Ground, spell: Spell, guard: Guard) -> tuple[Weighed, ...]:
    """The causes of a page. Those that this run supports come first, the best supported one leading; those that it
    contradicts come last. Causes whose test raises are left out, as are causes that say less than a supported one."""
    tried: list[Weighed | None] = [
        guard.ask(f"causes of {rule.id}", None, _weighed, text, ground, spell) for text in rule.causes
    ]
    proven = {one.name for one in tried if one is not None and one.cause.status == "supported"}
    said_better = {text.name for text in rule.causes if proven & {*text.unless}}
    found = [one for one in tried if one is not None and not (one.name and one.name in said_better)]
    return tuple(sorted(found, key=lambda one: (BORNE_OUT[one.cause.status], -one.weight)))


def _weighed(text: CauseText, ground: Ground, spell: Spell) -> Weighed:
    of, spell = text.part, replace(spell, direct=text.outside)
    if of is not None and all(ground.test(test, spell).answer != "met" for test in of.tests):
        absent = f"neither log nor config speaks of {of.what}"
        return Weighed(Cause(text.text, None, None, "contradicted", absent, ""), text.name)
    tested = [(test, ground.test(test, spell)) for test in text.tests]
    outcomes = [outcome for test, outcome in tested if not _granted(test, outcome)]
    said: dict[Answer, list[Outcome]] = {"met": [], "unmet": [], "unknown": []}
    for outcome in outcomes:
        said[outcome.answer].append(outcome)
    open_ones = [one for one in said["unknown"] if not one.long]
    met = [] if text.whole and open_ones else said["met"]
    status: CauseStatus = "contradicted" if said["unmet"] else "supported" if met else "untestable"
    telling = said["unmet"] or met or said["unknown"]
    texts = each_once(outcome.text for outcome in telling if outcome.text)
    told = any(AT_RESUME in text for text in texts)
    because = ", ".join(text for text in texts if not (told and text.startswith(RESUMED)))
    weak = status == "untestable" and any(one.weak for one in telling)
    look = text.look if status == "untestable" else ""
    if weak:
        because, look = next(one.text for one in telling if one.weak), ""
    elif look:
        because = f"{because}, so look at {look}" if because else f"look at {look}"
    part = next((outcome.part for outcome in said["met"] if outcome.part), "")
    entry = acting(ground.config, text.config) or weight_of(part, ground.raw)
    value = _plain(entry.value) if entry is not None and entry.active else None
    if status == "supported" and not value and not _asks_settings(text.tests):
        value = None  # a setting that is 0 or off proves nothing unless a test asks about it
    key = entry.key if entry is not None and value is not None else None
    return Weighed(
        Cause(text.text, key, value, status, because, look),
        text.name,
        _weight(said) if status == "supported" else 2 * len(said["met"]) + weak,
        part,
        text.outside and status == "supported" and not said["unknown"] and not all(outcome.late for outcome in met),
        _alone(met) if status == "supported" else "",
    )


def unanswered(rule: Rule, ground: Ground, spell: Spell) -> tuple[str, ...]:
    """What would show that a finding is wrong and is not answered yet. A question is answered if the finding holds
    although the answer is yes, or if the answer is no and cannot change."""
    return tuple(one.text for one in rule.refutations if not _answered(one, ground, spell))


def _answered(text: RefuteText, ground: Ground, spell: Spell) -> bool:
    if text.live and ground.over:
        return True
    answers = {ground.test(test, spell).answer for test in text.tests}
    return answers == {"met"} or ("unmet" in answers and not text.live)


def _asks_settings(tests: Sequence[Test]) -> bool:
    return any(
        _asks_settings(test.tests) if isinstance(test, AnyOf) else isinstance(test, (Configured, PenaltyOff, Updates))
        for test in tests
    )


def _alone(met: Sequence[Outcome]) -> str:
    """The one finding that proves a cause; "" if more does."""
    first = met[0].finding
    return first if all(outcome.finding == first for outcome in met) else ""


def _granted(test: Test, outcome: Outcome) -> bool:
    """Whether a test is only a condition and proves nothing, as it holds for most runs."""
    condition = (isinstance(test, Assumable) and test.assumed) or (isinstance(test, PenaltyOff) and not test.off)
    return condition and outcome.answer != "unmet"


def weight_of(part: str, config: Mapping[str, ConfigValue]) -> ConfigValue | None:
    """The setting that weights a part of the reward: its name contains the part's name and a word for weight. None if
    there is no such setting, or more than one."""
    words = set(words_of(part)) - _SAYS_NOTHING if part else set()
    if not words:
        return None
    found = [
        entry
        for key, entry in config.items()
        if as_number(entry.value) is not None and words < set(own := words_of(key)) and _WEIGHTS & set(own)
    ]
    return found[0] if len(found) == 1 else None


def _weight(said: Mapping[Answer, Sequence[Outcome]]) -> int:
    """The strongest test counts first, then the number of tests that are met. A test that could not be answered costs
    one step, unless a note supports it."""
    strongest = max(outcome.weight for outcome in said["met"])
    return 10 * (strongest - any(not one.weak for one in said["unknown"])) + len(said["met"])


def _plain(value: object) -> str | float | int | bool | None:
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def fixes(
    rule: Rule, names: Dialect, severity: Severity, ground: Ground, causes: Sequence[Weighed], spell: Spell
) -> tuple[Fix, ...]:
    """At most three fixes for a finding of this severity, in this framework's keys. Fixes of supported causes come
    first (if such a cause has no fix for this run, what to look at instead), then fixes that help whatever the cause
    is. Fixes of untested causes come only if there are none of these. Left out are fixes whose causes are all
    contradicted, what the config already has, and changes for a cause that is far less sure than the leading one."""
    rank = SEVERITY_RANK[severity]
    place = {one.name: i for i, one in enumerate(causes) if one.name}
    parts = {one.name: one.part for one in causes}
    status = {one.name: one.cause.status for one in causes if one.name}
    found: list[tuple[tuple[int, int], int, int, Fix]] = []
    mended: set[str] = set()
    asked = ((fix, _fix(fix, names, ground, spell)) for fix in rule.fixes)
    valued = {_turns(fix, names) for fix, one in asked if one is not None and one.to is not None}
    for fix in rule.fixes:
        of = [name for name in fix.causes if status.get(name) != "contradicted"]
        told = _fix(fix, names, ground, spell, next((part for name in of if (part := parts.get(name))), ""))
        if SEVERITY_RANK[fix.least] > rank or told is None or (fix.causes and not of):
            continue
        if any(ground.test(test, spell).answer == "unmet" for test in fix.given):
            continue
        if told.to is None and _turns(fix, names) in valued:
            continue  # the same advice with its value follows
        supported = [place[name] for name in of if status.get(name) == "supported"]
        if supported and fix.risk != "none" and _outweighed(causes[min(supported)], causes[0]):
            mended.update(of)
            continue
        group = (0, min(supported)) if supported else (1, 0) if not fix.causes else (UNTESTED, 0)
        mended.update(of)
        found.append((group, IMPACTS.index(fix.impact), RISKS.index(fix.risk), told))
    kept = {fix.act for *_, fix in found}  # finding out what changed a setting already means looking at it
    found += [
        ((0, place[text.name]), IMPACTS.index("high"), RISKS.index("none"), _to_look(text.look))
        for text in rule.causes
        if text.look and text.name not in mended and status.get(text.name) == "supported"
        if f"{text.config} kept" not in kept
    ]
    proven = any(one.cause.status == "supported" for one in causes)
    if proven or any(one[0][0] < UNTESTED for one in found):
        found = [one for one in found if one[0][0] < UNTESTED]
    if causes and causes[0].outside:  # general remedies for a policy do not help a healthy one
        outside = {(0, place) for place, one in enumerate(causes) if one.outside}
        found = [one for one in found if one[0] in outside] or found
    ordered = [one[3] for one in sorted(found, key=lambda one: one[:3])]
    return (*([] if proven else to_tell([one.cause for one in causes], ordered)), *ordered)[:MOST_FIXES]


def _outweighed(cause: Weighed, lead: Weighed) -> bool:
    """Whether a decisive test proves the leading cause but none proves this one. A sign that merely fits, such as a KL
    that has grown, is not a reason to change a setting."""
    return cause.weight // 10 < DECISIVE <= lead.weight // 10


def _turns(fix: FixText, names: Dialect) -> tuple[str, tuple[str, ...]]:
    """What a fix changes, and for which causes. If this framework has no key for it, the fix's own text."""
    return re.split(r"[,=]", _settings(fix, names) or fix.text, maxsplit=1)[0], tuple(fix.causes)


def _settings(fix: FixText, names: Dialect) -> str | None:
    """The settings that a fix changes in this framework. None if they are not known."""
    return names.settings_of(fix.lever, fix.change.key if fix.change is not None else "")


def to_tell(causes: Sequence[Cause], advised: Sequence[Fix] = ()) -> list[Fix]:
    """How to tell the causes apart if none is proven: a change made on a guess may hide what was wrong. Empty if there
    is no place to look at and the `advised` fixes already begin with finding out."""
    untested = [one for one in causes if one.status == "untestable"]
    looks = each_once(one.look for one in untested if one.look)[:LOOKS]
    whys = each_once(one.because for one in untested if one.because)[:1]
    if not looks and (not whys or any(fix.risk == "none" for fix in advised[:1])):
        return []
    asked = [f"Look first at {looks[0]}", *(f"Then look at {look}" for look in looks[1:])] if looks else []
    told = sentences(*(asked or [f"Find this out first: {whys[0]}"]))
    return [Fix(f"{told} {UNPROVEN}", None, "high", "none", act=f"{TELL} {told}")]


def _to_look(at: str) -> Fix:
    text = f"Look at {at}"
    return Fix(text, None, "high", "none", act=text)


def _fix(fix: FixText, names: Dialect, ground: Ground, spell: Spell, part: str = "") -> Fix | None:
    """None if the config already has the fix, if the setting has no effect in this run, or if the fix removes something
    that the run is not known to have. `part`: the name of the extra part of the reward that the cause is about."""
    key, act = _settings(fix, names), fix.act or fix.text
    if _is_so(key, ground.raw):
        return None
    if part and EXTRA in fix.text:
        fix = replace(fix, text=fix.text.replace(EXTRA, part))
        if fix.weight is not None and (entry := weight_of(part, ground.raw)) is not None:
            lower = _target(NewValue(entry.key, times=fix.weight, way="down"), entry.value)
            return Fix(fix.text, entry.key, fix.impact, fix.risk, _plain(entry.value), lower, act)
    change, config = fix.change, ground.config
    if fix.done is not None:
        has = acting(config, fix.done.key)
        if has is not None and has.active and fix.done.holds(has.value):
            return None
    entry = acting(config, change.key) if change is not None else None
    absent = entry is None or entry.value is None
    if absent and change is not None and (change.to, change.way) == (0, "down"):
        return None
    if change is None or entry is None or entry.value is None:
        return Fix(fix.text, key, fix.impact, fix.risk, act=f"{change.key} {change.way}" if change else act)
    if not entry.active:
        return None
    if as_number(entry.value) is not None and _sets_more(change.key, entry, config):
        return Fix(fix.text, key, fix.impact, fix.risk, act=f"{change.key} {change.way}")
    value, to = _plain(entry.value), _target(change, entry.value)
    meant, acts = as_number(entry.value), _logged(ground, change.key)
    if meant and acts is not None and change.times is not None:
        if strayed := _strayed(ground, change, meant, spell):
            return Fix(strayed, entry.key, fix.impact, fix.risk, act=f"{change.key} kept")
        if acts > OTHER * meant if change.times < 1 else acts < meant / OTHER:  # the setting itself is right
            used, set_to = setting_value(float(f"{acts:.2g}")), setting_value(meant)
            text = f"Find what makes the {label_of(change.key)} {used}, as the config sets it to {set_to}"
            return Fix(text, entry.key, fix.impact, fix.risk, act=f"{change.key} kept")
    if meant and to is not None and change.times is not None:
        to = _before_it_changed(ground, entry.key, meant, change.times, to)
    return (
        None if to is None else Fix(fix.text, entry.key, fix.impact, fix.risk, value, to, f"{change.key} {change.way}")
    )


def _is_so(settings: str | None, config: Mapping[str, ConfigValue]) -> bool:
    """Whether the config already has the first setting that a fix asks for (`a.b=c, d`)."""
    key, _, value = (settings or "").split(",")[0].partition("=")
    has = config.get(key.lstrip("+-"))
    return bool(value) and has is not None and str(has.value).lower() == value.strip().lower()


def _before_it_changed(ground: Ground, key: str, now: float, times: float, to: Any) -> Any:
    """The value of the setting before a resume changed it, if that lies in the direction of the fix; else `to`."""
    was = [as_number(one.before) for one in ground.changed if one.key == key and as_number(one.now) == now]
    back = was[-1] if was else None
    return to if back is None or (back < now) != (times < 1) else _whole(back)


def _sets_more(canonical: str, entry: ConfigValue, config: Mapping[str, ConfigValue]) -> bool:
    """Whether the key also sets something else, as one clip range sets both of its sides. No value would then change
    just one of them."""
    return any(name != canonical and other.active and other.key == entry.key for name, other in config.items())


def _logged(ground: Ground, key: str) -> float | None:
    """The newest value of a setting in the metric of the same name: a schedule or a second config may have
    changed it."""
    found = ground.look.facts.metric(key)
    return None if found is None else float(found.values[-1])


def _strayed(ground: Ground, change: NewValue, meant: float, spell: Spell) -> str:
    """What to look for if, as the finding began, the value in use left the configured one in the direction that the fix
    works against, and later came back: the setting itself is right. Empty if it did not."""
    series, began = ground.look.series(change.key), spell.onset if spell.onset is not None else spell.end
    if series is None or change.times is None or change.times > 1 or series.values[-1] > OTHER * meant:
        return ""
    off = series.where((series.steps >= began - JUST_BEFORE) & (series.values > OTHER * meant))
    if not len(off) or off.steps[0] > began + spell.late + spell.early:
        return ""
    first, last = int(off.steps[0]), int(off.steps[-1])
    most, label = setting_value(float(f"{off.values.max():.2g}")), label_of(change.key)
    when = f"at step {first}" if first == last else f"from step {first} to {last}"
    return f"Find what set the {label} to {most} {when}, as the config sets it to {setting_value(meant)}"


def _target(change: NewValue, value: object) -> str | float | bool | None:
    """The value to try; None if the present value is as good."""
    now = as_number(value)
    if change.times is not None:
        if now is None or now == 0:
            return None if now is None else change.instead_of_0
        to = now * change.times
        to = to if change.least is None else max(to, change.least)
        to = to if change.most is None else min(to, change.most)
        to = float(f"{to:.1g}") if not isinstance(value, int) else float(max(1, round(to)))
        return None if (to >= now) == (change.times < 1) or to == now else _whole(to)
    wanted = as_number(change.to)
    if now is not None and wanted is not None:
        there = {"up": now >= wanted, "down": now <= wanted, "set": now == wanted}[change.way]
    else:
        there = str(value).lower() == str(change.to).lower()
    return None if there else change.to


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value
