"""Rules: tables, facts, cards and sentences show one number, rounded in one way."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltui.rules.catalogue import rules
from rltui.rules.traits import Trait
from tests.contradictions.digits import WRITTEN, rounds
from tests.contradictions.engine import rule
from tests.contradictions.readers import close
from tests.contradictions.surfaces import Json, Said

COURSES = ("score", "reward", "validation")
ODD = (
    (re.compile(r"(?<![\w.,/])\d{1,3}(?:,\d{3})+(?![\d,])"), "a comma between thousands"),
    (re.compile(r"\d(?:\.\d+)?e[+−-]0\d"), "a zero in the exponent"),
    (re.compile(r"(?<![\w.\-/:\"'@=\[({])(?<!\w is )-\d+(?:\.\d+)?(?![\w\-/])"), "a hyphen for a minus"),
)
"""What no number of ours looks like."""


def _words(said: Said) -> Iterator[tuple[str, str]]:
    """(where, text) of every sentence that we wrote. What is quoted from log or config is as it was written there."""
    yield from said.sentences()
    for finding in said.active:
        for evidence in finding["evidence"]:
            yield f"evidence of {finding['id']}", evidence.get("text") or ""
    outlook = said.report.get("outlook") or {}
    for name in ("worth", "rewards", "slow", "waits"):
        yield f"outlook, {name}", (outlook.get(name) or {}).get("text") or ""
    for one in (*(outlook.get("forecasts") or ()), *(outlook.get("invariants") or ())):
        yield "outlook", one.get("text") or one.get("measured") or ""
    for stage in said.report["pipeline"]:
        yield f"stage {stage['stage']}", stage["because"]
    for moved in said.report.get("moved") or ():
        yield "moved", moved.get("text") or ""


@rule
def numbers_are_written_one_way(said: Said) -> Iterator[str]:
    """A number looks the same in a sentence and in a table: no comma, no padded exponent, a true minus. Quotes keep
    what the log wrote, and a setting is told as its config has it."""
    told = [(where, re.sub(r"“[^”]*”|`[^`]*`", "", text)) for where, text in _words(said)]
    if said.page is not None:
        bare = re.sub(r"## 3\..*?From the log:.*?(?=\n## )|“[^”]*”|`[^`]*`", "", said.page.text, flags=re.S)
        told += [
            ("page", line) for line in bare.splitlines() if line.startswith(("|", "- ")) and "newest row" not in line
        ]
    for where, text in told:
        for pattern, what in ODD:
            if (found := pattern.search(text)) and not re.match(r"- (Path|Framework)", text):
                yield f"{where}: {found[0]!r} has {what}: {text[max(0, found.start() - 40) : found.end() + 20]!r}"


@rule
def page_table_and_json(said: Said) -> Iterator[str]:
    """Every row of the page's table of metrics rounds the numbers of the JSON. What is constant or logged once has no
    row."""
    if said.page is None:
        return
    by_key = {m["key"]: m for m in said.report["metrics"].values()}
    for line in said.page.sections.get("metric", ()):
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|") or len(cells) != 11 or not cells[10].startswith("`"):
            continue
        metric = by_key.get(cells[10].strip("`"))
        if metric is None:
            continue
        names = ("first", "mid", "last", "slope_per_100_steps", "corr_step", "min", "max")
        for name, cell in zip(names, (*cells[1:4], *cells[5:9]), strict=True):
            if cell != "n/a" and not rounds(cell, metric[name]):
                yield f"page: {metric['key']} {name} {cell}, JSON: {metric[name]}"
        if metric["shape"] and not cells[9].startswith(metric["shape"]):
            yield f"page: {metric['key']} {cells[9]!r}, JSON: {metric['shape']!r}"


@rule
def steady_and_course(said: Said) -> Iterator[str]:
    """A metric is steady in every table if its sentences say so, and never if they say that it rose or fell."""
    for name in COURSES:
        course = (said.report.get("facts") or {}).get(name) or {}
        since = course.get("since_start")
        for metric in said.report["metrics"].values() if since else ():
            still = not since["direction"] and not course["moves"]
            if metric["key"] == course["key"] and metric["canonical"] == course["metric"] and metric["steady"] != still:
                yield f"{metric['key']}: steady {metric['steady']}, in sentences {since['direction']:+d}"


@rule
def values_and_extremes(said: Said) -> Iterator[str]:
    """No value of a metric lies beyond its least and its greatest. The ends may, if rows are left out of the rest: a
    failing grader's numbers are logged and count nowhere, and the report says how many."""
    for name, metric in said.report["metrics"].items():
        low, high = metric["min"], metric["max"]
        ends = () if metric["left_out"] else ("first_value", "last_value")
        for what in ("first", "mid", "last", "mean", *ends):
            value = metric[what]
            if None in (low, high, value) or low <= value <= high:
                continue
            if not close(value, low) and not close(value, high):
                yield f"JSON: {name} {what} {value} is not within {low} to {high}"


