"""What is logged, what it means, and whether the sources of a run agree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from rltui.evidence.beside_rows import Standing
from rltui.evidence.clock import enough
from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.prose import counted, listed
from rltui.rules.base import Memory, Params, rule
from rltui.run.columns import Series

POISON = ("pg_loss", "total_loss", "kl_ref", "entropy", "vf_loss")
"""A single non-finite value here means that the applied step has spoilt the weights."""

CRITIC = "vf_loss"

UPDATE = ("pg_loss", "total_loss", "vf_loss", "grad_norm")
"""If these are not finite, the loss broke; for KL and entropy, the log-probs broke."""

WITNESSES = ("lr", "epoch", "response_length_mean", "time_per_step_s", "response_clip_ratio", "frac_reward_zero_std")
"""Counted or set, not computed by the model: NaN here means that nothing was written."""


class _Hole(Struct, frozen=True):
    """Non-finite values of a metric within the window. `begin`: the first step of the episode, whose values lie less
    than a window apart. `ongoing`: the first step of the stretch that still goes on, if it is longer than all before,
    otherwise `begin`. `lasts`: the metric has not come back from this stretch, and never came back from one as long."""

    key: str
    count: int
    begin: int
    ongoing: int
    lasts: bool
    alone: int  # points of the stretch that still goes on; 0 if the newest one is finite
    last: int  # last step that is not finite


@rule("nonfinite-values", Look)
def nonfinite_values(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Core metrics logged as NaN or infinite within the window. Spoilt weights give only such values from then on. If
    values are finite again, the step was skipped. If metrics that cannot overflow are missing as often, the log has
    holes."""
    found = {name: hole for name in (*POISON, "grad_norm") if (hole := _hole(look, name, int(p["window"]))) is not None}
    if not found:
        return []
    for name, hole in found.items():
        memory.setdefault(f"first {name}", float(hole.begin))
    level = _poisoned(look, found, p)
    begins = {name: hole.ongoing if level == CRITICAL else hole.begin for name, hole in found.items()}
    start = min(begins.values())
    total = max(hole.count for hole in found.values())
    keys = ", ".join(dict.fromkeys(hole.key for name, hole in found.items() if begins[name] == start))
    text = f"{keys} became NaN or infinite at step {start}, with {total} such row{'s' if total > 1 else ''} "
    text += f"in the last {int(min(p['window'], look.n))}"
    if level < CRITICAL and _full_of_holes(look, found, p):
        level, text = NOTICE, text + ", as in metrics that cannot overflow: the log has holes"
    elif level == WARNING and not any(hole.alone for hole in found.values()):
        text += ". It is finite again since: such a step is skipped"
    return [
        Signal(
            level,
            f"{text}.",
            tuple(
                (name, f"{counted(hole.count, 'row')} not finite, first at step {int(memory[f'first {name}'])}")
                for name, hole in found.items()
            ),
            onset_step=start,
            until=max(hole.last for hole in found.values()),
            stage="loss" if any(name in found for name in UPDATE) else None,
        )
    ]


def _hole(look: Look, name: str, window: int) -> _Hole | None:
    logged = look.logged(name)
    if logged is None or logged.all_finite:
        return None
    recent = int(logged.rows.searchsorted(look.n - window))
    at = np.flatnonzero(np.isnan(logged.values[recent:]))
    if not len(at) or _never_measured(look, name):
        return None
    bad = np.isnan(logged.values)
    good = np.flatnonzero(~bad)
    newest = len(bad) - 1 - int(good[-1]) if len(good) else len(bad)
    longest = int(np.diff(good).max()) - 1 if len(good) > 1 else 0
    every = np.flatnonzero(bad)
    apart = np.flatnonzero(np.diff(logged.rows[every]) >= window)
    begin = int(every[apart[-1] + 1 if len(apart) else 0])
    lasts = newest > longest
    steps = logged.steps
    ongoing = int(steps[len(bad) - newest if lasts else begin])
    return _Hole(logged.key, len(at), int(steps[begin]), ongoing, lasts, newest, int(steps[recent + int(at[-1])]))


def _poisoned(look: Look, found: Mapping[str, _Hole], p: Params) -> int:
    """The severity by what the metrics themselves show."""
    lost = {name: hole for name, hole in found.items() if name in POISON and hole.lasts}
    others = [name for name in (*POISON, "grad_norm") if name not in lost]
    if {*lost} - {CRITIC}:
        others = [name for name in others if name != CRITIC]  # the critic may be a model of its own
    sound = [s for name in others if (s := look.series(name)) is not None]
    contradicted = any(int(s.rows[-1]) == look.n - 1 for s in sound)
    if any(hole.alone > 1 for hole in lost.values()) or (lost and not contradicted):
        return CRITICAL
    gradients = found.get("grad_norm")
    if gradients is not None and gradients.lasts and gradients.alone >= p["grads_critical"]:
        return CRITICAL
    if gradients is None or len(found) > 1:
        return WARNING
    return WARNING if gradients.count >= p["grads_warning"] else NOTICE


def _full_of_holes(look: Look, found: Mapping[str, _Hole], p: Params) -> bool:
    """Whether metrics that the update cannot spoil are also not a number, at least half as often."""
    window = int(p["window"])
    shares = holes(look, window)
    return bool(shares) and 2.0 * max(shares) * window >= max(hole.count for hole in found.values())


def holes(look: Look, window: int) -> list[float]:
    """The share of the newest rows in which each witness is not a number."""
    shares = []
    for name in WITNESSES:
        logged = look.logged(name)
        if logged is not None and len(logged) >= window:
            shares.append(float(np.isnan(logged.values[-window:]).mean()))
    return shares


