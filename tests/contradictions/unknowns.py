"""Rules: what is called not known is told nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.contradictions.digits import WRITTEN, rounds
from tests.contradictions.engine import rule
from tests.contradictions.surfaces import Said


@rule
def step_time_on_the_page(said: Said) -> Iterator[str]:
    """The page gives the step time of the JSON, that of the phases or else the pace of the rows, and calls it not known
    only if the table has none. A finding may give that of other rows, which it names."""
    timer = said.metric("time_per_step_s")
    own = said.report["phases"].get("step_s")
    if own is None:
        own = ((said.report.get("facts") or {}).get("pace") or {}).get("step_s")
    for page in said.pages:
        told = page.one(rf"^A step takes ({WRITTEN}) s(?! \(median of the last)")
        if told is not None and not rounds(told, own):
            yield f"page: a step takes {told} s, JSON: {own}"
        if timer is not None and timer["last"] and "step time is not known" in page.text:
            yield f"page: the step time is not known, table: {timer['first']} → {timer['last']}"


@rule
def plan_and_config(said: Said) -> Iterator[str]:
    """A plan that the config states is not called unknown. One that the run has passed is none to go by, and the page
    says so. Of a run whose config states several, the page goes by the one that its framework means. What is not
    positive is no plan."""
    stated = said.report["config"].get("total_steps")
    if stated is None or not isinstance(stated["value"], int | float) or stated["value"] <= 0:
        return
    for page in said.pages:
        if "planned steps not known" in page.text:
            yield f"page: planned steps not known, config: {stated['value']}"


@rule
def nothing_judged(said: Said) -> Iterator[str]:
    """Where there is too little to judge, nobody is sure of anything, and no stage passes for want of rows. One that
    lacks only a reward may pass in what is logged."""
    sure, text = said.report["verdict"]["confidence"], said.report["verdict"]["text"]
    nothing = said.decision == "not-enough-evidence"
    if nothing != (sure == 0):
        yield f"{said.decision}, confidence {sure}"
    passed = [stage["stage"] for stage in said.report["pipeline"] if stage["status"] == "pass"]
    if "too few to judge" in text and passed:
        yield f"{text!r}, and {', '.join(passed)} pass"
    for page in said.pages:
        if nothing and (told := re.search(r"\bconfidence [\d.]+", page.text.partition("## 3.")[0])):
            yield f"page: {told[0]}, of a verdict that says that nothing could be judged"


@rule
def saved_and_not_saved(said: Said) -> Iterator[str]:
    """A best step of which no checkpoint was seen is called a step, on the page and in the entry; and no sentence says
    that nothing was saved: a log alone does not tell."""
    best = said.report["verdict"]["best_checkpoint"]
    texts = {"page": said.page, "short page": said.brief}
    told = {name: page.text for name, page in texts.items() if page is not None} | {"entry": said.entry or ""}
    for where, text in told.items():
        if best is not None and best["path"] is None and re.search(r"[Bb]est checkpoint[^\w\n]+(?:step )?\d", text):
            yield f"{where}: best checkpoint {best['step']}, none is known"
        if re.search(r"^- Keep: nothing is saved", text, re.M):
            yield f"{where}: nothing is saved, though nobody can tell from a log"
