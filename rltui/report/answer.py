"""The answer at the head of every report: what, since when, why, what to do, what to keep, how sure, and what was not
looked at. Seven texts, none of them empty. Markdown, JSON, check-in, events and the screen all show these."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from rltui.diagnosis.finding_words import in_sentence, over, worst_past
from rltui.evidence.model import GO_BACK, SEVERITY_RANK, BestCheckpoint, Cause, Finding, Fix, Mark
from rltui.frameworks.load import first_key
from rltui.frameworks.load import metrics as known_metrics
from rltui.frameworks.load import phases as known_phases
from rltui.plots.numbers import number
from rltui.prose import capital, ended, listed
from rltui.records import as_dict
from rltui.report.causes import cause_setting, fix_line, likely

if TYPE_CHECKING:
    from rltui.report.model import MetricSummary, Report

FIXES, WANTS = 2, 3
"""The number of fixes that are named, and of kinds of missing data."""

SAVING = "while the checkpoint was saved"
"""The name in `crashes.toml` of the phase of a crash that may have cut a checkpoint short."""

CHOOSES = ("best checkpoint", "ranking of steps")
"""The parts of the diagnosis that are needed to name a checkpoint."""

HIGH, MEDIUM = 0.85, 0.6
"""The least confidence that is called high, and medium. On labelled runs, nine of ten verdicts with a high confidence
were right."""

SURE_BY = {
    "hypothesis": "from the course of the metrics alone",
    "config": "the config says so",
    "samples": "the samples show it",
    "log": "the log shows it",
}


class Answer(Struct, frozen=True):
    """Sentences without markup. `since`, `why` and `do` are those of the finding that the verdict rests on."""

    what: str
    since: str
    why: str
    do: str
    keep: str
    sure: str
    not_looked_at: str

    def as_dict(self) -> dict[str, str]:
        """Plain values for JSON, in the order in which people ask."""
        return as_dict(self)


QUESTIONS = {
    "since": "Since",
    "why": "Why",
    "do": "To do",
    "keep": "Keep",
    "sure": "How sure",
    "not_looked_at": "Not looked at",
}
"""The texts after the headline, each with its label."""


def answer(report: Report) -> Answer:
    """The answer, made from the report. It is cheap, so it is not kept."""
    leading = leading_finding(report)
    return Answer(
        what=report.verdict.text,
        since=_since(report, leading),
        why=_why(report, leading or costly_note(report)),
        do=_do(report, leading),
        keep=_keep(report),
        sure=_sure(report, leading),
        not_looked_at=f"{report.lost} {capital(_not_looked_at(report))}" if report.lost else _not_looked_at(report),
    )


def leading_finding(report: Report) -> Finding | None:
    """The first warning or critical finding that the verdict names, or else the worst open one; None if none is
    open."""
    loud = [f for f in report.findings if f.status == "active" and SEVERITY_RANK[f.severity] > 0]
    named = [f for i in report.verdict.because for f in loud if f.id == i]
    return next(iter([*named, *loud]), None)


def costly_note(report: Report) -> Finding | None:
    """The first open note that costs something, which the headline names if there is nothing worse; None if there is
    none."""
    notes = [f for f in report.findings if f.status == "active" and f.severity == "info"]
    return next((f for f in notes if Mark.COSTS in f.marks), None) if report.verdict.judged else None


def metric_called(summary: MetricSummary) -> str:
    """The short name of a metric in a text; its own key if its meaning is not known."""
    if summary.canonical is None:
        return summary.key
    label = summary.label or summary.key
    if summary.member and set(label.split()) <= set(summary.member.split("/")):
        label = summary.member  # says all that the label does
    if summary.group == "validation" and not label.lower().startswith("val"):
        label = f"validation {label}"  # a bare data set's name could be anything
    said = not summary.member or summary.member.replace("/", " ") in label.replace("/", " ")
    return label if said else f"{label} {summary.member}"


NOTHING, UNKNOWN = "there is nothing to explain.", "not known, as no check says what is wrong."


def _since(report: Report, finding: Finding | None) -> str:
    steps = report.run.steps
    if finding is None:
        if report.verdict.decision == "not-enough-evidence":
            return "not known, nothing could be judged yet."
        if report.run.state == "stalled" and steps.last is not None:
            return f"step {steps.last}, after which nothing came. No warning is open."
        note = costly_note(report)
        since = "" if note is None or note.onset_step is None else f" The note stands since step {note.onset_step}."
        past = over(report.findings)
        return f"no warning is open.{since}{f' {past[:1].upper()}{past[1:]}.' if past else ''}"
    if finding.onset_step is None:
        return "not known, the log does not date it."
    newest = f", the newest step is {steps.last}" if steps.last is not None and steps.last != finding.onset_step else ""
    planned = f" of {steps.total} planned" if steps.total is not None else ""
    return f"step {finding.onset_step}{newest}{planned}."


def _why(report: Report, finding: Finding | None) -> str:
    if finding is None:
        if report.verdict.decision == "not-enough-evidence":
            return "nothing can be explained before there is something to judge."
        if error := report.run.error_after:
            return f"after the last step {ended(error)}"
        if report.run.state == "running" and report.run.broke_off and report.run.state_quote:
            return f"the log ends with “{report.run.state_quote}”."
        past = worst_past(report.findings)
        if past is None and report.run.state == "stalled":
            return "not known, the log stops without a word."
        if past:
            return f"“{past.title}” is over. Its cause: {_why(report, past)}"
        return NOTHING if report.verdict.decision == "continue" else UNKNOWN
    causes = likely(finding)
    failed = any(one.rule == f"causes of {finding.id}" for one in report.checks_failed)
    if failed and not any(cause.status == "supported" for cause in causes):
        return "not known, as a test of a cause failed by a fault of rltui."
    if not causes:
        return "no cause can be named from what is logged."
    text = ended(cause_text(causes[0]))
    return text if causes[0].status == "supported" else f"not known, perhaps: {text}"


def cause_text(cause: Cause) -> str:
    """A cause with the setting and the numbers that support it; if it could not be tested, what to look at."""
    if cause.look:
        return f"{ended(cause.text)} Nothing that is logged tells, so look at {cause.look}"
    setting = cause_setting(cause)
    proof = [text for text in (setting if setting not in cause.because else "", cause.because) if text]
    word = "Proof" if cause.status == "supported" else "Not tested"
    return f"{ended(cause.text)} {word}: {', '.join(proof)}" if proof else cause.text


def _do(report: Report, finding: Finding | None) -> str:
    if finding is None:
        note = costly_note(report)
        more = "" if note is None or not note.fixes else f" For “{in_sentence(note.title)}”: {_do(report, note)}"
        return f"{_nothing_wrong(report)}{more}"
    if not finding.fixes:
        others = [f for f in report.findings if f.status == "active" and f.severity != "info" and f.fixes]
        if not others:
            return "nothing that this log shows can be changed. Look at the run itself."
        return f"for “{in_sentence(others[0].title)}”: {_do(report, others[0])}"
    best = report.verdict.best_checkpoint
    saved = best is not None and best.path is not None
    fixes = [fix for fix in finding.fixes if saved or fix.act != GO_BACK][:FIXES]
    if not fixes:
        return ended(finding.fixes[0].text)
    if len(fixes) == 1:
        return ended(fix_text(fixes[0]))
    return " ".join(f"({place}) {ended(fix_text(fix))}" for place, fix in enumerate(fixes, 1))


def _nothing_wrong(report: Report) -> str:
    state = report.run.state
    if report.verdict.decision == "not-enough-evidence":
        wanted = report.verdict.would_change
        if not report.checks and report.checks_failed:
            return "look at the log itself, or with a version of rltui without this fault."
        if not report.run.steps.rows and report.lost:
            return "look at what was not read (below)."
        if state == "stalled" or report.run.broke_off:
            return f"look whether the run still goes on. {wanted}".rstrip()
        if report.run.over:
            return f"log more in the next run, this one is over. {wanted}{_unnamed(report)}".rstrip()
        return f"wait, or log more. {wanted}{_unnamed(report)}" if wanted else "wait for more rows."
    if report.run.before_again and state != "finished":
        return report.run.before_again
    if report.run.broke_off:
        end = "with an error" if report.run.state == "running" else "without an end mark"
        return f"look whether the run still goes on. Its log ends {end}."
    if report.run.error_after:
        return "look whether all was saved."
    if report.run.over:
        return "nothing, the run is over."
    if report.verdict.decision == "continue" or costly_note(report) is not None:
        return "let it run."
    return "compare samples of the first steps and of the newest ones."


REWARD_WORDS = frozenset(
    ["acc", "accuracy", "correct", "reward", "rewards", "return", "returns", "score", "scores", "solved", "success"]
)
"""Words in a key that may be a reward."""
NO_REWARD = frozenset(["std", "sd", "var", "min", "max", "median", "p50", "p90", "token", "tokens"])
"""Words in a key that is not a mean, or that is about tokens and not about answers."""


def _unnamed(report: Report) -> str:
    """How to name the key of the reward, if neither a reward nor pairs of answers are known and a key is called so."""
    known = ("score_mean", "reward_mean", "val_score", "dpo_accuracy")
    if any(one.canonical in known for one in report.metrics.values()):
        return ""
    unknown = [one.key for one in report.metrics.values() if one.canonical is None]
    words = {key: set(re.split(r"[^a-z]+", key.lower())) for key in unknown}
    maybe = [key for key in unknown if words[key] & REWARD_WORDS and not words[key] & NO_REWARD]
    return f" If {maybe[0]} is the reward, say so: --map score_mean={maybe[0]}." if maybe else ""


def fix_text(fix: Fix) -> str:
    """What to change, from which value to which. If the values are not known, only the first key."""
    if fix.value is not None and fix.to is not None:
        return fix_line(fix)
    key = first_key(fix.config_key)
    if not key:
        return fix.text
    return f"{fix.text[:-1]}, {key})" if fix.text.endswith(")") else f"{fix.text} ({key})"


def _keep(report: Report) -> str:
    best = report.verdict.best_checkpoint
    if best is None and any(one.rule in CHOOSES for one in report.checks_failed):
        return "not known: what chooses the checkpoint failed, by a fault of rltui."
    if best is None:
        return "no checkpoint can be named, none is known or there is no score to choose by."
    summary = report.metrics.get(best.metric)
    summary = summary or next((m for m in report.metrics.values() if m.key == best.metric), None)
    value = f"{metric_called(summary) if summary is not None else best.metric} {value_of_best(best)}"
    value += f", by {best.sets} validation sets together" if best.sets > 1 else ""
    saved = "no saved checkpoint was found" if best.on_disk is None else "no saved checkpoint is of use"
    unknown = f" {best.unknown}." if best.unknown else ""
    if not best.beats_start and best.unknown:
        nothing = "nothing saved is known to beat the start" if best.path is not None else saved
        return f"{nothing}. The best step{_before(best)} is {best.step} ({value}).{unknown}"
    if not best.beats_start:
        nothing = "nothing saved beats the start" if best.path is not None else f"{saved}, and no step beats the start"
        one = "saved step" if best.path is not None else "step"
        if best.against.startswith("no better"):
            return (
                f"{nothing}. The {one} with the highest mean{_before(best)} is {best.step} ({value}), {best.against}."
            )
        against = f", {best.against}" if best.against else ""
        return f"{nothing}. The best {one}{_before(best)} is {best.step} ({value}{against})."
    if best.path is None:
        return f"{saved}. The best step{_before(best)} was {best.step} ({value}).{unknown}"
    limit = f" It is the best{_before(best)}." if best.before is not None else ""
    lost = " It is no longer on disk." if best.on_disk is False else ""
    lost += " The run ended while it was saved, so check that it loads." if _cut_short(report, best) else ""
    return f"the checkpoint of step {best.step} ({value}).{limit}{lost}{unknown}"


def _cut_short(report: Report, best: BestCheckpoint) -> bool:
    """Whether this is the checkpoint that was being saved as the run crashed."""
    run = report.run
    return run.state == "crashed" and SAVING in run.state_because and best.step == run.steps.last


def value_of_best(best: BestCheckpoint) -> str:
    """Its value with the error. If the value includes its neighbours, the logged value of this step comes first."""
    spread = f" ± {number(best.se)}" if best.se is not None else ""
    if best.logged is None or number(best.logged) == number(best.value):
        return f"{number(best.value)}{spread}"
    return f"{number(best.logged)}, with those around it {number(best.value)}{spread}"


def _before(best: BestCheckpoint) -> str:
    return " before the fault" if best.before is not None else ""


def _sure(report: Report, finding: Finding | None) -> str:
    verdict = report.verdict
    if not verdict.judged:
        return "not at all, there is too little to judge."
    word = "high" if verdict.confidence >= HIGH else "medium" if verdict.confidence >= MEDIUM else "low"
    by = f", {SURE_BY[finding.basis]}" if finding is not None else ""
    return f"{word} ({number(verdict.confidence, decimals=2)}){by}. {verdict.would_change}".rstrip()


def _not_looked_at(report: Report) -> str:
    failed = len(report.checks_failed)
    said = [f"{failed} check{'s' if failed > 1 else ''} failed by a fault of rltui."] if failed else []
    skipped = len(report.not_evaluable)
    if not report.checks and not skipped:
        return " ".join([*said, "No check has run." if said else "no check has run."])
    if not skipped:
        return " ".join([*said, "Every other check has run." if failed else "every check that applies has run."])
    wants = Counter(want(needs) for _, needs, _ in report.not_evaluable)
    if skipped == 1:
        one = "One" if said else "one"
        return " ".join([*said, f"{one} check could not run, for want of {next(iter(wants))}."])
    shown = wants.most_common(WANTS)
    rest = skipped - sum(count for _, count in shown)
    told = [f"{count} {'lack ' if not place else ''}{text}" for place, (text, count) in enumerate(shown)]
    told += [f"{rest} something else"] if rest else []
    return " ".join([*said, f"{skipped} of {skipped + report.checks} checks could not run: {listed(told)}."])


def want(needs: str) -> str:
    """What a check needs, in words, with the short names of metrics."""
    head = needs.split(": ", 1)[0].split(", ", 1)[0]
    names = [_called(name) for name in head.split(" or ")]
    return " or ".join(list(dict.fromkeys(names))[:2])


def _called(name: str) -> str:
    if name.startswith("phase:"):
        found = known_phases().get(name.removeprefix("phase:"))
        return f"the time of the {found.label if found is not None else name.removeprefix('phase:')} phase"
    metric = known_metrics().get(name)
    return in_sentence(metric.label) if metric is not None else name
