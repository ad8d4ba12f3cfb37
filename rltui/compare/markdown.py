"""A comparison as Markdown: Good, Bad, Ugly, settings, what to run next. Every number is from the comparison object."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.compare.model import Comparison, ConfigDiff, RunLine
from rltui.compare.plot import COST_WORDS, cost_text, curves, overlaid, pareto
from rltui.plots.numbers import integer, number, percent
from rltui.prose import counted, joined
from rltui.report.escape import code, fenced, plain, table

SHOWN = 12  # rows of a table, unless asked for more
QUOTED = 240  # most characters of a flag's text
ALIKE = 6  # most names that are listed of settings that vary together; the rest is counted
UNKNOWN = "n/a"


def render(c: Comparison, top: int = SHOWN) -> str:
    """The whole comparison, with at most `top` rows in the tables of runs and settings."""
    parts = [
        _summary(c),
        _group(c, "good", "Good: nothing broke, and within two standard errors of the best at their cost", top),
        _good_extras(c),
        _group(c, "bad", "Bad: nothing broke, but they fall short", top),
        _listed("What limits them and the ugly ones", [plain(t) for t in c.limits]),
        _listed("How to read that", [plain(t) for t in c.readings]),
        _ugly(c, top),
        _configurations(c, top),
        _fair(c, top),
        _signals(c, top),
        _experiments(c),
        _diff("Best default config", c.best_default, _no_default(c), top=None),
        _diff("Config difference", c.diff, None, top=None),
        _listed("Notes", [plain(n) for n in c.notes]),
    ]
    return "\n".join("\n".join(part) + "\n" for part in parts if part)


def _summary(c: Comparison) -> list[str]:
    count = {g: sum(r.group == g for r in c.runs) for g in ("good", "bad", "ugly")}
    p = c.primary
    way = "higher is better" if p.higher_is_better else "lower is better"
    best = next((r for r in c.runs if r.best is not None), None)
    which = "none" if p.name is None else f"{code(p.name)} ({plain(p.label)}), {way}"
    out = [
        f"# Comparison of {counted(len(c.runs), 'run')}: "
        f"{count['good']} good, {count['bad']} bad, {count['ugly']} ugly",
        "",
        f"- primary metric: {which}, {plain(p.how)}",
        f"- runs that log it: {p.runs} of {len(c.runs)}",
    ]
    if best is not None:
        out.append(
            f"- best: {code(best.id)}, {number(best.best)} ± {number(best.se, missing=UNKNOWN)} at step "
            f"{integer(best.best_step)} (smoothed, as the single best step would flatter)"
        )
    return out + [f"- **the order may not hold**: {plain(text)}" for text in c.cautions]


def _rows(c: Comparison, runs: Sequence[RunLine]) -> list[str]:
    axis = c.cost
    head = ["run", "best", "±", "step", "first → last", COST_WORDS[axis] if axis else "cost", "state", "verdict", "why"]
    rows = [
        [
            ("**" if r.on_front else "") + code(r.id) + ("** ◆" if r.on_front else ""),
            number(r.best, missing=UNKNOWN),
            number(r.se, missing=UNKNOWN),
            integer(r.best_step, missing=UNKNOWN),
            f"{number(r.first, missing=UNKNOWN)} → {number(r.last, missing=UNKNOWN)}",
            cost_text(axis, r.cost[axis]) if axis else UNKNOWN,
            r.state,
            r.badge,
            plain(r.because),
        ]
        for r in runs
    ]
    return table(head, rows, "lrrrrr")


def _group(c: Comparison, which: str, title: str, top: int) -> list[str]:
    runs = [r for r in c.runs if r.group == which]
    if not runs:
        return [f"## {title}", "", "None."]
    spread = []
    if which == "bad" and c.spread is not None:
        low, middle, high = (number(v) for v in c.spread)
        counts = ", ".join(f"{word} {n}" for word, n in c.flag_counts.items()) or "none"
        spread = [f"All runs: worst {low}, median {middle}, best {high}. Flags: {counts}.", ""]
    more = [f"\n{len(runs) - top} more are in the JSON."] if len(runs) > top else []
    return [f"## {title}", "", *spread, *_rows(c, runs[:top]), *more]


def _good_extras(c: Comparison) -> list[str]:
    out: list[str] = []
    if c.shared:
        out += ["### What the good runs share", "", *[f"- {plain(s)}" for s in c.shared], ""]
    drawn = pareto(c)
    if drawn:
        out += [f"### Pareto front: {COST_WORDS[c.cost or 'steps']}", ""]
        out += [f"On the front, cheapest first (◆ in the tables): {', '.join(map(code, c.front)) or 'none'}.", ""]
        others = [f"{COST_WORDS[n]}: {', '.join(map(code, f))}" for n, f in c.fronts.items() if f and n != c.cost]
        out += [f"- by {text}" for text in others]
        out += ["", *fenced(drawn), ""]
    best = [r for r in c.runs if r.best is not None][:SHOWN]
    figures = [part for part in (overlaid(c, best), curves(c, best)) if part]
    return out + (
        ["### Over the steps", *(line for part in figures for line in ("", *fenced(part)))] if figures else []
    )


def _ugly(c: Comparison, top: int) -> list[str]:
    title = "Ugly: unstable, broken, or rewarded for something else"
    runs = [r for r in c.runs if r.group == "ugly"]
    if not runs:
        return [f"## {title}", "", "None."]
    rows = [
        [
            code(r.id),
            number(r.best, missing=UNKNOWN),
            number(r.last, missing=UNKNOWN),
            r.state,
            r.badge,
            joined(f"**{f.word}**: {plain(_short(f.text))}" for f in r.flags),
        ]
        for r in runs[:top]
    ]
    return [f"## {title}", "", *table(["run", "best", "last", "state", "verdict", "flags"], rows, "lrr")]


def _short(text: str) -> str:
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1].rstrip()}…"


def _fair(c: Comparison, top: int) -> list[str]:
    known = [n for n, budget in c.equal_budget.items() if budget is not None]
    scored = [r for r in c.runs if r.best is not None]
    if not known or len(scored) < 2:
        return []
    head = ["run", *[_budget(n, c.equal_budget[n]) for n in known]]
    rows = [
        [code(r.id), *[number(r.at_equal[n], missing=UNKNOWN) for n in known]]
        for r in scored[:top]
    ]  # fmt: skip
    out = ["## At equal budget", "", "The best smoothed value within what every run reached.", ""]
    out += table(head, rows, "l" + "r" * len(known))
    banded = [r for r in scored if r.band is not None]
    if banded:
        rows = [
            [
                code(r.id),
                percent(b.inside),
                percent(b.below),
                percent(b.above),
                f"behind since {b.behind_since}"
                if b.behind_since is not None
                else f"ahead since {b.ahead_since}"
                if b.ahead_since is not None
                else "",
            ]
            for r in banded[:top]
            if (b := r.band) is not None
        ]
        out += ["", "Against the 10-90 % band of the other runs at the same step:", ""]
        out += table(["run", "inside", "worse", "better", ""], rows, "lrrr")
    return out


def _budget(name: str, value: float | None) -> str:
    return f"at {cost_text(name, value)}" + ("" if name == "hours" else f" {COST_WORDS[name]}")


def _configurations(c: Comparison, top: int) -> list[str]:
    r = c.replicates
    if len(r.configurations) < 2:
        return []
    out = ["## Configurations", ""]
    if r.settled:
        out += [f"**{plain(r.settled)}.**", ""]
    rows = [
        [
            ", ".join(code(f"{key} = {value}") for key, value in list(one.settings.items())[:SETTINGS]) or UNKNOWN,
            str(len(one.runs)),
            number(one.mean),
            f"{number(one.low)} to {number(one.high)}" if one.low is not None and one.high is not None else UNKNOWN,
            number(one.beaten, decimals=2, missing=UNKNOWN),
        ]
        for one in r.configurations[:top]
    ]
    out += table(["settings that differ", "runs", "mean", "95 % interval", "leader is better"], rows, "lrrrr")
    if r.sd is not None:
        out += ["", f"From run to run with the same settings: {number(r.sd)} (on {r.df} degrees of freedom, pooled)."]
    changes = [one for one in r.effects if one.q <= SURE_Q][:top]
    if changes:
        rows = [
            [code(one.setting), plain(one.before), plain(one.after), str(one.pairs), number(one.value, sign=True),
             f"{number(one.low)} to {number(one.high)}", number(one.q)]
            for one in changes
        ]  # fmt: skip
        out += ["", "Changes of one setting, all else the same, that go with the metric:", ""]
        out += table(["setting", "from", "to", "pairs", "difference", "95 % interval", "q"], rows, "lllrrrr")
    elif r.effects:
        out += ["", f"{counted(len(r.effects), 'change')} of one setting were tried, and none goes with the metric."]
    if r.left_out:
        told = ", ".join(f"{code(run)} ({plain(why)})" for run, why in list(r.left_out.items())[:LEFT_OUT])
        more = f" and {len(r.left_out) - LEFT_OUT} more" if len(r.left_out) > LEFT_OUT else ""
        out += ["", f"Not in them: {told}{more}."]
    return out


SETTINGS, LEFT_OUT, SURE_Q = 4, 8, 0.05
"""Most settings in a row, most runs that are named as left out, and the highest false discovery rate at which a change
is listed."""


def _signals(c: Comparison, top: int) -> list[str]:
    s = c.signals
    out = ["## Hyperparameter signals", "", f"{plain(s.note[:1].upper() + s.note[1:])}. "]
    if len(c.runs) > 1:
        same = f"{s.constants} setting{'s are' if s.constants != 1 else ' is'} the same in all runs"
        out.append(f"{same} and left out.")
    rows = [
        [
            code(item.setting) + (f" (+{len(item.keys) - 1} alike)" if len(item.keys) > 1 else ""),
            str(item.n),
            number(item.rho, decimals=2, sign=True, missing=UNKNOWN),
            number(item.p, missing=UNKNOWN),
            number(item.q, missing=UNKNOWN),
            ", ".join(f"{plain(b.value)}: {number(b.mean)} (n {b.n})" for b in item.bins),
        ]
        for item in s.items[:top]
    ]
    if rows:
        out += ["", *table(["setting", "n", "rho", "p", "q", "mean by value (n)"], rows, "lrrrr")]
    alike = [
        ", ".join(map(code, item.keys[:ALIKE]))
        + (f" and {len(item.keys) - ALIKE} more" if len(item.keys) > ALIKE else "")
        for item in s.items[:top]
        if len(item.keys) > 1
    ]
    if alike:
        out += ["", "Settings that always change together cannot be told apart:", "", *[f"- {text}" for text in alike]]
    return out


def _experiments(c: Comparison) -> list[str]:
    out = ["## Next experiments", ""]
    if not c.experiments:
        return [*out, "No run logs the primary metric: there is nothing to start from."]
    if any(run.id == c.experiments[0].base and run.group == "ugly" for run in c.runs):
        out += ["No run is healthy: first fix what broke the best of them, one thing at a time.", ""]
    for i, e in enumerate(c.experiments, 1):
        change = (
            ""
            if e.setting is None
            else f" ({code(e.setting)}, now {e.before or 'not set'})"
            if e.after is None
            else f" ({code(e.setting)}: {e.before or 'not set'} → {e.after})"
        )
        out += [
            f"{i}. **{plain(e.title)}**{change}",
            f"   - from: {code(e.base or '')}, nothing else changed",
            f"   - why: {plain(e.why)}",
            f"   - expected: {plain(e.expected)}",
            f"   - refuted if: {plain(e.refuted_by)}",
            f"   - cost: {plain(e.cost)}",
        ]
    return out


def _no_default(c: Comparison) -> str:
    if len(c.runs) < 2:
        return "one run has nothing to differ from"
    return "the order of the runs may not hold" if c.cautions else "no run is fit to be a default"


def _diff(title: str, diff: ConfigDiff | None, nothing: str | None, top: int | None) -> list[str]:
    if diff is None:
        return [f"## {title}", "", f"None: {nothing}."] if nothing else []
    if not diff.changes and not diff.same:
        return [f"## {title}", "", "None: no settings are recorded."]
    if not diff.changes:
        return [f"## {title}", "", f"{code(diff.a)} and {code(diff.b)} do not differ ({diff.same} keys)."]
    lines = [f"--- {diff.a}", f"+++ {diff.b}"]
    for change in diff.changes[:top]:
        lines += [f"-{change.key} = {change.a}"] if change.a is not None else []
        lines += [f"+{change.key} = {change.b}"] if change.b is not None else []
    block = fenced(lines)
    block[0] = block[0].replace("text", "diff")
    return [f"## {title}", "", *block, "", f"{diff.same} keys are the same."]


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f"### {title}", "", *[f"- {line}" for line in lines]] if lines else []
