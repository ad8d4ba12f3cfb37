"""Rules: invariants, stages, findings and the verdict are one judgement."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltui.rules.catalogue import rules
from rltui.rules.traits import Trait
from tests.contradictions.engine import rule
from tests.contradictions.readers import BAD, RANK
from tests.contradictions.surfaces import Said

GOES_ON = re.compile(
    r"^(CONTINUE|WATCH|CONTINUE · WATCH|PAUSE · FIX|STOP · KEEP \d+|STOP|ABORT NOW|NO EVIDENCE|TOO EARLY.*)$"
)
ENDED = re.compile(r"^(DONE|DONE · KEEP \d+|FIX · RERUN|RESUME|NO EVIDENCE)$")

NO_STAGE = ("run-crashed", "run-stalled", "best-checkpoint-unavailable", "metric-vanished")


@rule
def invariant_and_stage(said: Said) -> Iterator[str]:
    """What must hold and does not makes its stage fail and is an open finding."""
    stages = {s["stage"]: s["status"] for s in said.report["pipeline"]}
    for one in (said.report.get("outlook") or {}).get("invariants") or ():
        if one["status"] == "fail":
            if stages.get(one["stage"]) != "fail":
                yield f"broken: {one['name']!r} ({one['measured']}); stage {one['stage']} {stages.get(one['stage'])}"
            if not said.loud:
                yield f"broken: {one['name']!r} ({one['measured']}); no finding is open, {said.decision}"


@rule
def verify_and_report(said: Said) -> Iterator[str]:
    """`verify --metrics` and the report judge the same log: a violation beyond doubt is an open finding of that stage.
    A line marked ? wants a look and need not be one."""
    stages = {s["stage"]: s["status"] for s in said.report["pipeline"]}
    for check in said.held or ():
        if check["mark"] == "!!" and stages.get(check["stage"]) not in ("fail", "warn"):
            yield f"verify: !! {check['stage']}: {check['name']} ({check['value']}); stage {stages.get(check['stage'])}"


@rule
def stage_and_findings(said: Said) -> Iterator[str]:
    """A stage is as bad as the worst open finding in it, and no stage passes that the findings or invariants fail."""
    broken = {
        one["stage"]
        for one in (said.report.get("outlook") or {}).get("invariants") or ()
        if one["status"] in ("fail", "warn")
    }
    for stage in said.report["pipeline"]:
        worst = max((RANK[f["severity"]] for f in said.active if f["stage"] == stage["stage"]), default=0)
        wanted = {0: ("pass", "unknown"), 1: ("warn",), 2: ("fail",)}[worst]
        if stage["status"] not in wanted and not (worst < 2 and stage["stage"] in broken):
            yield f"stage {stage['stage']} {stage['status']}, its worst finding is of rank {worst}"


@rule
def finding_without_stage(said: Said) -> Iterator[str]:
    """A loud finding about what the policy does belongs to a stage: the pipeline would pass beside it. One about the
    machine, the clock, the files or the run's end may have none: none of the five stages is theirs."""
    for finding in said.loud:
        if finding["id"] in NO_STAGE:
            continue
        metrics = [said.metric(e["metric"]) for e in finding["evidence"][:1]]
        groups = {m["group"] for m in metrics if m is not None} & {"reward", "policy", "drift", "length"}
        if finding["stage"] is None and groups and Trait.COST_ONLY not in rules()[finding["id"]].traits:
            yield f"{finding['id']} ({finding['severity']}, {', '.join(sorted(groups))}) belongs to no stage"


