"""Sections 1 and 7 to 9 of the Markdown report: the run, its time and machines, its pipeline, and what is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.manual.glossary import called
from rltui.plots.glyphs import bar
from rltui.plots.numbers import NOT_AVAILABLE, duration, number, percent, size
from rltui.prose import counted, sentence, several
from rltui.readers.base import LeftOut
from rltui.report.escape import code, fenced, plain, table
from rltui.report.model import GpuNow, HostNow, PhaseUse, Report, RunIdentity
from rltui.report.signal_budget import signal_budget
from rltui.run.attempts import Attempt


def hardware(report: Report) -> list[str]:
    found = report.hardware
    if found.source == "none":
        return [f"Hardware: {plain(found.note) or 'not sampled'}."]
    rows = [
        [
            plain(f"{gpu.node} {gpu.index}".strip()),
            plain(gpu.name or NOT_AVAILABLE),
            memory(gpu),
            _of(_watts(gpu.power_w), _watts(gpu.power_limit_w)),
            percent(gpu.power_use, missing=NOT_AVAILABLE),
            percent(gpu.util, missing=NOT_AVAILABLE),
            f"{number(gpu.temp_c, decimals=0)} °C" if gpu.temp_c is not None else NOT_AVAILABLE,
            plain(trouble(gpu)),
        ]
        for gpu in found.gpus
    ]
    lines = [f"Hardware ({found.source}{', ' + plain(found.note) if found.note else ''}):"]
    if rows:
        heads = ["GPU", "name", "memory", "power", "use by power", "SM", "temperature", "trouble"]
        keep = len(heads) if any(row[-1] for row in rows) else len(heads) - 1
        lines += ["", *table(heads[:keep], [row[:keep] for row in rows], "llrrrrrl"[:keep])]
    else:
        lines[0] += " no GPU samples."
    hosts = [host for host in (found.host, *found.others) if host is not None]
    return [*lines, *_phases(found.phases), *(line for host in hosts for line in _host(host))]


def memory(gpu: GpuNow) -> str:
    """`71.2 GB of 80.0 GB`"""
    return _of(size(gpu.memory_used_gb), size(gpu.memory_total_gb))


def trouble(gpu: GpuNow) -> str:
    """What is wrong with a GPU; empty if nothing is."""
    said = ["does not answer"] if gpu.lost else []
    said += [f"XID {', '.join(str(x) for x in dict.fromkeys(gpu.xids))}"] if gpu.xids else []
    said += [f"{gpu.ecc_uncorrected} memory errors"] if gpu.ecc_uncorrected else []
    return ", ".join([*said, *([f"slowed: {', '.join(gpu.throttle)}"] if gpu.throttle else [])])


def _phases(phases: tuple[PhaseUse, ...]) -> list[str]:
    if not phases:
        return []
    rows = []
    for p in phases:
        said = [p.note] if p.note else []
        said += [f"idle: {', '.join(p.idle)}"] if p.idle else []
        said += [f"the others wait for {', '.join(p.ahead)}"] if p.ahead else []
        memory = f"{size(p.memory_floor_gb)} to {size(p.memory_high_gb)}" if p.memory_high_gb is not None else ""
        power, use = (percent(v, missing=NOT_AVAILABLE) for v in (p.power_of_limit, p.power_use))
        rows.append([plain(p.phase), power, use, memory or NOT_AVAILABLE, plain(", ".join(said))])
    head = "GPUs by phase of a step (medians, power as a share of its limit, memory of the fullest GPU, least to most):"
    return ["", head, "", *table(["phase", "power", "use by power", "memory", "note"], rows, "lrrrl")]


def _host(host: HostNow) -> list[str]:
    limited = f" (limited by its {host.limited_by})" if host.limited_by else ""
    said = [
        f"Host memory{f' of {plain(host.node)}' if host.node else ''} {host_memory(host)}{limited}",
        f"disk left {size(host.disk_free_gb)}",
    ]
    said += [f"{plain(d.what)} {size(d.free_gb)} of {size(d.total_gb)} free" for d in host.disks]
    if host.load1 is not None:
        said.append(f"load {number(host.load1)}" + (f" on {host.cpus} cores" if host.cpus else ""))
    for what, share in (("CPU", host.pressure_cpu), ("memory", host.pressure_memory), ("io", host.pressure_io)):
        said += [f"tasks wait for {what} {percent(share)} of the time"] if share and share >= 0.01 else []
    return ["", f"{', '.join(said)}."]


def host_memory(host: HostNow) -> str:
    """`201 GB of 512 GB`"""
    return _of(size(host.ram_used_gb), size(host.ram_total_gb))


def _of(used: str, total: str) -> str:
    return used if total == NOT_AVAILABLE else f"{used} of {total}"


def _watts(value: float | None) -> str:
    return f"{number(value, decimals=0)} W" if value is not None else NOT_AVAILABLE


LEVELS = {
    status: f"{glyph} {called(status)}"
    for status, glyph in {"pass": "✓", "warn": "!", "fail": "✗", "unknown": "?"}.items()
}
SHARE_BAR = 30
IMPORTANT = (
    *("model", "adv_estimator", "policy_loss_mode", "group_size", "lr", "critic_lr"),
    *("use_kl_loss", "kl_coef_loss", "kl_in_reward", "kl_coef_reward", "kl_coef_advantage", "kl_estimator"),
    *("clip_low", "clip_high", "clip_dual", "entropy_coef", "loss_agg_mode", "norm_adv_by_std", "temperature"),
    *("max_prompt_length", "max_response_length", "train_batch_prompts", "rollout_batch", "mini_batch", "ppo_epochs"),
    *("total_steps", "save_freq", "test_freq", "is_correction", "max_staleness", "reward_weights"),
)
"""The canonical settings that usually explain a run, in the order in which people ask for them."""
MISSING_SHOWN = 30
ATTEMPTS_SHOWN = 5
UNUSED_SHOWN = 10


def identity(report: Report) -> list[str]:
    run = report.run
    lines = [f"- Path: {code(run.path)}", *standing(report, run.state_because)]
    if run.restarts:
        each = zip(run.restarts, run.before_restarts, strict=True)
        restarts = [f"{step} ({plain(why)})" if why else str(step) for step, why in each]
        lines.append(f"- Restarts: from step {', '.join(restarts)}")
    lines += _attempts(run.attempts)
    if run.silences:
        lines += [f"- Without a row: {plain(one.text)}" for one in run.silences[-ATTEMPTS_SHOWN:]]
    return [*lines, "", *_sources(run), "", *_config(report)]


def standing(report: Report, because: str) -> list[str]:
    """What the run is and how far it has come. `because`: the evidence for its state; may be empty."""
    run = report.run
    framework = " ".join(part for part in (run.framework, run.framework_version) if part)
    lines = [
        f"- Framework: {plain(framework) or 'not recognised'}, algorithm: {plain(run.algorithm or 'not known')}",
        f"- State: **{run.state}**{f' ({plain(because)})' if because else ''}",
        f"- Steps: {reached(report)}",
    ]
    return [*lines, f"- Time left: {duration(run.eta_s)}"] if run.eta_s is not None else lines


def reached(report: Report) -> str:
    """`1 to 60 of 100 planned, 60 training steps read`"""
    run, steps = report.run, report.run.steps
    text = NOT_AVAILABLE if steps.total is None else f"none read of {steps.total} planned"
    if steps.first is not None and steps.last is not None:
        planned = f" of {steps.total} planned" if steps.total is not None else f", {_no_plan(report)}"
        count = counted(steps.rows, "training step")
        text = f"{steps.first} to {steps.last}{planned}, {count} read"
        if run.rows_counted:
            text = f"not logged, {steps.rows} rows counted instead{planned}"
    return text


def _no_plan(report: Report) -> str:
    """Why a planned number of steps does not count: the run has passed it, or it is not positive."""
    stated, last = report.config.get("total_steps"), report.run.steps.last
    if stated is None or not isinstance(stated.value, int | float) or not 0 < stated.value < (last or 0):
        return "planned steps not known"
    return f"past the {int(stated.value)} that its config plans"


def _sources(run: RunIdentity) -> list[str]:
    """What was read, from where, and what was left out."""
    rows = [
        [
            code(_below(s.path, run.path)),
            *(plain(s.format), str(s.rows), str(s.skipped), plain(s.newest or ""), plain(s.note)),
        ]
        for s in run.sources
        if s.used
    ]
    lines = table(["read", "format", "rows", "skipped", "newest row", "note"], rows, "llrr")
    if len(rows) > 1:
        lines += ["", "Where several hold a number of the same step, the first of them counts."]
    for s in run.sources:
        if told := [_left_out(one) for one in s.left_out if several(one.count, one.reason) not in s.note]:
            lines += ["", f"Nothing was taken of these lines of {code(_below(s.path, run.path))}:", "", *told]
    unused = [s for s in run.sources if not s.used]
    if unused:
        told = [f"{code(_below(s.path, run.path))} ({plain(s.note.removesuffix('. Not used'))})" for s in unused]
        more = f", and {len(told) - UNUSED_SHOWN} more" if len(told) > UNUSED_SHOWN else ""
        lines += ["", f"Not used: {', '.join(told[:UNUSED_SHOWN])}{more}."]
    return lines


def _left_out(one: LeftOut) -> str:
    text = plain(f": “{one.text}”") if one.text else ""
    return f"- {one.count} × {plain(one.reason)}, as at {plain(one.first)}{text}"


def _attempts(attempts: Sequence[Attempt]) -> list[str]:
    if not attempts:
        return []
    more = f", the last {ATTEMPTS_SHOWN} of {len(attempts)}" if len(attempts) > ATTEMPTS_SHOWN else ""
    lines = [f"- Earlier attempts, whose rows later ones took the place of{more}:"]
    return [*lines, *(f"  - {plain(one.text)}" for one in attempts[-ATTEMPTS_SHOWN:])]


def _below(path: str, run: str) -> str:
    """A file's path as seen from the run."""
    return path[len(run) :].lstrip("/") if path.startswith(run.rstrip("/") + "/") else path


