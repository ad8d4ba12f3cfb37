"""Rules: each pane and screen shows the numbers of the report."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltui.manual.glossary import called
from rltui.rules.catalogue import having, rules
from rltui.rules.traits import Trait
from tests.contradictions.digits import WRITTEN, rounds
from tests.contradictions.engine import rule
from tests.contradictions.surfaces import Json, Said
from tests.contradictions.tables import TRIPLE

GLYPHS = {glyph: called(word) for glyph, word in {"✓": "pass", "!": "warn", "✗": "fail", "?": "unknown"}.items()}
STATUS = "|".join(GLYPHS.values())
LISTED = re.compile(r"^[ ▌]*[✗!·] (critical|warning|note) +(?:└ )?(\S.*?)(?:…|  )(.*)$")
SINCE = re.compile(r"since +(\d+)")
CURVE = re.compile(rf"^[ ▌]+[✗!·•]? *(\w[^\s▁-█]*(?: [^\s▁-█]+)*) [▁-█ ]{{8,}} ({WRITTEN}) (%?)")
"""Name, curve, value. Words of a name are one space apart: else this tries a line's spaces in every way."""


def _same(triple: tuple[str, ...], evidence: Json) -> bool:
    """A fraction may be shown in percent."""
    wanted = [evidence[part] for part in ("first", "mid", "last")]
    return any(
        all(rounds(text, value, scale) for text, value in zip(triple, wanted, strict=True)) for scale in (1, 100)
    )


def _about(said: Said, title: str) -> list[Json]:
    """Open findings that a line may be about. Where a title fills its column, the next one follows it at once."""
    return [f for f in said.active if f"{f['title']} · {f['subject']}"[: len(title)].startswith(title[:30])]


@rule
def findings_pane_and_report(said: Said) -> Iterator[str]:
    """A line of the pane of findings has the severity, the onset and the numbers of the finding. Two findings may begin
    with the same words: one of them fits. The screen follows the run: only there a stall is a finding."""
    stalls = [rules()[id].title for id in having(Trait.STALL)]
    main = said.screens.get("main", "")
    pane = main.partition("1 Findings")[2].partition("2 Metrics")[0]
    for line in pane.splitlines():
        found = LISTED.match(line)
        about = _about(said, found[2]) if found else []
        if found is None or found[2] in stalls:
            continue
        if not about:
            yield f"the pane of findings has {found[2]!r}, the report no such open finding"
            continue
        if found[1] not in {called(f["severity"]) for f in about}:
            yield f"the pane of findings: {found[2]!r} {found[1]}, report: {called(about[0]['severity'])}"
        since = SINCE.search(found[3])
        if since and int(since[1]) not in {f["onset_step"] for f in about}:
            yield f"the pane of findings: {found[2]!r} since {since[1]}, report: {about[0]['onset_step']}"
        triple = TRIPLE.search(re.sub(r"→ +", "→ ", re.sub(r" +→", " →", found[3])))
        proofs = [e for f in about for e in f["evidence"][:1] if e["mid"] is not None]
        if triple and proofs and not any(_same(triple.groups(), evidence) for evidence in proofs):
            yield f"the pane of findings: {found[2]!r} {triple[0]!r}, report: {proofs[0]}"


@rule
def metrics_pane_and_table(said: Said) -> Iterator[str]:
    """The value beside a metric's curve is the newest one of the table. A fraction is shown in percent. Two metrics may
    bear one name: one of them fits."""
    pane = said.screens.get("main", "").partition("2 Metrics")[2]
    for line in pane.splitlines():
        found = CURVE.match(line)
        if found is None:
            continue
        scale = 100.0 if found[3] else 1.0
        own = [m for m in said.report["metrics"].values() if m["label"].startswith(found[1].rstrip("…"))]
        values = [m["last_value"] for m in own]
        if own and not any(rounds(found[2], value, scale) for value in values):
            yield f"the pane of metrics: {found[1]} {found[2]} {found[3]}, table: {values[:3]}"


