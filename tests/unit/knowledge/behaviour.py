"""What the program makes of a question about the field: one function for each kind of question.

`answers/` holds questions with the answers that were agreed on, one a line: `[kind, arguments, answer]`. The questions
are fixed: whoever drops a word, an alias or a sign, or moves a limit, gets another answer to a question that was asked
with it. `questions.py` makes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np

from rltui.compare.groups import flags, readings
from rltui.compare.metric import choose
from rltui.diagnosis import kl_reward, tail
from rltui.diagnosis.engine import Engine
from rltui.diagnosis.insight import first_moves
from rltui.diagnosis.life import Life, follow
from rltui.diagnosis.machine import Machine, due
from rltui.diagnosis.remarks import confirmed, remarks
from rltui.diagnosis.roots import Fired, roots
from rltui.discovery.file_roles import label, only_sorts, role
from rltui.evidence.beside_rows import Sampled
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look
from rltui.evidence.model import Finding
from rltui.evidence.signal import WARNING, Signal
from rltui.frameworks.detect import detect_dialect
from rltui.frameworks.load import dialect
from rltui.frameworks.resolve import resolve
from rltui.hardware.base import HardwareSample
from rltui.hardware.processes import role_of
from rltui.readers.config_file import read_config
from rltui.readers.console.notes import NoteFinder
from rltui.records import names
from rltui.report.explain import as_json
from rltui.rollouts.samples import SampleStats
from rltui.rules.base import REGISTERED, Detector
from rltui.rules.catalogue import rules
from rltui.run.checkpoints import step_of
from rltui.run.config import Config, ConfigValue
from rltui.run.hardware import SampleColumns
from rltui.run.identity import algorithm
from rltui.run.phases import outside_step
from rltui.run.table import Series, Table
from rltui.text import redact
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import learning_run, noise
from tests.unit.knowledge import rollouts, signals
from tests.unit.readers.reading import read

ANSWERS = Path(__file__).parent / "answers"


def written_by(keys: list[str], config: list[str], texts: list[str]) -> Any:
    """The framework, and the version if the keys hint at one."""
    found = detect_dialect(keys, config, texts)
    return None if found is None else f"{found.dialect} {found.version or ''}".strip()


def meaning(key: str, framework: str) -> Any:
    m = resolve(key, framework)
    factor = "" if (m.scale, m.shift) == (1.0, 0.0) else f" times {m.scale:g} plus {m.shift:g}"
    return f"{m.canonical or key} [{m.group}] {m.direction} {m.unit} {m.member}{factor}".strip()


def beside_the_step(framework: str, version: str) -> Any:
    """Phases that this version times beside the step."""
    return sorted(outside_step(dialect(framework).phases, version))


def acting(framework: str, settings: dict[str, Any]) -> Any:
    """Canonical setting -> whether it has any effect."""
    config = Config()
    config.add(settings, "test")
    return {name: value.active for name, value in sorted(config.resolved(framework).items())}


def checkpoint(path: str) -> Any:
    """The step of a checkpoint's directory."""
    return step_of(path)


def file_role(path: str, in_checkpoint: bool) -> Any:
    return role(path, in_checkpoint)


def process(command: str) -> Any:
    return role_of(command)


def algorithm_of(framework: str, config: dict[str, Any], canonical: list[str], texts: list[str]) -> Any:
    told = {key: ConfigValue(value, key, "test") for key, value in config.items()}
    return algorithm(framework, told, told, {name: name for name in canonical}, texts, Table())


def hidden(text: str) -> Any:
    """Whether a text is told without its secret."""
    return redact(text) != text


def noted(line: str) -> Any:
    """Kinds of the notes of a console line, with step and total."""
    return [[n.kind, n.step, n.total] for n in NoteFinder().line(line, 1, None)]


def rows_of(format: str, lines: list[str]) -> Any:
    """Steps and names that a reader gives, and whether it takes the file as a config."""
    found = read(format, "\n".join(lines) + "\n")
    names = sorted({name for _, cells in found.rows for name in cells})
    first, last = (found.steps[0], found.steps[-1]) if found.steps else (None, None)
    timed = bool(found.times) and found.times[-1] == found.times[-1]
    return [len(found.rows), first, last, names, [sorted(c.values) for c in found.configs], timed]