TRIPLE = re.compile(rf"({WRITTEN}) → ({WRITTEN}) → ({WRITTEN})")


@rule
def card_and_evidence(said: Said) -> Iterator[str]:
    """The page's card of an open warning or worse shows first, mid and last of its evidence. Of so few values that
    these share some it shows the first and the newest one."""
    if said.page is None:
        return
    shown = TRIPLE.findall(said.page.text)
    few = {metric["key"] for metric in said.report["metrics"].values() if metric.get("overlap")}
    for finding in said.loud:
        for evidence in finding["evidence"][:1]:
            wanted = [evidence[part] for part in ("first", "mid", "last")]
            if None in wanted or evidence["key"] in few:
                continue
            if not any(all(map(rounds, triple, wanted)) for triple in shown):
                yield f"{finding['id']}: {evidence['metric']} {wanted} stands on no card of the page"


@rule
def facts_and_table(said: Said) -> Iterator[str]:
    """The fact table knows the metrics by the numbers of their table, the run by its steps, the time left as the run's
    own line has it. Time left is told only of a run that is running."""
    facts = said.report.get("facts")
    if not facts or "clock" not in facts:
        return
    for name in COURSES:
        course = facts[name]
        table = None if course is None else said.metric(course["metric"]) or said.metric(course["key"])
        if course is None or table is None:
            continue
        for part in ("first", "last"):
            shown = table[f"{part}_value"] if table["overlap"] else table[part]
            if table["key"] == course["key"] and shown is not None and not close(course[part], shown):
                yield f"facts: {name} {part} {course[part]}, table: {shown}"
        peak = course["peak"]
        if peak is not None and not table["min"] - 1e-9 <= peak["value"] <= table["max"] + 1e-9:
            yield f"facts: {name} peaks at {peak['value']}, table: {table['min']} to {table['max']}"
    steps, clock = said.report["run"]["steps"], facts["clock"]
    if clock["step"] != steps["last"] or clock["first_step"] != steps["first"]:
        yield f"facts: steps {clock['first_step']} to {clock['step']}, run: {steps['first']} to {steps['last']}"
    if clock["planned_steps"] != steps["total"]:
        yield f"facts: {clock['planned_steps']} planned, run: {steps['total']}"
    left = (facts["pace"] or {}).get("left_s")
    if said.state == "running" and not close(left, said.report["run"]["eta_s"]):
        yield f"facts: {left} s left, run: {said.report['run']['eta_s']}"


BEST = re.compile(rf"(?:below|above) its best of ({WRITTEN}) at step (\d+)")


@rule
def peaks_in_sentences(said: Said) -> Iterator[str]:
    """ "Its best of A at step N" is the peak of the fact table."""
    facts = said.report.get("facts") or {}
    peaks = [course["peak"] for name in COURSES if (course := facts.get(name)) and course["peak"]]
    for where, text in said.sentences():
        for value, step in BEST.findall(text):
            if peaks and not any(peak["step"] == int(step) and rounds(value, peak["value"]) for peak in peaks):
                yield f"{where}: best of {value} at step {step}, facts: {[(p['value'], p['step']) for p in peaks]}"


