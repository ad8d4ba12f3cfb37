"""What is known about one metric: numbers, meaning, forecast, findings that use it, and its source."""

from __future__ import annotations

from functools import partial

from rltui.manual.glossary import called
from rltui.plots.numbers import UNMOVED, integer, number
from rltui.report.courses import change_of, from_peak
from rltui.tui.rows import Row, clip, put, title, wrap, wrapped
from rltui.tui.view import GLYPH, ROLE, View

OTHERS = 6
REWARDS = ("reward_mean", "score_mean")


def top(view: View, name: str, width: int) -> Row:
    """`✗ critical  reward mean  0.208   −0.485 since its first window   critic/score/mean`"""
    metric = view.metric(name)
    if metric is None:
        return [(" ", "fg"), (f"{view.label(name)} is not logged", "dim")]
    finding = view.flagged.get(name)
    row: Row = [(" ", "fg")]
    if finding is not None:
        row.append((f"{GLYPH[finding.severity]} {finding.severity}  ", ROLE[finding.severity]))
    row += [(f"{view.label(name)}  ", "strong"), (view.value(name, view.now_value(name)), "strong")]
    row.append((f" {view.unit(name)}", "dim"))
    moved, base = change_of(metric, finding), "value" if metric.overlap else "window"
    base = f"middle {base}" if from_peak(metric, finding) else f"first {base}"
    if moved and moved != UNMOVED:
        words = f"of its {base}" if moved.endswith("×") else f"since its {base}"
        row.append((f"   {moved} {words}", ROLE[finding.severity] if finding else "fg"))
    return clip([*row, (f"   {metric.key}", "dim")], width - 1)


def full(view: View, name: str, width: int) -> list[Row]:
    """All of it, for its own column."""
    rows = [title(width, "", "Statistics", [(_counted(view, name), "dim")]), *_numbers(view, name)]
    rows += _section(width, "What it is", _meaning(view, name, width))
    rows += _section(width, "If it goes on like this", _forecast(view, name, width))
    rows += _section(width, "Findings that use it", _used(view, name, width))
    others = [other for other in list(view.flagged)[:OTHERS] if other != name]
    if view.cursor is not None and others:
        rows += [[], title(width, "", f"At step {view.cursor}")]
        rows += [
            [
                put(f" {view.label(other)}", 26, "dim"),
                put(view.value(other, view.value_at(other, view.cursor)), 10, "fg", ">"),
                (f" {view.unit(other)}", "dim"),
            ]
            for other in others
        ]
    return rows + _section(width, "Where it comes from", _source(view, name, width))


def short(view: View, name: str, width: int) -> list[Row]:
    """The same in a few rows below the chart."""
    metric = view.metric(name)
    if metric is None:
        return []
    show = partial(view.value, name)
    rows: list[Row] = [
        title(width, "", "Statistics", [(_counted(view, name), "dim")]),
        [
            (" first → mid → last  ", "dim"),
            (f"{show(metric.first)} → {show(metric.mid)} → {show(metric.last)}", "fg"),
            *([("   min ", "dim"), (show(metric.min), "fg")] if width >= 70 else []),
            *([("   max ", "dim"), (show(metric.max), "fg")] if width >= 70 else []),
        ],
        [
            (" slope ", "dim"),
            (_slope(view, name), "fg"),
            (" per 100 steps", "dim"),
            (f"   {metric.shape}" if metric.shape else "", "fg"),
        ],
    ]
    here = _here(view, name)
    rows += [[(" ", "fg"), (line, "fg")] for line in wrapped(here, width - 2, 1)]
    rows += [[(" ", "fg"), (line, "dim")] for line in wrapped(view.explained(name), width - 2, 1 if here else 2)]
    return [*rows, *_forecast(view, name, width), *_used(view, name, width)]


def _section(width: int, name: str, rows: list[Row]) -> list[Row]:
    return [[], title(width, "", name), *rows] if rows else []


def _pair(name: str, value: str, extra: str = "") -> Row:
    return [put(f" {name}", 19, "dim"), put(value, 10, "fg", ">"), (f"  {extra}", "dim")]