def _config(report: Report) -> list[str]:
    """A table of the settings that usually explain a run and of those without effect; the others in one line."""
    if not report.config:
        return ["No config was found in the logs: causes cannot be tied to settings."]
    listed = [(name, entry) for name, entry in report.config.items() if entry.value is not None]
    important = [(name, entry) for name, entry in listed if name in IMPORTANT or not entry.active]
    rest = [f"{plain(n.replace('_', ' '))} {code(_value(e.value))}" for n, e in listed if (n, e) not in important]
    ordered = sorted(important, key=lambda item: (not item[1].active, _place(item[0])))
    rows = [
        [
            plain(name.replace("_", " ")),
            code(_value(entry.value)),
            code(entry.key),
            plain(entry.note if entry.active else entry.note or "set but inactive"),
        ]
        for name, entry in ordered
    ]
    also = ["", f"Also set: {', '.join(rest)}."] if rest else []
    return [*table(["setting", "value", "key", "note"], rows), *also]


def settings(report: Report) -> list[str]:
    """Every setting under its own key, known or not."""
    known = {e.key: [plain(name.replace("_", " ")), plain(e.source)] for name, e in report.config.items()}
    values = {e.key: e.value for e in report.config.values()} | dict(report.other_config)
    rows = [[code(key), code(_value(values[key])), *known.get(key, ["", ""])] for key in sorted(values)]
    return table(["key", "value", "setting", "from"], rows) if rows else ["No config was found."]