@rule
def best_value_everywhere(said: Said) -> Iterator[str]:
    """The value of the best step is one number, in the JSON, on the page, and, if no checkpoint decides and nothing
    broke, the peak of the fact table. A saved checkpoint may have another value: it lies beside the peak. By several
    validation sets the peak is that of their mean."""
    best, facts = said.report["verdict"]["best_checkpoint"], said.report.get("facts") or {}
    if best is None:
        return
    if said.page is not None:
        told = re.search(
            rf"Best (?:checkpoint|step): \*\*step {best['step']}\*\*.*? ({WRITTEN}) ± ({WRITTEN}),", said.page.text
        )
        if told and best["se"] is not None and not (rounds(told[1], best["value"]) and rounds(told[2], best["se"])):
            yield f"page: best {told[1]} ± {told[2]}, JSON: {best['value']} ± {best['se']}"
    broke = any(f["severity"] == "critical" for f in said.active) or "mean z" in best.get("basis", "")
    course = next((c for name in COURSES if (c := facts.get(name)) and c["key"] == best["metric"]), None)
    peak = course["peak"] if course is not None and best["path"] is None and not broke else None
    if peak is not None and not close(best["value"], peak["value"]):
        yield f"verdict: best {best['value']} at {best['step']}, facts: {peak}"


@rule
def coverage_and_table(said: Said) -> Iterator[str]:
    """What is missing stands in no table, unless it is 0 throughout, which counts as not measured, and says so. What
    could not be checked has no open finding. Page and screens count alike."""
    report = said.report
    for gap in report["coverage"]["missing"]:
        logged = report["metrics"].get(gap["metric"])
        if logged is not None and logged["count"] and not (gap.get("zero") and logged["min"] == logged["max"] == 0):
            yield f"{gap['metric']} is not logged, and has {logged['count']} points"
    blind = {check["title"] for check in report["not_evaluable"] if "title" in check}
    for finding in said.active:
        if finding["title"] in blind:
            yield f"{finding['id']} is open, and could not be checked"
    own = (report["coverage"]["present"], report["coverage"]["expected"])
    texts = {"page": said.page.text if said.page is not None else ""} | said.screens
    for where, text in texts.items():
        for found in re.findall(r"(\d+) of (\d+) expected metrics", text):
            if tuple(map(int, found)) != own:
                yield f"{where}: {found} metrics, JSON: {own}"


@rule
def cause_and_config(said: Said) -> Iterator[str]:
    """The value that a cause rests on is the one of the config, and is in force."""
    by_key = {entry["key"]: entry for entry in said.report["config"].values()}
    for finding in said.active:
        for cause in finding["causes"]:
            entry = by_key.get(cause["config_key"])
            if entry is None or cause["value"] is None:
                continue
            if str(entry["value"]) != str(cause["value"]):
                yield f"{finding['id']}: {cause['config_key']} {cause['value']}, config: {entry['value']}"
            if cause.get("status") == "supported" and not entry["active"]:
                yield f"{finding['id']}: {cause['config_key']} supports it, and is not in force"


@rule
def finding_and_explain(said: Said) -> Iterator[str]:
    """`explain` knows a finding by its title, its stage and the worst that it may be. A notice has a title of its own,
    for at that level nothing is wrong; an invariant's stage is that of what is broken, as is that of values that are
    not finite."""
    rank = {"notice": 0, "info": 0, "warning": 1, "critical": 2}
    for finding in said.report["findings"]:
        page = said.explained.get(finding["id"])
        if page is None:
            continue
        if page["title"] != finding["title"] and finding["severity"] != "info":
            yield f"{finding['id']}: {finding['title']!r}, explain: {page['title']!r}"
        of_any = finding["subject"] or Trait.NONFINITE in rules()[finding["id"]].traits
        if page["stage"] is not None and page["stage"] != finding["stage"] and not of_any:
            yield f"{finding['id']}: stage {finding['stage']}, explain: {page['stage']}"
        if rank[finding["peak_severity"]] > rank.get(page["severity"], 2):
            yield f"{finding['id']}: was {finding['peak_severity']}, explain: {page['severity']} at most"


