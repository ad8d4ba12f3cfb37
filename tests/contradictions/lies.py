"""Lies about tables, cards and screens, by the rule that is to find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.contradictions.honest import PAGE, finding
from tests.contradictions.page import read_page
from tests.contradictions.surfaces import Said

Lie = Callable[[Said], Any]


def _screen(name: str, old: str, new: str) -> Lie:
    def lie(said: Said) -> None:
        assert old in said.screens[name], (name, old)
        said.screens[name] = said.screens[name].replace(old, new)

    return lie


def _page(old: str, new: str) -> Lie:
    def lie(said: Said) -> None:
        assert old in PAGE, old
        said.page = read_page(PAGE.replace(old, new))

    return lie


def _summary(words: str) -> Lie:
    return lambda said: said.report["findings"][0].update(summary=words)


def _facts(name: str, **more: Any) -> Lie:
    return lambda said: said.report["facts"][name].update(more)


def _metric(**more: Any) -> Lie:
    return lambda said: said.report["metrics"]["reward_mean"].update(more)


def _verdict(**more: Any) -> Lie:
    return lambda said: said.report["verdict"].update(more)


def _best(**more: Any) -> Lie:
    return lambda said: said.report["verdict"]["best_checkpoint"].update(more)


def _opened(**more: Any) -> Lie:
    event = {"event": "opened", "finding": "reward-collapse", "subject": None, "severity": "critical", "step": 60}
    return lambda said: said.watched.append(event | {"onset_step": 50} | more)  # type: ignore[union-attr]


def _line(old: str, new: str) -> Lie:
    def lie(said: Said) -> None:
        assert any(old in line for line in said.lines), old
        said.lines = [line.replace(old, new) for line in said.lines]

    return lie


def _entry(old: str, new: str) -> Lie:
    def lie(said: Said) -> None:
        assert said.entry is not None
        assert old in said.entry, old
        said.entry = said.entry.replace(old, new)

    return lie


def _over(said: Said) -> None:
    said.report["run"]["state"] = "finished"


def _cut(said: Said) -> None:
    then = said.earlier[30]
    said.cut = {
        30: {**then, "metrics": {**then["metrics"], "reward_mean": {**then["metrics"]["reward_mean"], "last": 9.0}}}
    }


MORE: dict[str, tuple[Lie, ...]] = {
    "numbers are written one way": (
        _summary("Responses reach 12,800 tokens."),
        _summary("The learning rate is 1.0e-06."),
        _summary("Reward fell to -0.3."),
        _page("| 0.800 | 0.500 | 0.100 |", "| 0.800 | 0.500 | -0.100 |"),
    ),
    "page table and json": (
        _page("| 0.800 | 0.500 | 0.100 |", "| 0.800 | 0.500 | 0.120 |"),
        _page("| falls |", "| rises |"),
    ),
    "one date each": (_summary("Reward fell from 0.8 to 0.1, since step 52."),),
    "steady and course": (
        _metric(steady=True),
        _facts("score", since_start={"value": -0.7, "direction": 0}),
    ),
    "values and extremes": (_metric(last_value=7.0), _metric(mid=-3.0)),
    "card and evidence": (_page("reward mean 0.800 → 0.500 → 0.100", "reward mean 0.800 → 0.500 → 0.130"),),
    "facts and table": (
        _facts("score", last=0.3),
        _facts("score", peak={"value": 0.9, "step": 40}),
        _facts("clock", step=59),
        _facts("clock", planned_steps=None),
        _facts("pace", left_s=400.0),
    ),
    "prefix and log cut there": (_cut,),
    "step time on the page": (
        _page("takes 1.00 s", "takes 2.00 s"),
        _page("A step takes 1.00 s", "The step time is not known"),
    ),
    "plan and config": (
        lambda s: (
            s.report["config"].update(total_steps={"key": "max_steps", "value": 100}),
            _page("of 100 planned", ", planned steps not known")(s),
        ),
    ),
    "nothing judged": (
        _verdict(confidence=0.0),
        _verdict(decision="not-enough-evidence", confidence=0.5),
        _verdict(decision="not-enough-evidence"),
        _verdict(text="4 metric rows so far: too few to judge."),
    ),
    "saved and not saved": (_best(path=None), _page("## 1. Run", "- Keep: nothing is saved.\n\n## 1. Run")),
    "headline and courses": (
        _verdict(text="No fault found, and no sure gain on validation: 40 checks ran. Validation has risen and holds."),
        _verdict(text="No fault found, and no gain shown: 40 checks ran. Reward rose 0.1 → 0.8."),
        _verdict(text="All clear: 40 checks ran. Reward rose 0.1 → 0.8. Validation fell 0.5 → 0.3."),
        lambda s: (
            _verdict(text="All clear: 40 checks ran. Reward rose 0.1 → 0.8.")(s),
            _summary("Reward shows no sure gain in 60 rows.")(s),
        ),
        lambda s: (
            _verdict(text="All clear: 40 checks ran. Reward rose 0.1 → 0.8.")(s),
            _best(beats_start=False, metric="reward")(s),
        ),
    ),
    "now is the newest": (_summary("Reward fell 0.8 → 0.1, now 0.3."),),
    "peaks in sentences": (_summary("Reward stands below its best of 0.8 at step 41."),),
    "best value everywhere": (
        _page("0.800 ± 0.020", "0.700 ± 0.020"),
        lambda s: (s.report.update(findings=[]), _best(path=None, value=0.7)(s)),
    ),
    "coverage and table": (
        lambda s: s.report["coverage"]["missing"].append({"metric": "reward_mean"}),
        lambda s: s.report["findings"].append(finding("repeated", title="Data repeated")),
        _screen("coverage", "12 of 13", "11 of 13"),
        _page("12 of 13", "11 of 13"),
    ),
    "cause and config": (
        lambda s: s.report["config"]["lr"].update(value=1e-5),
        lambda s: s.report["config"]["lr"].update(active=False),
    ),
    "finding and explain": (
        lambda s: s.explained["reward-collapse"].update(title="Reward fell"),
        lambda s: s.explained["reward-collapse"].update(stage="loss"),
        lambda s: s.explained["reward-collapse"].update(severity="warning"),
    ),
    "decision on the page": (
        _page("(stop-use-best), confidence 0.90", "(continue), confidence 0.90"),
        _page("(stop-use-best), confidence 0.90", "(stop-use-best), confidence 0.80"),
        _page("(`reward-collapse`)", "(`kl-runaway`)"),
        _page("- Forecast: 40 steps left. It would change with the pace.\n", ""),
    ),
    "outlook and state": (_over,),
    "watch and findings": (
        lambda s: s.watched[0].update(badge="CONTINUE"),
        _opened(finding="kl-runaway"),
        _opened(severity="warning"),
        _opened(onset_step=49),
    ),
    "compare and table": (
        lambda s: s.compared.update(badge="CONTINUE"),
        lambda s: s.compared.update(metric="reward_mean", last=0.5),
        lambda s: s.compared.update(health={"reward_mean": 0.5}),
    ),
    "findings pane and report": (
        _screen("main", "✗ critical  Reward collapsed", "! warning  Reward collapsed"),
        _screen("main", "critical  Reward collapsed ", "critical  KL runs away "),
        _screen("main", "since 50", "since 51"),
        _screen("main", "→   0.100    −88 %   since", "→   0.200    −88 %   since"),
    ),
    "metrics pane and table": (_screen("main", "0.100    −88 %   reward", "0.200    −88 %   reward"),),
    "metric screen and table": (
        _screen("metric", "first window           0.800", "first window           0.700"),
        _screen("metric", "max                    0.800", "max                    0.900"),
        _screen("metric", "shape  falls", "shape  rises"),
    ),
    "pipeline screen and report": (
        _screen("pipeline", "reward        ✗ critical", "reward        ✓ pass"),
        lambda s: s.report["outlook"].update(
            invariants=[{"name": "finite", "stage": "loss", "status": "unknown", "measured": None}]
        ),
    ),
    "coverage screen and report": (
        _screen("coverage", "12 could not", "11 could not"),
        _screen("coverage", "1 do not apply", "2 do not apply"),
        _screen("coverage", "Data repeated ", "KL spike "),
    ),
    "decision screen and report": (
        _screen("decision", "confidence 0.90", "confidence 0.80"),
        _screen("decision", "reward down", "reward up"),
        _screen("decision", "divergence", "learning"),
        _screen("decision", "the next 40 steps bring nothing", "too few points to estimate the gain of more steps"),
        _screen("decision", "the next 40 steps bring nothing", "no planned end is known"),
        _screen("decision", "the next 40 steps bring nothing", "the planned end is reached"),
    ),
    "head line and report": (
        _screen("main", "60 %", "70 %"),
        _screen("main", "Confidence 0.90", "Confidence 0.80"),
        _screen("main", "mean 0.800 ± 0.020", "mean 0.700 ± 0.020"),
        _screen("main", "reward mean 0.800 ± 0.020", "reward 0.800 ± 0.020"),
    ),
    "finding screen and report": (
        _screen("finding", "✗ critical", "! warning"),
        _screen("finding", "since 50", "since 51"),
        _screen("finding", "confidence 0.90", "confidence 0.70"),
        _screen("finding", "→ 0.100", "→ 0.200"),
    ),
    "line of runs and row": (
        lambda s: setattr(s, "listed", s.listed.replace("60/100", "59/100")),
        lambda s: setattr(s, "listed", s.listed.replace("running", "stalled")),
        lambda s: setattr(s, "listed", s.listed.replace("tail: unknown", "ok")),
    ),
    "lines of watch and events": (
        lambda s: s.lines.pop(1),
        _line("step 60/100  critical", "step 60  critical"),
        _line("critical opened", "warning opened"),
        _line("since step 50: ", "since step 51: "),
        _line("(STOP · KEEP 40)", "(CONTINUE)"),
    ),
    "hook and events": (lambda s: s.hooked[0].update(severity="warning"), lambda s: s.hooked.clear()),
    "entry and report": (
        _entry("step 60/100", "step 60/?"),
        _entry("degraded, running", "degraded, stalled"),
        _entry("degraded, running", "healthy, running"),
        _entry("✗ STOP · KEEP 40", "✓ CONTINUE"),
        _entry("critical: Reward", "warning: Reward"),
        _entry("since step 50 (", "since step None ("),
        _entry("best checkpoint 40", "best checkpoint 60"),
        _entry("40 s left", "50 s left"),
        _entry("0.800 → 0.100", "0.800 → 0.200"),
    ),
    "top line of every screen": (
        _screen("gpu", "60/100", "59/100"),
        _screen("phases", "60/100", "60/90"),
        _screen("rollouts", "● live", "✓ finished"),
    ),
    "config screen and report": (
        _screen("config", "running: ", "finished: "),
        _screen("config", "60 rows", "59 rows"),
        _screen("config", "1e-6 ", "2e-6 "),
        lambda s: s.report["run"].update(restarts=[20]),
    ),
    "machine screen and table": (
        _screen("gpu", "3.00 GB", "2.00 GB"),
        _screen("gpu", "1.00–3.00", "1.00–4.00"),
        lambda s: (_over(s), _screen("gpu", "Logged by", "changed by more. Logged by")(s)),
    ),
    "samples screen and report": (
        lambda s: s.report["rollouts"].update(count=3),
        _screen("rollouts", "No generated text found", "group 1"),
    ),
    "step time screen and report": (_screen("phases", "0.40 ", "0.50 "), _screen("phases", " 40 %  40", " 50 %  40")),
    "comparison screen and compare": (
        lambda s: setattr(s, "row", s.row.replace("ugly", "good")),
        lambda s: setattr(s, "row", s.row.replace("0.100", "0.200")),
    ),
}