@rule
def metric_screen_and_table(said: Said) -> Iterator[str]:
    """The screen of a metric has the windows, the range and the course of the table."""
    text = said.screens.get("metric", "")
    keys = {m["key"]: m for m in said.report["metrics"].values()}
    own = next(
        (m for line in text.splitlines()[1:4] for key, m in keys.items() if line.rstrip().endswith(f" {key}")), None
    )
    if own is None:
        return
    scale = 100.0 if own["unit"] == "fraction" else 1.0
    rows = {
        "first": "first window",
        "mid": "mid window",
        "last": "last window",
        "min": "min",
        "max": "max",
        "mean": "mean",
    }
    for name, word in rows.items():
        shown = re.search(rf"(?<=  ){word} {{3,}}({WRITTEN})(?!\S)", text)
        if shown is not None and not rounds(shown[1], own[name], scale):
            yield f"the metric screen: {own['key']} {word} {shown[1]}, table: {own[name]}"
    shape = re.search(r"\bshape  (\S.*?)\s*$", text, re.M)
    if shape is not None and not own["shape"].startswith(shape[1].rstrip("…")):
        yield f"the metric screen: {own['key']} {shape[1]!r}, table: {own['shape']!r}"


@rule
def pipeline_screen_and_report(said: Said) -> Iterator[str]:
    """The pipeline screen has the stages and invariants of the report."""
    text = said.screens.get("pipeline", "")
    stages = {s["stage"]: called(s["status"]) for s in said.report["pipeline"]}
    for stage, glyph, word in re.findall(rf"^ *\d (\S+) +([✓!✗?]) ({STATUS})\b", text, re.M):
        if stages.get(stage) != word or GLYPHS[glyph] != word:
            yield f"the pipeline screen: {stage} {glyph} {word}, report: {stages.get(stage)}"
    own = {i["name"]: called(i["status"]) for i in (said.report.get("outlook") or {}).get("invariants") or ()}
    for glyph, word, name in re.findall(rf"^ *([✓!✗?]) ({STATUS}) +(\S.*?)(?:  |$)", text, re.M):
        if name in own and (own[name] != word or GLYPHS[glyph] != word):
            yield f"the pipeline screen: {name!r} {word}, report: {own[name]}"


@rule
def coverage_screen_and_report(said: Said) -> Iterator[str]:
    """The coverage screen counts the checks as the report does, and lists none that ran. Where a title fills its
    column, the next one follows it at once."""
    text = said.screens.get("coverage", "")
    checks = re.search(r"(\d+) checks ran(?:, (\d+) could not)?", text)
    own = (said.report["checks"], len(said.report["not_evaluable"]))
    if checks is not None and (int(checks[1]), int(checks[2] or 0)) != own:
        yield f"the coverage screen: {checks[0]}, report: {own}"
    apply = re.search(r"(\d+) do not apply", text)
    if apply is not None and int(apply[1]) != len(said.report["not_applicable"]):
        yield f"the coverage screen: {apply[0]}, report: {len(said.report['not_applicable'])}"
    head, _, body = text.partition("CHECKS THAT COULD NOT RUN")
    blind = [check["title"] for check in said.report["not_evaluable"]]
    for title in re.findall(r"^ *\? (\S.*?)  ", body.partition("NOT LOGGED")[0], re.M):
        if head and not any(one.startswith(title.rstrip("…")) or title.startswith(f"{one} ") for one in blind):
            yield f"the coverage screen lists {title!r}, the report does not"