def _never_measured(look: Look, name: str) -> bool:
    """Whether a metric was never computed: it is NaN from the first row on while the gradient is finite."""
    return look.series(name) is None and look.series("grad_norm") is not None


CORE = ("score_mean", "reward_mean", "pg_loss", "total_loss", "grad_norm", "entropy", "kl_ref")


@rule("metric-vanished", Look)
def metric_vanished(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A core metric that was in every row stopped, while others with the same key prefix go on."""
    last = {name: s for name in CORE if (s := look.logged(name)) is not None and enough(p["window"], s.steps)}
    going = {s.key.rpartition("/")[0] for s in last.values() if int(s.rows[-1]) >= look.n - 2}
    out = _all_vanished(look, last, p) if last and not going else []
    if out:
        going = {series.key.rpartition("/")[0] for series in last.values()}
    told = {name for signal in out for name, _ in signal.proofs}
    for name, series in last.items():
        if name in told:
            continue
        gone = look.n - 1 - int(series.rows[-1])
        window = min(int(p["window"]), len(series))
        steady = int(series.rows[-1] - series.rows[-window]) + 1 <= window / p["present"]
        if (
            not gone
            or not enough(p["rows"], look.steps[-gone:])
            or not steady
            or series.key.rpartition("/")[0] not in going
        ):
            continue
        step = int(series.steps[-1])
        text = f"{series.key} is logged no more since step {step}, while other metrics go on."
        out.append(Signal(WARNING, text, ((name, f"last at step {step}"),), subject=name, onset_step=step))
    return out + _evaluations_stopped(look, p)


def _all_vanished(look: Look, last: Mapping[str, Series], p: Params) -> list[Signal]:
    """No core metric is logged any more, but training rows still come: they hold counted or set metrics as before. The
    epoch does not count, as rows of evaluations have it too."""
    end = max(int(series.rows[-1]) for series in last.values())
    before, since = min(int(p["window"]), end + 1), look.n - 1 - end
    if not enough(p["rows"], look.steps[end + 1 :]):
        return []
    for witness in (series for name in WITNESSES if name != "epoch" and (series := look.logged(name)) is not None):
        came = np.count_nonzero((witness.rows > end - before) & (witness.rows <= end))
        comes = np.count_nonzero(witness.rows > end)
        if came < p["present"] * before or comes < p["present"] * since:
            continue
        step = int(look.steps[end])
        gone = {name: series for name, series in last.items() if int(series.rows[-1]) > end - p["rows"]}
        keys = listed([series.key for series in gone.values()])
        text = f"{keys} {'is' if len(gone) == 1 else 'are'} logged no more since step {step}, "
        text += f"while {witness.key} goes on."
        proofs = tuple((name, f"last at step {int(series.steps[-1])}") for name, series in gone.items())
        return [Signal(WARNING, text, proofs, onset_step=step)]
    return []


def _evaluations_stopped(look: Look, p: Params) -> list[Signal]:
    """No evaluation for many times the interval at which they came before or, if unknown, that the config sets."""
    series = look.series("val_score")
    if series is None:
        return []
    planned, steps = look.settings.number("test_freq") or 0.0, series.steps
    apart = steps[1:] - steps[:-1]
    came = float(np.median(apart)) if len(apart) >= p["evaluations"] else 0.0
    every = came or (planned if planned > 1 else 0.0)  # 1 may be an epoch
    longest, gone = float(apart.max(initial=0)), look.step - int(steps[-1])
    if (
        not every
        or gone < p["missed"] * max(every, longest)
        or not enough(p["rows"], look.steps[look.steps > steps[-1]])
    ):
        return []
    step = int(steps[-1])
    wanted = (
        f"one came every {num(came)} steps before" if came else f"the config asks for one every {num(planned)} steps"
    )
    text = f"The newest evaluation is of step {step}, {gone} steps ago, and {wanted}."
    proofs = (("val_score", f"last at step {step}"),)
    return [Signal(NOTICE, text, proofs, subject="val_score", onset_step=step, marks=(Mark.COSTS,))]


@rule("metric-definition-trap", Look)
def metric_definition_trap(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Metrics whose values show that they mean something else than their name, or were rounded away."""
    out = []
    start = int(look.steps[0]) if look.n else None
    rate, gradient = look.logged("lr"), look.values("grad_norm")
    rows = int(p["rows"])
    if rate is not None and len(rate) >= rows and len(gradient) >= rows and look.rate_rounded:
        text = "The learning rate prints as 0: the log rounds it away. The config has the true one."
        out.append(Signal(NOTICE, text, (("lr", ""),), subject="lr", onset_step=start))
    if look.series("kl_ref") is not None and not look.profile.kl_per_token:
        text = "This KL is summed over the sequence: thresholds a token hold after division by the length."
        out.append(Signal(NOTICE, text, (("kl_ref", ""),), subject="kl_ref", onset_step=start))
    return out


@rule("sources-contradict", Standing)
def sources_contradict(seen: Standing, p: Params, memory: Memory) -> list[Signal]:
    """Two files of the run have different values for the same steps: one signal for each file that is left out. A
    warning if no measured value is the same in both: they are then of two runs, and only one of them is judged."""
    out = []
    for one in seen.contradictions:
        level = WARNING if one.whole else NOTICE
        out.append(Signal(level, f"The file {one.text}.", subject=one.names[1], onset_step=one.since))
    return out
