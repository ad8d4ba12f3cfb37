"""Rules: one run is the same run for every command and screen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rltui.manual.glossary import called
from tests.contradictions.engine import rule
from tests.contradictions.page import Page
from tests.contradictions.surfaces import Json, Said

RANK = {"info": 0, "warning": 1, "critical": 2}
BAD = ("stop-use-best", "pause-and-fix", "abort-now")


def close(a: float | None, b: float | None, share: float = 2e-3) -> bool:
    """Equal but for the digits that are shown."""
    return a is None or b is None or abs(a - b) <= share * max(abs(a), abs(b)) + 1e-9


def _identity(report: Json) -> dict[str, Any]:
    run = report["run"]
    return {
        "state": run["state"],
        "last step": run["steps"]["last"],
        "plan": run["steps"]["total"],
        "framework": run["framework"],
        "algorithm": run["algorithm"],
        "decision": report["verdict"]["decision"],
    }


def _differ(where: str, theirs: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    for what, value in theirs.items():
        if value is not None and value != own[what]:
            yield f"{where} says {what} {value!r}, the report {own[what]!r}"


@rule
def ends_and_whole(said: Said) -> Iterator[str]:
    """`runs` looks at the ends of a run's logs. It may leave open what they do not tell (null, "unknown"): they hold
    fewer rows, and the newest lines of a framework need not name it. It may not say anything else than the whole."""
    if said.ends is None:
        return
    row = said.ends
    theirs = {
        "state": row["state"] if row["state"] != "unknown" else None,
        "last step": row["last_step"],
        "plan": row["total_steps"],
        "framework": row["framework"] or None,
        "algorithm": row["algorithm"] or None,
        "decision": row["decision"],
    }
    yield from _differ("runs", theirs, _identity(said.report))


@rule
def ends_and_newest_values(said: Said) -> Iterator[str]:
    """The newest value of a metric is the same at the end of the log and in the whole of it. A log of which the ends
    hold no row of the metric gives none."""
    if said.ends is None or said.ends["last_step"] != said.report["run"]["steps"]["last"]:
        return
    for name, value in said.ends["values"].items():
        own = said.report["metrics"].get(name)
        if own is not None and own["last_value"] is not None and not close(value, own["last_value"]):
            yield f"runs: newest {name} {value:.5g}, report: {own['last_value']:.5g}"


@rule
def health_and_verdict(said: Said) -> Iterator[str]:
    """`runs` and the picker call a run "ok" only if the whole of it is. They may say "unknown" of any run: they have
    not looked. What they call critical or a warning the report has as an open finding, too: the ends are a part of the
    whole, and what is bad in the newest rows is bad now."""
    if said.ends is None:
        return
    health = said.ends["health"]
    if health == "ok" and (said.decision in BAD or any(f["severity"] == "critical" for f in said.active)):
        yield f"runs says ok, the report {said.decision}: {', '.join(f['id'] for f in said.loud[:4])}"
    if health in ("critical", "warning") and not said.loud and said.decision == "continue":
        yield f"runs says {health} ({'; '.join(said.ends['signs'])}), the report has no warning: {said.decision}"


@rule
def compare_and_report(said: Said) -> Iterator[str]:
    """A comparison reads the whole run: identity, state and decision are those of the report."""
    if said.compared is None:
        return
    row = said.compared
    theirs = {name: row[name] for name in ("state", "framework", "algorithm", "decision")}
    yield from _differ("compare", theirs, _identity(said.report))


@rule
def compare_and_severity(said: Said) -> Iterator[str]:
    """A flag of `compare` that names a finding names one that is open at warning or above. What is over, or only a
    notice now, makes no run ugly; a run that did not end well may be."""
    if said.compared is None:
        return
    loud = {f["id"] for f in said.loud}
    for flag in said.compared["flags"]:
        told = flag.get("finding") or flag.get("id")
        if told is not None and told not in loud:
            now = next(
                (f"{f['severity']}, {f['status']}" for f in said.report["findings"] if f["id"] == told), "absent"
            )
            yield f"compare: {said.compared['group']} for {flag['word']} ({told}), which is {now} in the report"


@rule
def compare_and_best_step(said: Said) -> Iterator[str]:
    """`compare` and the verdict name the same best step, if they go by the same metric. They may differ if the verdict
    names the saved checkpoint nearest to the best step, which it then says, or one from before the worst fault."""
    best = said.report["verdict"]["best_checkpoint"]
    if said.compared is None or best is None or said.compared.get("best_step") is None:
        return
    table = said.metric(said.compared["metric"]) if said.compared.get("metric") else None
    same = table is not None and table["key"] == best["metric"] and best["path"] is None
    broke = [f["onset_step"] for f in said.active if f["severity"] == "critical" and f["onset_step"] is not None]
    if any(best["step"] < onset <= said.compared["best_step"] for onset in broke):
        return
    if same and best["step"] != said.compared["best_step"]:
        yield f"compare: best at {said.compared['best_step']}, report: {best['step']}"


@rule
def watch_and_report(said: Said) -> Iterator[str]:
    """The first look of `watch` sees what `report` sees. Its decision and words may be those of a stall, which is a
    finding only of a run that is followed, and of which only who follows knows more than the end of the log."""
    summary = next((e for e in said.watched or () if e["event"] == "summary"), None)
    if summary is None:
        return
    own = _identity(said.report)
    yield from _differ(
        "watch", {"state": summary["state"], "last step": summary["step"], "plan": summary["total"]}, own
    )
    stalled = any(e["event"] == "stall" or e.get("finding") == "run-stalled" for e in said.watched or ())
    if stalled:
        return
    if summary["decision"] != said.decision:
        yield f"watch says {summary['decision']}, the report {said.decision}"
    elif summary["text"] != said.report["verdict"]["text"]:
        yield f"watch says {summary['text']!r}, the report {said.report['verdict']['text']!r}"


@rule
def page_and_json(said: Said) -> Iterator[str]:
    """The Markdown report says what the JSON says: state, steps, plan, framework, algorithm, checks, headline."""
    for page in said.pages:
        yield from _page_and_json(page, said.report)


def _page_and_json(page: Page, report: Json) -> Iterator[str]:
    run, verdict = report["run"], report["verdict"]
    if (badge := verdict.get("badge")) and page.badge not in badge and badge not in page.badge:
        yield f"the headline's badge is {page.badge!r}, the JSON's {badge!r}"
    state = page.one(r"State: \*\*(\w+)")
    if state is not None and state != run["state"]:
        yield f"page: state {state}, JSON: {run['state']}"
    steps = re.search(r"Steps: (\d+) to (\d+)(?: of (\d+) planned)?", page.text)
    if steps is not None:
        theirs = tuple(None if s is None else int(s) for s in steps.groups())
        own = (run["steps"]["first"], run["steps"]["last"], run["steps"]["total"])
        if theirs != own:
            yield f"page: steps {theirs}, JSON: {own}"
    checks = re.search(r"(\d+) checks ran, (\d+) could not", page.text)
    if checks is not None and (int(checks[1]), int(checks[2])) != (report["checks"], len(report["not_evaluable"])):
        yield f"page: {checks[0]}, JSON: {report['checks']} and {len(report['not_evaluable'])}"
    for name in ("algorithm", "framework"):
        told = page.one(rf"(?i){name}: `?([^;\n(]+)")
        if told is not None and run[name] is not None and not told.strip().startswith(run[name]):
            yield f"page: {name} {told.strip()!r}, JSON: {run[name]!r}"


@rule
def page_and_findings(said: Said) -> Iterator[str]:
    """Every open warning and critical finding stands on the page with its severity and its onset, and no card is louder
    or quieter than the finding."""
    for page in said.pages:
        yield from _page_and_findings(page.text, said)


def _page_and_findings(text: str, said: Said) -> Iterator[str]:
    for finding in said.loud:
        title = finding["title"]
        heads = [line for line in text.splitlines() if title in line]
        if not heads:
            yield f"{finding['id']} ({finding['severity']}) is open in the JSON, and nowhere on the page"
            continue
        cards = [line for line in heads if line.lstrip("-# ").startswith(("✗ ", "! ", "· "))]
        if finding["subject"]:
            cards = [line for line in cards if finding["subject"] in line]
        wrong = [line for line in cards if finding["severity"] not in line]
        if cards and len(wrong) == len(cards):
            yield f"{finding['id']} is {finding['severity']} in the JSON, on the page: {wrong[0].strip()[:80]!r}"
        onset = finding["onset_step"]
        dated = [line for line in cards if re.search(r"since step \d", line)]
        if onset is not None and dated and not any(re.search(rf"since step {onset}\b", line) for line in dated):
            yield f"{finding['id']} began at {onset} in the JSON, on the page: {dated[0].strip()[:80]!r}"


@rule
def pipeline_page_and_json(said: Said) -> Iterator[str]:
    """The five stages have one status each, on the page, in the JSON and on the screen."""
    if said.page is not None:
        for stage in said.report["pipeline"]:
            told = said.page.one(rf"^\| {stage['stage']} \| \S ([\w ]+) \|")
            if told is not None and told != called(stage["status"]):
                yield f"page: {stage['stage']} {told}, JSON: {stage['status']}"
    main = said.screens.get("main")
    glyphs = {"pass": "✓", "warn": "!", "fail": "✗", "unknown": "?"}
    for stage in said.report["pipeline"] if main else ():
        shown = re.search(rf"{stage['stage']} ([✓!✗?])", main or "")
        if shown is not None and shown[1] != glyphs[stage["status"]]:
            yield f"screen: {stage['stage']} {shown[1]}, JSON: {stage['status']}"


@rule
def screen_and_report(said: Said) -> Iterator[str]:
    """The screen's head line, verdict and findings say what the report says of the same moment. Of a run that stands
    still the screen may say how ("hung", "slow"), and since it follows the run, its badge may be that of the stall."""
    main = said.screens.get("main")
    if main is None:
        return
    run, head = said.report["run"], main.splitlines()[0]
    last, total = run["steps"]["last"], run["steps"]["total"]
    numbers = re.sub(r"(?<=\d)[, \u202f ](?=\d{3}\b)", "", head)
    shown = re.search(r"step (\d+)(?: / (\d+))?", numbers)
    if shown is not None and last is not None:
        if int(shown[1]) != last:
            yield f"screen: step {shown[1]}, report: {last}"
        if (None if shown[2] is None else int(shown[2])) != total:
            yield f"screen: plan {shown[2]}, report: {total}"
    words = {"stalled": "stalled|hung|slow", "crashed": "crashed", "finished": "finished", "running": "live|slow|hung"}
    if run["state"] in words and not re.search(rf"\b({words[run['state']]})\b", head):
        yield f"screen: {head.split('  ')[-1].strip()!r}, report: {run['state']}"
    if said.badge is not None and run["state"] != "stalled":
        for name in ("main", "decision"):
            text = said.screens.get(name)
            if text is not None and said.badge not in text:
                yield f"the {name} screen does not show the badge {said.badge!r} of the report"
    count = re.search(r"1 Findings[^─]*?(\d+) critical", main)
    critical = sum(f["severity"] == "critical" for f in said.active)
    if count is not None and int(count[1]) != critical:
        yield f"screen: {count[1]} critical, report: {critical}"
    checks = re.search(r"(\d+) checks, (\d+) could not run", main)
    if checks and (int(checks[1]), int(checks[2])) != (said.report["checks"], len(said.report["not_evaluable"])):
        yield f"screen: {checks[0]}, report: {said.report['checks']} and {len(said.report['not_evaluable'])}"


@rule
def picker_and_report(said: Said) -> Iterator[str]:
    """The picker's line of a run says no other step, plan or state than the report, and no check mark of health for a
    run that is to be stopped. It may leave open what it has not read."""
    if said.picked is None:
        return
    line, run = said.picked, said.report["run"]
    steps = re.search(r"\s(\d+)(?:/(\d+))?\s", line[len(said.name) :])
    if steps is not None and run["steps"]["last"] is not None:
        if int(steps[1]) != run["steps"]["last"]:
            yield f"picker: step {steps[1]}, report: {run['steps']['last']}"
        if steps[2] is not None and int(steps[2]) != run["steps"]["total"]:
            yield f"picker: plan {steps[2]}, report: {run['steps']['total']}"
    for state in ("stalled", "crashed", "finished", "running"):
        if re.search(rf"\b{state}\b", line) and run["state"] != state:
            yield f"picker: {state}, report: {run['state']}"
    if re.search(r"✓ ok\b", line) and said.decision in BAD:
        yield f"picker: ok, report: {said.decision}"


@rule
def eta_everywhere(said: Said) -> Iterator[str]:
    """Time left is one number: in the JSON, its forecast, on the page and on the screen; a run that is over, or has
    reached its plan, has none, nor has one of which nobody knows whether it goes on. Rounded texts may differ by what
    they round."""
    run, outlook = said.report["run"], said.report.get("outlook") or {}
    eta = run.get("eta_s")
    steps = run["steps"]
    over = run["state"] in ("finished", "crashed")
    done = steps["total"] is not None and steps["last"] is not None and steps["last"] >= steps["total"]
    ends = [f["at"] for f in outlook.get("forecasts") or () if f["what"] == "end"]
    if over and (eta or outlook.get("forecasts")):
        told = eta if eta else outlook["forecasts"][0]["text"]
        yield f"the run is {run['state']}, and {told!r} is foretold"
    if done and (eta or ends):
        yield f"the plan is reached, and {eta or ends[0]} s are left"
    if eta is None and ends:
        yield f"no time left of a run that is {run['state']}, forecast of the end {ends[0]:.4g} s"
    if eta is not None and ends and not close(eta, ends[0], 0.02):
        yield f"time left {eta:.4g} s, forecast of the end {ends[0]:.4g} s"
    shown = [(name, found[1].strip()) for name, text in said.screens.items() if (found := _ETA.search(text))]
    if said.page is not None and (told := said.page.one(r"Time left: (.+)$")):
        shown.append(("page", told.strip()))
    if len({text for _, text in shown}) > 1:
        yield f"time left: {shown}"
    if shown and not eta:
        yield f"time left {shown[0]}, none in the JSON"


_ETA = re.compile(r"ETA ([\d.]+ \w+(?: \d+ \w+)?)")


@rule
def best_step_everywhere(said: Said) -> Iterator[str]:
    """One best step: verdict, badge, page, screens. A finding's own sentence may name the best point of its metric."""
    best = said.report["verdict"]["best_checkpoint"]
    step = best["step"] if best else None
    told: list[tuple[str, int]] = []
    if said.badge is not None and (found := re.search(r"KEEP (\d+)", said.badge)):
        told.append(("badge", int(found[1])))
    for page in said.pages:
        told += [("page", int(m[1])) for m in page.lines(r"[Bb]est (?:checkpoint|step)\W+step (\d+)")]
        told += [("page", int(m[1])) for m in page.lines(r"^- Keep: the checkpoint of step (\d+)")]
        told += [("headline", int(m[1])) for m in re.finditer(r"[Kk]eep (?:step )?(\d+)", page.headline)]
    for name, text in said.screens.items():
        lines = [line for line in text.splitlines() if re.search(r"\b(Keep|Best so far|Best at)\b", line)]
        for line in lines[:1]:
            found = re.search(r"(?:Keep|Best so far|Best at) (?:\D*[_-])?(?:step )?(\d+)", line)
            told += [(f"{name} screen", int(found[1]))] if found else []
        told += [(f"{name} screen", int(m[1])) for m in re.finditer(r"◆ best (\d+)", text)]
    for where, text in (
        ("verdict", said.report["verdict"]["text"]),
        ("change", said.report["verdict"]["would_change"]),
    ):
        told += [
            (where, int(m[1]))
            for m in re.finditer(r"(?:best checkpoint|keep|use)\b[^.;,]{0,30}?\bstep (\d+)", text, re.I)
        ]
    for finding in said.active:
        told += [(finding["id"], int(m[1])) for m in re.finditer(r"best one saved, (\d+)", finding["summary"])]
    for where, number in told:
        if number != step:
            yield f"{where}: best step {number}, verdict: {step}"


@rule
def runs_full_and_report(said: Said) -> Iterator[str]:
    """`runs --full` reads all of a run: nothing is left open, nothing differs."""
    if said.whole is None:
        return
    row = said.whole
    theirs = {
        "state": row["state"],
        "last step": row["last_step"],
        "plan": row["total_steps"],
        "framework": row["framework"] or None,
        "algorithm": row["algorithm"] or None,
        "decision": row["decision"],
    }
    yield from _differ("runs --full", theirs, _identity(said.report))
    counts = [sum(f["severity"] == level for f in said.active) for level in ("critical", "warning")]
    if [row["critical"], row["warnings"]] != counts:
        yield f"runs --full counts {row['critical']} critical, {row['warnings']} warnings; the report {counts}"
