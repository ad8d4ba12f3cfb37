"""Rules: lines, check-in entries and messages for people say what the JSON says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltui.manual.glossary import called
from rltui.plots.numbers import duration
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from tests.contradictions.digits import WRITTEN, rounds
from tests.contradictions.engine import rule
from tests.contradictions.surfaces import Json, Said, bare


def _steps(said: Said) -> str:
    last, total = said.report["run"]["steps"]["last"], said.report["run"]["steps"]["total"]
    return f"{'-' if last is None else last}{'' if total is None else f'/{total}'}"


@rule
def line_of_runs_and_row(said: Said) -> Iterator[str]:
    """The table of `runs` has the steps, the state and the verdict of its JSON. A verdict of the ends alone is marked
    so, and is no badge; what is not known is a dash or "unknown"."""
    if said.listed is None or said.ends is None:
        return
    row, cells = said.ends, re.split(r" {2,}", said.listed.strip())
    if len(cells) < 7:
        yield f"runs: {said.listed!r} has {len(cells)} cells"
        return
    plan = f"/{row['total_steps']}" if row["total_steps"] else ""
    steps = "-" if row["last_step"] is None else f"{row['last_step']}{plan}"
    if cells[3] != steps:
        yield f"runs: step {cells[3]}, JSON: {steps}"
    if cells[2] != (row["state"] or "unknown"):
        yield f"runs: {cells[2]}, JSON: {row['state']}"
    broke_off = row["state"] in ("crashed", "stalled")
    of_ends = called("not looked") if not broke_off else f"tail: {row['state']}"
    verdict = row.get("badge") or (of_ends if row["health"] == "not looked" else f"tail: {row['health']}")
    if cells[6] != verdict:
        yield f"runs: {cells[6]!r}, JSON: {verdict!r}"


def _events(said: Said) -> list[Json]:
    return [event for event in said.watched or () if event["event"] != "done"]


@rule
def lines_of_watch_and_events(said: Said) -> Iterator[str]:
    """For people `watch` tells the same things in the same order as in JSON: kind, steps, finding, severity, onset,
    words and badge."""
    lines = [line for line in said.lines if not re.match(r"\S+ \S+  done: ", line)]
    events = _events(said)
    if said.lines and len(lines) != len(events):
        yield f"watch prints {len(lines)} lines of {len(events)} events"
    for line, event in zip(lines, events, strict=False):
        loud = event["severity"] not in (None, "info")
        wanted = [
            f"  step {'-' if event['step'] is None else event['step']}"
            f"{'' if event['total'] is None else '/' + str(event['total'])}  ",
            f"  {event['severity'] + ' ' if loud else ''}{event['event']}  ",
            f"  {event['finding'] or event['state']}",
            event["text"],
            f"({event['badge'] or event['decision']})",
        ]
        wanted += [] if event["onset_step"] is None else [f" since step {event['onset_step']}: "]
        for words in wanted:
            if words not in line:
                yield f"watch: {line[:90]!r} lacks {words!r} of its event"


@rule
def hook_and_events(said: Said) -> Iterator[str]:
    """A hook is given each event that `watch` prints, but the summary of the first look: nothing has happened then; and
    but those of a failing grader, about which nothing is to be done to the run."""
    if said.hooked is None:
        return
    left_out = having(Trait.MEASUREMENT)
    told = [e for e in _events(said) if e["event"] != "summary" and e.get("finding") not in left_out]
    for given, event in zip(said.hooked, told, strict=False):
        if given != event:
            odd = next(key for key in event if given.get(key) != event[key])
            yield f"hook: {event['event']} {odd} {given.get(odd)!r}, watch: {event[odd]!r}"
    if len(said.hooked) != len(told):
        yield f"hook: {len(said.hooked)} events, watch: {len(told)}"


@rule
def entry_and_report(said: Said) -> Iterator[str]:
    """A check-in entry has the steps, the state, the badge, the words, the best step, the time left, the numbers of the
    table, and each open root with its severity and onset. It is written by who follows: of a run that stands still the
    badge and the words may be those of the stall, and one that has died is called down."""
    if not said.entry:
        return
    lines = said.entry.splitlines()
    part = {line[2:].split(":")[0]: line for line in lines if line.startswith("- ")}
    steps = said.report["run"]["steps"]
    if f": step {'n/a' if steps['last'] is None else steps['last']}/{steps['total'] or '?'}" not in lines[0]:
        yield f"entry: {lines[0]!r}, report: {_steps(said)}"
    stalled = any(e["event"] == "stall" or e.get("finding") == "run-stalled" for e in said.watched or ())
    health = re.match(r"- Health: (\w+), (\w+)\. \*\*(?P<badge>[^*]+)\*\* (?P<text>.*)", part.get("Health", ""))
    if health is None:
        yield f"entry: no health in {lines[:4]}"
        return
    if health[2] != said.state:
        yield f"entry: {health[2]}, report: {said.state}"
    if not stalled:
        if bare(health["badge"]) != said.badge:
            yield f"entry: {health['badge']!r}, report: {said.badge!r}"
        if health[1] == "healthy" and said.loud:
            yield f"entry: healthy, and {said.loud[0]['id']} is open"
        roots = sorted(f"{f['severity']} {f['title']} {f['onset_step']}" for f in said.loud if f["root"] is None)
        told = sorted(
            f"{level} {title} {onset}"
            for level, title, onset in re.findall(
                r"(critical|warning): ((?:(?!critical: |warning: ).)*?)(?: since step (\d+|None))? \(`", part["Notes"]
            )
        )
        odd = {text.replace(" None", " ").strip() for text in roots} ^ {text.strip() for text in told}
        if odd:
            yield f"entry: {sorted(odd)[0]!r} is told in one of entry and report"
    best = said.report["verdict"]["best_checkpoint"]
    kept = re.search(r"best (?:checkpoint|step) (\d+)", part["Notes"])
    if (best and best["step"]) != (kept and int(kept[1])):
        yield f"entry: best step {kept and kept[1]}, report: {best and best['step']}"
    left = re.search(r"([^,]+) left$", part["Performance"])
    eta = said.report["run"]["eta_s"]
    if (left is None) != (eta is None) or (left is not None and left[1].split(": ")[-1].strip() != duration(eta)):
        yield f"entry: {left and left[0]!r}, report: {eta and duration(eta)}"
    labels = {(m["label"] or m["key"]): m for m in said.report["metrics"].values()}
    for name in ("Progress", "Stability"):
        for one in part[name].split(": ", 1)[1].split(", "):
            found = re.match(rf"(.+) ({WRITTEN}|n/a) → ({WRITTEN}|n/a)$", one)
            own = labels.get(found[1].strip("`")) if found is not None else None
            if found is None or own is None:
                continue
            for text, value in ((found[2], own["first"]), (found[3], own["last"])):
                if text != "n/a" and not rounds(text, value):
                    yield f"entry: {one}, table: {own['first']} → {own['last']}"