@rule
def decision_screen_and_report(said: Said) -> Iterator[str]:
    """The decision screen has the confidence, the case of KL and reward, and the forecasts of the report. It follows
    the run: of one that stands still it may know more."""
    text, flat = said.screens.get("decision", ""), " ".join(said.screens.get("decision", "").split())
    if not text or said.state == "stalled":
        return
    sure = re.search(r"confidence ([\d.]+)", text)
    if sure is not None and not rounds(sure[1], said.report["verdict"]["confidence"]):
        yield f"the decision screen: confidence {sure[1]}, report: {said.report['verdict']['confidence']}"
    outlook: Json = said.report.get("outlook") or {}
    case = outlook.get("kl_reward") or {}
    course = r"(not known|\w+(?: lately)?)"
    ways = re.search(rf"KL {course}   reward {course}   validation {course}", text)
    lately = case.get("lately") or ()
    own = tuple(
        "not known" if case.get(k) == "none" else f"{case.get(k)} lately" if k in lately else case.get(k)
        for k in ("kl", "reward", "validation")
    )
    if ways is not None and case and ways.groups() != own:
        yield f"the decision screen: KL, reward, validation {ways.groups()}, report: {own}"
    if ways is not None and case and case["reading"] not in flat:
        yield f"the decision screen does not read the case as the report does: {case['reading']!r}"
    going_on = "to estimate the gain" in flat or "GAIN AGAINST COST" not in flat
    if outlook.get("worth") is not None and going_on:
        yield "the decision screen says nothing of the gain of more steps, the report does"
    total, last = said.report["run"]["steps"]["total"], said.report["run"]["steps"]["last"]
    if "no planned end is known" in flat and total is not None:
        yield f"the decision screen: no planned end is known, report: {total}"
    if said.state != "running" and "IF IT GOES ON LIKE THIS" in flat and not outlook.get("forecasts"):
        yield f"the decision screen forecasts a run that is {said.state}"
    first = said.report["run"]["steps"].get("first")
    if total and last is not None and last < total - (first == 0) and "the planned end is reached" in flat:
        yield f"the decision screen: the planned end is reached, report: {last} of {total}"


@rule
def head_line_and_report(said: Said) -> Iterator[str]:
    """The share of the plan in the head line is that of the steps beside it; the main screen's confidence and what it
    says of the best step are the verdict's."""
    main = said.screens.get("main")
    if main is None:
        return
    steps, verdict = said.report["run"]["steps"], said.report["verdict"]
    share = re.search(r"step [\d\s,]+/ ?[\d\s,]+?(\d+) %", main.splitlines()[0])
    if share and steps["total"] and abs(int(share[1]) - 100 * steps["last"] / steps["total"]) > 0.51:
        yield f"screen: {share[1]} % of {steps['total']} steps at {steps['last']}"
    sure = re.search(r"Confidence ([\d.]+?)\.(?!\d)", main)
    if sure is not None and said.state != "stalled" and not rounds(sure[1], verdict["confidence"]):
        yield f"screen: confidence {sure[1]}, report: {verdict['confidence']}"
    best = verdict["best_checkpoint"]
    told = re.search(rf"(?:Keep|Best so far|Best at) [^,]+, (\S.*?) ({WRITTEN})(?: ± ({WRITTEN}))?( %)?[.,]", main)
    if best is None or told is None:
        return
    scale = 100.0 if told[4] else 1.0
    if not rounds(told[2], best["value"], scale) or (told[3] and not rounds(told[3], best["se"], scale)):
        yield f"screen: best {told[2]} ± {told[3]}, report: {best['value']} ± {best['se']}"
    own = next((m for m in said.report["metrics"].values() if m["key"] == best["metric"]), None)
    if own is not None and own["label"] and told[1] != own["label"]:
        yield f"screen: best by {told[1]!r}, table: {own['label']!r}"


@rule
def finding_screen_and_report(said: Said) -> Iterator[str]:
    """The screen of a finding has its severity, its onset, how sure it is, and the numbers of its evidence."""
    text = said.screens.get("finding", "")
    head = re.search(r"^ *[✗!·] (critical|warning|note)  (\S.*?)   ", text, re.M)
    about = [f for f in said.active if head is not None and f["title"] == head[2].strip()]
    if head is None or not about:
        return
    line = text[head.start() :].splitlines()[0]
    if head[1] not in {called(f["severity"]) for f in about}:
        yield f"the finding screen: {head[2]} {head[1]}, report: {about[0]['severity']}"
    since = SINCE.search(line)
    if since is not None and int(since[1]) not in {f["onset_step"] for f in about}:
        yield f"the finding screen: {head[2]} since {since[1]}, report: {about[0]['onset_step']}"
    sure = re.search(r"confidence ([\d.]+)", line)
    if sure is not None and not any(rounds(sure[1], f["confidence"]) for f in about):
        yield f"the finding screen: {head[2]} confidence {sure[1]}, report: {about[0]['confidence']}"
    proofs = [e for f in about for e in f["evidence"] if e["mid"] is not None]
    for triple in TRIPLE.findall(text):
        if not any(_same(triple, evidence) for evidence in proofs):
            yield f"the finding screen: {head[2]} {' → '.join(triple)} is no evidence of it"