def _place(name: str) -> int:
    return IMPORTANT.index(name) if name in IMPORTANT else len(IMPORTANT)


def _value(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


NOT_TIMED = "The step time is not known"


def step_takes(report: Report) -> str:
    """How long a step takes: by its timer, or else by the times of the rows, which the time left uses too."""
    if report.phases.step_s is not None:
        return f"A step takes {number(report.phases.step_s)} s (median)"
    pace = report.facts.pace if report.facts is not None else None
    if pace is None:
        return NOT_TIMED
    by = "the times of the newest rows" if pace.by == "times" else "its timer"
    return f"A step takes {number(pace.step_s)} s (mean, by {by})"


def step_time(report: Report) -> list[str]:
    phases = report.phases
    if not phases.items:
        step = [f"{told}."] if (told := step_takes(report)) != NOT_TIMED else []
        return [" ".join([*step, _sentence(phases.note or "step times by phase are not logged")]), ""]
    width = max(len(item.name) for item in phases.items)
    lines = []
    for item in phases.items:
        expected = ""
        if item.expected is not None:
            low, high = item.expected
            expected = f"usual {100 * low:.0f}-{100 * high:.0f} %"
        flag = item.status if item.status in ("high", "low") else ""
        cells = (
            f"{item.name:<{width}}",
            f"{number(item.seconds):>7} s",
            f"{percent(item.share):>6}",
            f"{bar(item.share, SHARE_BAR):<{SHARE_BAR}}",
            expected,
            flag,
        )
        lines.append("  ".join(cells).rstrip())
    n = phases.window_steps
    head = f"Medians over the last {n} steps" if n > 1 else "As of the only step that was timed"
    head = f"{step_takes(report)}. {head}"
    if phases.overlapped:
        head += ". Phases overlap, so shares do not add up to 100 %"
    if phases.bottleneck:
        head += f". Bottleneck: **{plain(phases.bottleneck)}**"
    note = [_sentence(phases.note), ""] if phases.note else []
    return [f"{head}.", "", *fenced(lines), "", *note, *_why_slow(report)]


def _why_slow(report: Report) -> list[str]:
    """Which part waits for which, phases with an unusual share, and why the selected step was slow."""
    told = report.outlook
    if told is None:
        return []
    lines = [f"- {_sentence(told.waits.text)}"] if told.waits is not None else []
    lines += [
        f"- {plain(one.phase)} takes {percent(one.share)} of the step, earlier {percent(one.low)} to "
        f"{percent(one.high)} in this run: {one.status}."
        for one in told.shares
        if one.status != "usual"
    ]
    if told.slow is not None:
        lines.append(f"- Step {told.slow.step}: {_sentence(told.slow.text)}")
    return [*lines, ""] if lines else []


def _sentence(text: str) -> str:
    return sentence(plain(text))


def pipeline(report: Report) -> list[str]:
    rows = [[plain(stage.stage), LEVELS[stage.status], plain(stage.because)] for stage in report.pipeline]
    stages = table(["stage", "status", "because"], rows) or ["Not looked at yet."]
    return [*stages, *_signal(report), *_invariants(report), *_constants(report)]


def _signal(report: Report) -> list[str]:
    """How much of a step's signal each stage lets through; nothing if nothing shows it."""
    rows = [
        [one.stage, f"{percent(one.share)} of {one.of}", percent(one.at_start), _step(one.since)]
        for one in signal_budget(report)
        if one.share is not None
    ]
    found = table(["what is left of a step's signal", "now", "at the start", "less since step"], rows)
    return ["", *found] if found else []


def _step(step: int | None) -> str:
    return "" if step is None else str(step)


def _constants(report: Report) -> list[str]:
    """All constants between reward and loss that log, config or the framework's source show."""
    rows = [
        [
            plain(c.name),
            number(c.value),
            plain(c.format or "not known"),
            LEVELS[c.status],
            plain(c.needs),
            plain(c.where),
        ]
        for c in (report.outlook.constants if report.outlook is not None else ())
    ]
    return ["", *table(["constant", "value", "format", "status", "needs", "from"], rows, "lr")] if rows else []


def _invariants(report: Report) -> list[str]:
    """What must hold for any task: measured ones as a table, the others by name."""
    held = report.outlook.invariants if report.outlook is not None else ()
    rows = [
        [plain(one.name), one.stage, LEVELS[one.status], plain(one.measured), plain(one.how)]
        for one in held
        if one.measured is not None
    ]
    lines = ["", *table(["must hold", "stage", "status", "measured", "how"], rows)] if rows else []
    unseen = [plain(one.name) for one in held if one.measured is None]
    if unseen:
        lines += ["", f"This log cannot show: {', '.join(unseen)}. `rltui verify` checks the trainer's own functions."]
    return lines


def unknowns(report: Report) -> list[str]:
    coverage = report.coverage
    lines = [f"{coverage.present} of {coverage.expected} expected metrics are logged."]
    in_table = tuple(gap.text for gap in coverage.missing[:MISSING_SHOWN])
    said = [text for text in report.unknowns if not text.startswith(in_table)]
    if said:
        lines += ["", *(f"- {plain(text)}" for text in said)]
    rows = [
        [
            code(gap.metric) + (" (0 throughout)" if gap.zero else ""),
            ", ".join(code(rule) for rule in gap.blocks),
            plain(gap.enable),
        ]
        for gap in coverage.missing[:MISSING_SHOWN]
    ]
    if rows:
        lines += ["", *table(["not logged", "checks that need it", "how to log it here"], rows)]
    if len(coverage.missing) > MISSING_SHOWN:
        lines += ["", f"… and {len(coverage.missing) - MISSING_SHOWN} more in the JSON report."]
    if report.not_evaluable:
        needing: dict[tuple[str, str], list[str]] = {}
        for title, needs, enable in report.not_evaluable:
            needing.setdefault((needs, enable), []).append(title)
        rows = [[", ".join(plain(t) for t in titles), plain(n), plain(e)] for (n, e), titles in needing.items()]
        lines += ["", "Checks that could not run:", "", *table(["checks", "need", "to enable"], rows)]
    if report.checks_failed:
        lines += [
            "",
            "Checks that failed, by a fault of rltui and not of the run:",
            "",
        ]
        lines += [f"- {code(one.rule)}: {plain(one.error)}" for one in report.checks_failed]
    if report.not_applicable:
        why: dict[str, list[str]] = {}
        for title, reason in report.not_applicable:
            why.setdefault(reason, []).append(plain(title))
        lines += ["", "Checks that do not apply:", ""]
        lines += [f"- {plain(reason)}: {', '.join(titles)}" for reason, titles in why.items()]
    if report.rollouts.source is None:
        lines += ["", f"Rollouts: {plain(report.rollouts.note)}."]
    else:
        found = report.rollouts
        span = f", steps {found.steps[0]} to {found.steps[-1]}" if found.steps else ""
        lines += ["", f"Rollouts: {found.count} in {code(found.source or '')}{span}. {_sentence(found.note)}"]
    return lines
