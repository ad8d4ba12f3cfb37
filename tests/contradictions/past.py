"""Rules: what is said of an earlier step is what was said then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from tests.contradictions.engine import rule
from tests.contradictions.readers import close
from tests.contradictions.surfaces import Json, Said


@rule
def prefix_and_whole(said: Said) -> Iterator[str]:
    """`--at STEP` knows nothing of later rows: no onset, episode, best step or newest row beyond it. At the last step
    it says what the whole says; only its state may differ, since the end mark stands behind the last row, and what
    rests on the end of the run with it."""
    for step, then in said.earlier.items():
        steps = then["run"]["steps"]
        if steps["last"] is not None and steps["last"] > step:
            yield f"--at {step}: last step {steps['last']}"
        for finding in then["findings"]:
            ends = [e["end_step"] for e in finding["episodes"]] + [finding["onset_step"], finding["last_step"]]
            late = [end for end in ends if end is not None and end > step]
            if late:
                yield f"--at {step}: {finding['id']} speaks of step {late[0]}"
        best = then["verdict"]["best_checkpoint"]
        if best is not None and best["step"] > step:
            yield f"--at {step}: best step {best['step']}"
        if step != said.report["run"]["steps"]["last"]:
            continue
        ends_too = {"run-crashed", "run-stalled"}
        now = {(f["id"], f["subject"]): f["severity"] for f in said.active if f["id"] not in ends_too}
        was = {
            (f["id"], f["subject"]): f["severity"]
            for f in then["findings"]
            if f["status"] == "active" and f["id"] not in ends_too
        }
        if now != was and then["run"]["state"] == said.state:
            odd = sorted(str(key) for key in set(now.items()) ^ set(was.items()))
            yield f"--at the last step ({step}) differs from the whole in {', '.join(odd[:3])}"


@rule
def prefix_and_screen(said: Said) -> Iterator[str]:
    """The screen at a step shows the badge and the findings of `report --at` that step."""
    for step, text in said.travelled.items():
        then = said.earlier.get(step)
        if then is None:
            continue
        flat = " ".join(text.split())
        badge = then["verdict"].get("badge")
        if badge and badge.split(" ", 1)[-1] not in flat and badge not in flat:
            yield f"--at {step}: badge {badge!r}; the screen at {step} has another"
        critical = sum(f["status"] == "active" and f["severity"] == "critical" for f in then["findings"])
        count = re.search(r"1 Findings[^─]*?(\d+) critical", flat)
        if count is not None and int(count[1]) != critical:
            yield f"--at {step}: {critical} critical; the screen at {step} shows {count[1]}"
        head = then["verdict"]["text"].split(". ")[0]
        if head[:40] not in flat:
            yield f"--at {step}: {head[:60]!r}; the screen at {step} says something else"


def _differences(a: Any, b: Any, at: str = "") -> Iterator[str]:
    """Where two pieces of JSON differ by more than digits."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in a.keys() | b.keys():
            yield from _differences(a.get(key), b.get(key), f"{at}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _differences(one, other, f"{at}[{i}]")
    elif isinstance(a, float) and isinstance(b, float):
        if not close(a, b, 1e-4):
            yield f"{at}: {a} and {b}"
    elif a != b:
        yield f"{at}: {str(a)[:80]!r} and {str(b)[:80]!r}"


def _told(report: Json) -> Json:
    """What a report says of the rows. How a run ended, and what hangs on that, is not in them; nor is what the clock
    says of them, which a log written again has at another time."""
    by_state = having(Trait.CRASH) | having(Trait.STALL)
    parts = ("id", "subject", "severity", "status", "onset_step", "summary", "stage")
    found = [{part: f[part] for part in parts} for f in report["findings"] if f["id"] not in by_state]
    facts = {k: v for k, v in (report.get("facts") or {}).items() if k != "pace"}
    names = ("metrics", "pipeline", "coverage", "checks")
    best = report["verdict"]["best_checkpoint"]
    told: Json = {name: report[name] for name in names} | {"facts": facts, "best": best and best["step"]}
    return told | {"findings": {f"{f['id']} {f['subject'] or ''}": f for f in found}}


@rule
def prefix_and_log_cut_there(said: Said) -> Iterator[str]:
    """`report --at STEP` of the whole log says what `report` says of the log as it was when it had come to that step.
    State, and the verdict with it, may differ: nobody can tell from a log that stops whether it goes on."""
    for step, then in said.cut.items():
        if step in said.earlier:
            for one in list(_differences(_told(said.earlier[step]), _told(then)))[:4]:
                yield f"--at {step} and the log cut there: {one}"