@rule
def decision_on_the_page(said: Said) -> Iterator[str]:
    """Section 6 has the decision, the confidence, the reasons and the outlook of the JSON, word by word."""
    if said.page is None or "continue" not in said.page.sections:
        return
    verdict, text = said.report["verdict"], "\n".join(said.page.sections["continue"])
    head = re.search(r"Decision: \*\*(?:\S )?([^*]+)\*\* \(([\w-]+)\), confidence ([\d.]+)", text)
    if head is not None:
        if head[1] != verdict["badge"] or head[2] != verdict["decision"]:
            yield f"section 6: {head[1]} ({head[2]}), JSON: {verdict['badge']} ({verdict['decision']})"
        if not rounds(head[3], verdict["confidence"]):
            yield f"section 6: confidence {head[3]}, JSON: {verdict['confidence']}"
    because = re.search(r"^- Because: (.*)$", text, re.M)
    told = re.findall(r"\(`([\w-]+)`\)", because[1]) if because else []
    if told != list(verdict["because"]):
        yield f"section 6: because of {told}, JSON: {verdict['because']}"
    count = len((said.report.get("outlook") or {}).get("forecasts") or ())
    if len(re.findall(r"^- Forecast: ", text, re.M)) != count:
        yield f"section 6 has another number of forecasts than the JSON ({count})"


@rule
def outlook_and_state(said: Said) -> Iterator[str]:
    """A run that has ended gets no advice to go on, to stop or to pause, and nothing is said of what that brings."""
    if said.state not in ("finished", "crashed"):
        return
    outlook: Json = said.report.get("outlook") or {}
    if outlook.get("worth") is not None:
        yield f"the run is {said.state}: {outlook['worth']['text']!r}"
    if advice := (outlook.get("kl_reward") or {}).get("advice"):
        yield f"the run is {said.state}: {advice!r}"


@rule
def watch_and_findings(said: Said) -> Iterator[str]:
    """What `watch` tells as opened is open in the report, as bad and since the same step, and the badge is one. A stall
    is a finding only of a run that is followed."""
    stalled = any(e["event"] == "stall" or e.get("finding") == "run-stalled" for e in said.watched or ())
    for event in said.watched or ():
        if event["event"] == "summary" and not stalled and event.get("badge") not in (None, "", said.badge):
            yield f"watch: {event['badge']!r}, report: {said.badge!r}"
        if event["event"] != "opened" or event["step"] != said.report["run"]["steps"]["last"]:
            continue
        about = [f for f in said.active if (f["id"], f["subject"]) == (event["finding"], event["subject"])]
        if not about:
            yield f"watch: {event['finding']} opened, and is not open in the report"
            continue
        own = {about[0]["severity"], about[0]["episodes"][-1]["severity"]}  # as it stands, or the worst while watched
        if event["severity"] not in own or event["onset_step"] != about[0]["onset_step"]:
            was = f"{about[0]['severity']} since {about[0]['onset_step']}"
            yield f"watch: {event['finding']} {event['severity']} since {event['onset_step']}, report: {was}"


@rule
def compare_and_table(said: Said) -> Iterator[str]:
    """The line of `compare` has the newest window of its metric, the health and the badge that the report has."""
    row = said.compared
    if row is None:
        return
    if row.get("badge") not in (None, said.badge):
        yield f"compare: {row['badge']!r}, report: {said.badge!r}"
    table = said.metric(row["metric"]) if row.get("metric") else None
    for part in ("first", "last"):
        if table is not None and not close(row.get(part), table[part]):
            yield f"compare: {part} {row[part]}, table: {table[part]} ({row['metric']})"
    for name, value in (row.get("health") or {}).items():
        own = said.report["metrics"].get(name)
        if own is not None and not close(value, own["last"]):
            yield f"compare: {name} {value}, table: {own['last']}"