@rule
def child_and_root(said: Said) -> Iterator[str]:
    """A symptom does not begin before its root, nor is it louder; a root is an open finding, no notice, and nobody's
    symptom in a circle. What is over may keep the root that it had. Onsets are dated to within ten steps, or a
    twentieth of the run: so much earlier a symptom may seem to begin."""
    by_id = {f["id"]: f for f in said.active}
    late = max(10, (said.report["run"]["steps"]["last"] or 0) // 20)
    for finding in said.active:
        if finding["root"] is None or finding["root"] == finding["id"]:
            continue
        root = by_id.get(finding["root"])
        name = f"{finding['id']} (of {finding['root']})"
        if root is None:
            yield f"{name}: its root is not open"
            continue
        if root["severity"] == "info":
            yield f"{name}: its root is a notice"
        if RANK[finding["severity"]] > RANK[root["severity"]]:
            yield f"{name}: {finding['severity']}, its root {root['severity']}"
        if (
            None not in (finding["onset_step"], root["onset_step"])
            and finding["onset_step"] + late < root["onset_step"]
        ):
            yield f"{name}: since {finding['onset_step']}, its root since {root['onset_step']}"
        seen = {finding["id"]}
        while root is not None and root["root"] and root["root"] != root["id"]:
            if root["id"] in seen:
                yield f"{name}: roots in a circle"
                break
            seen.add(root["id"])
            root = by_id.get(root["root"])


@rule
def life_of_a_finding(said: Said) -> Iterator[str]:
    """A resolved finding is a notice and its last episode has ended; an open one's has not. No finding is louder than
    it ever was, begins after it ends, or lies outside the run."""
    steps = said.report["run"]["steps"]
    for f in said.report["findings"]:
        name = f["id"]
        if RANK[f["severity"]] > RANK[f["peak_severity"]]:
            yield f"{name}: {f['severity']}, at most {f['peak_severity']}"
        last = f["episodes"][-1]["end_step"] if f["episodes"] else None
        if f["status"] == "resolved" and (f["severity"] != "info" or last is None):
            yield f"{name}: resolved, {f['severity']}, its last episode ends at {last}"
        if f["status"] == "active" and f["episodes"] and last is not None:
            yield f"{name}: open, its last episode ended at {last}"
        if None not in (f["onset_step"], f["last_step"]) and f["onset_step"] > f["last_step"]:
            yield f"{name}: from {f['onset_step']} to {f['last_step']}"
        if f["onset_step"] is not None and steps["last"] is not None and f["onset_step"] > steps["last"]:
            yield f"{name}: since {f['onset_step']}, the run's last step is {steps['last']}"


@rule
def verdict_and_findings(said: Said) -> Iterator[str]:
    """The verdict rests on open findings, is no milder than a critical one, and names no kind that no finding has. It
    may go on beside a critical one that belongs to no stage (it costs time, not the policy), or if it says that only
    rising validation, or the gain of reward or validation, holds it back, or that a fall may be a dip."""
    verdict = said.report["verdict"]
    active = {f["id"]: f for f in said.active}
    for name in verdict["because"]:
        if name not in active:
            yield f"because of {name}, which is not open"
        elif active[name]["severity"] == "info":
            yield f"because of {name}, which is a notice"
    critical = [f["id"] for f in said.active if f["severity"] == "critical" and f["stage"]]
    if said.decision == "continue" and said.loud:
        yield f"continue beside {', '.join(f['id'] for f in said.loud[:3])}"
    held_back = "validation" in verdict["would_change"] or "may be a dip" in verdict["would_change"]
    if said.decision == "continue-watch" and critical and not held_back:
        yield f"continue-watch beside critical {', '.join(critical[:3])}"
    if said.decision in BAD and not said.loud:
        yield f"{said.decision} without an open warning"
    if "healthy" in verdict["kinds"] and (said.loud or said.decision in BAD):
        yield f"healthy, {said.decision} beside {', '.join(f['id'] for f in said.loud[:3])}"
    first = active.get(verdict["because"][0]) if verdict["because"] else None
    headed = re.search(r", since step (\d+)", verdict["text"].split(". ")[0])
    if first is not None and headed is not None and first["onset_step"] not in (None, int(headed[1])):
        yield f"headline: since {headed[1]}; {first['id']}: since {first['onset_step']}"


@rule
def badge_and_state(said: Said) -> Iterator[str]:
    """A run that has ended cannot go on, pause or be stopped; one that goes on is not done. Of one that is stalled or
    whose state is not known both may be said. KEEP names a checkpoint that is there."""
    badge, best = said.badge, said.report["verdict"]["best_checkpoint"]
    if badge is None:
        return
    ended = said.state in ("finished", "crashed")
    fits = ENDED.match(badge) if ended else GOES_ON.match(badge)
    fits = fits or (said.state in ("stalled", "unknown") and (ENDED.match(badge) or GOES_ON.match(badge)))
    if not fits:
        yield f"badge {badge!r} of a run that is {said.state}"
    if "KEEP" in badge and best is None:
        yield f"badge {badge!r}, no checkpoint is named"
    if "USE BEST" in badge and (best is None or best["path"] is None):
        yield f"badge {badge!r}, no checkpoint was saved"
    if re.search(r"KEEP|USE BEST", badge) and best is not None and best["on_disk"] is False:
        yield f"badge {badge!r}, step {best['step']} is not on disk"


@rule
def words_and_state(said: Said) -> Iterator[str]:
    """Nothing is to be waited for in a run that has ended, and nothing that goes on has run its course. Advice of the
    case of KL and reward fits the verdict; it may be milder than a reason that the case does not see."""
    ended = said.state in ("finished", "crashed")
    for where, text in said.sentences():
        if ended and re.search(r"judged again at step|goes on as|so far: ", text):
            yield f"{where}: {text[-80:]!r} of a run that is {said.state}"
    case = (said.report.get("outlook") or {}).get("kl_reward") or {}
    advice = case.get("advice") or ""
    if said.decision == "continue" and re.search(r"\b(stop|abort|pause)\b(?! when| if)", advice):
        yield f"continue, and the case of KL and reward says {advice!r}"
    if said.decision == "continue-watch" and re.match(r"stop now|stop,|abort|pause", advice):
        yield f"continue-watch, and the case of KL and reward says {advice!r}"
    if said.decision in BAD and re.match(r"continue|watch", advice):
        yield f"{said.decision}, and the case of KL and reward says {advice!r}"


@rule
def all_clear(said: Said) -> Iterator[str]:
    """ "All clear" is said beside no open warning, no failed stage and no broken invariant; only of a run whose reward
    or validation is logged; and it tells how many checks could not run."""
    text = said.report["verdict"]["text"]
    if "all clear" not in text.lower():
        return
    bad = [s["stage"] for s in said.report["pipeline"] if s["status"] in ("fail", "warn")]
    if said.loud or bad:
        yield f"all clear beside {[f['id'] for f in said.loud[:3]]}, stages {bad}"
    blind = len(said.report["not_evaluable"])
    if blind and not re.search(rf"\b{blind}\b", text):
        yield f"all clear, and {blind} checks that could not run are not told: {text!r}"
    learns = ("reward_mean", "score_mean", "val_score", "dpo_accuracy", "dpo_reward_margin", "true_component")
    logged = [name for name in said.report["metrics"] if name.split(":")[0] in learns]
    logged += [m["key"] for m in said.report["metrics"].values() if m.get("group") == "reward"]
    if not logged:
        yield "all clear, and no reward, score or validation is logged"


@rule
def checks_that_failed(said: Said) -> Iterator[str]:
    """No check of ours fails on a run; what fails is said, and no verdict is called clear beside it."""
    for failed in said.report.get("checks_failed") or ():
        yield f"{failed['rule']} failed: {failed['error']}"