def a_config(name: str, tree: dict[str, Any]) -> Any:
    """The settings that a file holds; null if it is no run's config."""
    found = read_config(json.dumps(tree).encode(), name)
    return None if found is None else found.values


def sorts(folder: str) -> Any:
    """Whether a folder only sorts the files of one run."""
    return only_sorts(folder)


def file_label(name: str) -> Any:
    """What the name of a file says beyond its role."""
    return label(name)


def opens(rule: str, every: int) -> Any:
    """Row at which a warning opens that holds from row 1 on and is looked at so often, and row at which it closes that
    ended at row 200."""
    life, hold, opened = Life(), rules()[rule].hold, None
    for n in range(every, 1000, every):
        signal = Signal(WARNING, "it holds") if n <= 200 else None
        life = follow(life, signal, n, n, hold.looks, hold.rows)
        opened = n if opened is None and life.level else opened
        if n > 200 and not life.level:
            return [opened, n]
    return [opened, None]


def explains(rule: str) -> Any:
    """Findings that are told under this one if they open soon after it."""
    others = [other for other in rules() if other != rule]
    return [o for o in others if roots([Fired(rule, 3, 100, 0.8), Fired(o, 2, 110, 0.8)], rules(), 400).get((o, None))]


def explained(rule: str) -> Any:
    """Metrics that `rltui explain RULE` says it looks at, and the pages that it points to."""
    told = json.loads(as_json(rule) or "{}")
    return [[m["metric"] for m in told["metrics"]], told["pages"]]


Speech = Callable[[Look], list[Signal]]


@contextmanager
def only(levels: Mapping[str, int | Speech]) -> Iterator[None]:
    """These rules alone are asked, and each always speaks at its level, or says what is given for it."""
    before = list(REGISTERED)

    def speaker(of: int | Speech) -> Callable[[Look, Any, Any], list[Signal]]:
        return lambda look, p, memory: [Signal(of, "It speaks.")] if isinstance(of, int) else of(look)

    try:
        REGISTERED[:] = [Detector(rule, Look, speaker(of), lambda _: True) for rule, of in levels.items()]
        yield
    finally:
        REGISTERED[:] = before


def judged(levels: dict[str, int]) -> Any:
    """What is decided if these rules speak at these levels and no other does."""
    with only(levels):
        catalogue = {name: msgspec.structs.replace(rules()[name], needs=()) for name in levels}
        columns = {**learning_run(0, 60), "score_mean": np.full(60, 0.4)}  # what has come down does not come up
        d = Engine(catalogue=catalogue).advance(FakeRun(columns).grow())
    first = next(iter(levels))
    told = [[f.severity, f.basis, f.root] for f in d.findings if f.id == first]
    stages = [f"{stage.stage} {stage.status}" for stage in d.pipeline if stage.status in ("warn", "fail")]
    return [d.verdict.decision, sorted(d.verdict.kinds), list(d.verdict.because), told, stages]


LEVEL = {"kl_ref": 0.06, "entropy": 0.6, "response_length_mean": 400.0, "advantage_mean": 0.2, "pg_loss": 0.01}
ROWS = 120


def moved(factors: dict[str, float], kl_in: str) -> Any:
    """Remarks on a run whose metrics move to so many times their first level."""
    columns: dict[str, Any] = {}
    for n, (name, factor) in enumerate(factors.items()):
        rng = np.random.default_rng(n)
        columns[name] = LEVEL.get(name, 0.5) * (np.linspace(1, factor, ROWS) + 0.004 * noise(rng, ROWS))
    config = {"reward": {"kl_in_reward": True, "kl_coef_reward": 0.05}, "loss": {"kl_coef_loss": 0.05}}.get(kl_in, {})
    look = look_at(columns, config=config)
    return [f"{r.id} ({r.rule})" for r in remarks(look, Guard())]


def courses(kl: str, reward: str, held_out: str) -> Any:
    """The case of KL, reward and validation, and the verdicts beside which it gives advice."""
    moves = {"up": 1.0, "flat": 0.0, "high": 0.0, "down": -1.0}
    rng, t = np.random.default_rng(3), np.arange(ROWS) / ROWS
    base = 0.3 if kl == "high" else 0.06
    columns: dict[str, Any] = {
        "kl_ref": base + moves[kl] * 0.05 * t + 0.002 * noise(rng, ROWS),
        "score_mean": 0.5 + moves[reward] * 0.3 * t + 0.02 * noise(rng, ROWS),
    }
    if held_out != "none":
        values = 0.4 + moves[held_out] * 0.3 * t + 0.005 * noise(rng, ROWS)
        columns["val_score"] = [float(v) if i % 10 == 0 else None for i, v in enumerate(values)]
    look = look_at(columns)
    decisions: Sequence[Any] = ("continue", "continue-watch", "stop-use-best", "pause-and-fix", "abort-now")
    return [kl_reward.case(look).id, [d for d in decisions if kl_reward.case(look, d).advice]]