def _slope(view: View, name: str) -> str:
    metric = view.metric(name)
    slope = metric.slope_per_100_steps if metric else None
    return number(None if slope is None else slope * (100 if view.unit(name) == "%" else 1), sign=True, missing="–")


def _numbers(view: View, name: str) -> list[Row]:
    metric = view.metric(name)
    if metric is None:
        return []
    show, unit = partial(view.value, name), view.unit(name)
    rows = [
        _pair("first window", show(metric.first), unit),
        _pair("mid window", show(metric.mid), unit),
        _pair("last window", show(metric.last), unit),
        _pair("min", show(metric.min)),
        _pair("max", show(metric.max)),
        _pair("mean", show(metric.mean)),
        [],
        _pair("slope", _slope(view, name), "per 100 steps"),
        _pair("correlation", number(metric.corr_step, sign=True, decimals=2, missing="–"), "with the step"),
    ]
    if metric.shape:
        rows += [[], [(" shape  ", "dim"), (metric.shape, "fg")]]
    return rows


def _counted(view: View, name: str) -> str:
    metric = view.metric(name)
    if metric is None:
        return ""
    parts = [f"{integer(metric.count)} rows"]
    if metric.nan:
        parts.append(f"{metric.nan} not finite")
    if metric.left_out:
        parts.append(f"{integer(metric.left_out)} left out")
    parts.append(f"{integer(metric.missing)} missing" if metric.missing else "none missing")
    return ", ".join(parts)


def _meaning(view: View, name: str, width: int) -> list[Row]:
    """Meaning, unit, usual range, healthy shape, and what is easy to misread."""
    known = view.known(name)
    if known is None:
        return [[(" a key of this run whose meaning is not known", "dim")]]
    metric, frame = view.metric(name), view.recording
    named = frame.run.names.get(metric.key) if frame is not None and metric is not None else None
    better = {"up": "higher is better", "down": "lower is better"}.get(known.direction, "")
    told = (
        ("", known.meaning, "fg"),
        ("unit", ", ".join(part for part in (known.unit if known.unit != "1" else "", better) if part), "fg"),
        ("usual", known.range, "fg"),
        ("healthy", known.healthy, "fg"),
        ("here", _here(view, name), "fg"),
        ("caution", (named.trap if named else "") or known.trap, "dim"),
    )
    rows: list[Row] = []
    for word, text, role in told:
        lead = f" {word:<8}" if word else " "
        for i, line in enumerate(wrap(text, width - len(lead) - 1)):
            rows.append([(lead if i == 0 else " " * len(lead), "dim"), (line, role)])
    return rows


def _here(view: View, name: str) -> str:
    """What the reward of this run contains, which depends on where its config puts the KL penalty."""
    from rltui.report.markdown_metrics import reward_note

    known = view.known(name)
    return reward_note(view.report) if view.report is not None and known is not None and known.name in REWARDS else ""


def _forecast(view: View, name: str, width: int) -> list[Row]:
    outlook = view.outlook
    found = [f for f in outlook.forecasts if view.name_of(f.metric) == name] if outlook else []
    return [[(" ", "fg"), (line, "fg")] for f in found for line in wrap(f.text, width - 2)]


def _used(view: View, name: str, width: int) -> list[Row]:
    rows: list[Row] = []
    for finding in view.report.findings if view.report else ():
        if any(view.name_of(e.metric) == name for e in finding.evidence):
            shown = "resolved" if finding.status == "resolved" else finding.severity
            role = "dim" if shown == "resolved" else ROLE[finding.severity]
            rows.append(clip([(f" {GLYPH[shown]} {called(shown):<9} ", role), (finding.title, "fg")], width))
    return rows


def _source(view: View, name: str, width: int) -> list[Row]:
    metric = view.metric(name)
    rows: list[Row] = [[(" key   ", "dim"), (line, "fg")] for line in wrap(metric.key if metric else "", width - 8)]
    for source in view.report.run.sources[:3] if view.report else ():
        lines = wrap(source.path, width - 8)
        rows += [[(" file  " if i == 0 else "       ", "dim"), (line, "fg")] for i, line in enumerate(lines)]
    return rows