def ends(metric: str, first: list[float | None], last: list[float | None], whole: bool = False) -> Any:
    """Signs that the ends of a log show, or a log that was read whole, if this metric alone is logged; null is a logged
    NaN."""
    values = np.array([np.nan if v is None else v for v in (*first, *last)])
    n = np.arange(len(values))
    series = Series(metric, n, n, values, n + 1.7e9)
    found, looked = tail.signs(lambda name: series if name == metric else None, None if whole else len(first))
    return [[f"{s.severity} {s.rule}" for s in found], looked]


def first_to_move(metrics: list[str], at: int) -> Any:
    """What is named before row 100 if these metrics jump at a row, all at once."""
    rng = np.random.default_rng(4)
    columns = {name: (1 + 0.01 * noise(rng, 150)) * np.where(np.arange(150) < at, 0.5, 0.9) for name in metrics}
    return [move.metric for move in first_moves(look_at(columns), 100)]


def looked_at_again(first_s: float, before_s: float, now_s: float) -> Any:
    """Whether the machine, sampled since `first_s`, is judged at a row of `now_s` if it was at one of `before_s`."""
    samples = SampleColumns((HardwareSample(first_s),), np.array([first_s]), (), {}, {})
    return due(Machine(time=before_s), samples, now_s)


def stats(**told: float) -> SampleStats:
    plain: dict[str, Any] = dict.fromkeys(names(SampleStats)) | {"step": 1, "split": "train"}
    return SampleStats(**plain | {"samples": 400, "examined": 400, "groups": 400} | told)


def borne_out(field: str, was: float, now: float) -> Any:
    """Rules whose finding the samples bear out, if a number of theirs goes from one value to another."""
    seen = Sampled(
        None,  # type: ignore[arg-type]
        SimpleNamespace(steps=(1, 9)),  # type: ignore[arg-type]
        (stats(**{field: was}, reward_min=0.0, reward_max=1.0), stats(**{field: now, "step": 9})),
    )
    made = [found(rule) for rule in rules()]
    return [f.id for f in confirmed(made, seen, Guard()) if f.evidence]


def found(rule: str, severity: str = "critical") -> Finding:
    values: dict[str, Any] = dict.fromkeys(names(Finding), ()) | {"id": rule, "severity": severity}
    values |= {"status": "active", "onset_step": 1, "basis": "hypothesis", "root": None, "title": rule, "summary": rule}
    return Finding(**values)


def flagged(rule: str) -> Any:
    """What a run is called in a comparison that this finding condemns, and how it reads."""
    run: Any = SimpleNamespace(id="a", findings=[found(rule)], decision="abort-now", state="finished")
    return [[flag.word for flag in flags(run)], readings([run])]


def ranked_by(names: list[str]) -> Any:
    """The metric by which runs are ranked that log these."""
    run: Any = SimpleNamespace(curves=dict.fromkeys(names), traces={})
    chosen = choose([run], None, False)
    return [chosen.name, chosen.higher_is_better]


KINDS: dict[str, Callable[..., Any]] = (
    {
        one.__name__: one
        for one in (
            *(
                written_by,
                meaning,
                beside_the_step,
                acting,
                checkpoint,
                file_role,
                process,
                algorithm_of,
                hidden,
                noted,
            ),
            *(
                rows_of,
                a_config,
                sorts,
                file_label,
                opens,
                explains,
                explained,
                judged,
                moved,
                courses,
                ends,
                first_to_move,
                looked_at_again,
                borne_out,
                flagged,
                ranked_by,
            ),
        )
    }
    | rollouts.KINDS
    | signals.KINDS
)


def answered(kind: str, asked: list[Any]) -> Any:
    """The answer as JSON holds it."""
    return json.loads(json.dumps(KINDS[kind](*asked)))
