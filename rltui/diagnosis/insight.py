"""What a drill-down shows about one step of a run. It is computed on request, because it is too slow for every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from rltui.diagnosis.constants import Constant, RewardValues, constants, reward_values
from rltui.diagnosis.kl_reward import UNKNOWN_CASE, KlRewardCase, case
from rltui.diagnosis.machine import forecasts_of
from rltui.diagnosis.remarks import Moved, moved
from rltui.diagnosis.worth import Worth, worth
from rltui.evidence.beside_rows import Measured
from rltui.evidence.forecast import forecasts, soonest
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look
from rltui.evidence.model import CheckFailed, Decision, Finding, Forecast
from rltui.evidence.signal import num
from rltui.evidence.step_time import OwnShare, SlowStep, Waits, own_shares, slow_step, waits
from rltui.evidence.trends import onset, sd_d, theil_sen
from rltui.rules.catalogue import limit_foretold
from rltui.rules.invariants import RULE, Invariant, invariants
from rltui.rules.page import Rule
from rltui.run.sums import median
from rltui.run.table import Floats

BEFORE = 100  # rows
AFTER = 20
LEAST = 20  # points around the step
CLEAR = 5.0  # sd of the noise; of 20 metrics in which nothing happens, one or two reach 3
EDGE = 5  # points of the first and last level; an onset right at the edge does not count
LEAST_NOISE = 0.02  # of the level before: a schedule has no noise of its own
LINE = 20  # points before the onset that show a course which goes on

WATCHED = (
    *("rollout_train_logprob_diff", "rollout_train_kl", "grad_norm", "entropy", "kl_ref", "ppo_kl", "clip_frac"),
    *("pg_loss", "advantage_mean", "frac_reward_zero_std", "score_mean", "reward_mean", "val_score", "reward_std"),
    *("response_length_mean", "response_clip_ratio", "aborted_ratio", "vf_loss", "lr", "time_per_step_s"),
    *("num_turns_mean", "tool_failure_rate", "staleness_mean"),
)
"""The metrics that are compared. If several change at one step, they keep this order, which is the usual one from cause
to effect."""


class FirstMover(Struct, frozen=True):
    """A metric that changed around the step: when, from which level to which, and by how many sd of its own noise."""

    metric: str
    step: int
    before: float
    after: float
    sds: float

    @property
    def text(self) -> str:
        """`entropy 0.42 → 0.9 at step 640`."""
        return f"{self.metric} {num(self.before)} → {num(self.after)} at step {self.step}"


def first_moves(look: Look, step: int, metrics: Iterable[str] = WATCHED) -> tuple[FirstMover, ...]:
    """The metrics that moved in the 100 rows before `step` and the 20 after it, in the order in which they began.

    Rows after the look do not count. A metric is left out if its change is within its noise.
    """
    found = [move for name in metrics if (move := _move(look, name, step)) is not None]
    order = {name: i for i, name in enumerate(metrics)}
    return tuple(sorted(found, key=lambda m: (m.step, order[m.metric])))


def _move(look: Look, name: str, step: int) -> FirstMover | None:
    series = look.series(name)
    if series is None:
        return None
    at = int(np.searchsorted(series.steps, step))
    first, last = max(0, at - BEFORE), min(len(series), at + AFTER)
    x, steps = series.values[first:last], series.steps[first:last]
    if len(x) < LEAST:
        return None
    cut = onset(x)
    before, after = median(x[:cut]), median(x[-EDGE:])
    noise = max(sd_d(x[:cut]), LEAST_NOISE * abs(before), 1e-12)
    sds = min(abs(after - before), abs(after - _continued(x, cut))) / noise
    return FirstMover(name, int(steps[cut]), before, after, sds) if cut > EDGE and sds >= CLEAR else None


def _continued(x: Floats, cut: int) -> float:
    """The level to which the course before the onset would have led: a schedule or a steady drift is not a change."""
    if cut < LINE:
        return median(x[:cut])
    t = np.arange(cut, dtype=np.float64)
    slope, _, _ = theil_sen(t, x[:cut])
    return median(x[:cut] - slope * t) + slope * (len(x) - 1 - EDGE / 2)


class Insight(Struct, frozen=True):
    """For a step: what moved before it (in the order in which it began), the case of KL and reward, what continuing is
    worth (None: no plan or too few points), what must hold for any task, and what comes if the run continues like this.
    """

    step: int
    moves: tuple[FirstMover, ...]
    case: KlRewardCase
    worth: Worth | None
    invariants: tuple[Invariant, ...]
    forecasts: tuple[Forecast, ...]
    slow: SlowStep | None = None  # why this very step was slow; None: it was not, or too little is known
    waits: Waits | None = None  # trainer and sampler of an asynchronous run
    shares: tuple[OwnShare, ...] = ()  # phases against this run's own earlier steps
    rewards: RewardValues | None = None  # binary or graded, and the share of the better value
    constants: tuple[Constant, ...] = ()  # between reward and loss, with number format and what maths needs
    moved: tuple[Moved, ...] = ()  # since the start, whatever the verdict says
    failed: tuple[CheckFailed, ...] = ()  # which of these raised


def worst(findings: Sequence[Finding]) -> Finding | None:
    """The open root finding that a reader asks about first: the worst one, and among equals the first. None if there is
    none."""
    roots = [f for f in findings if f.status == "active" and f.root is None and f.severity != "info"]
    return next((f for f in roots if f.onset_step is not None), None)


def insight(
    look: Look,
    around: int,
    findings: Sequence[Finding],
    decision: Decision,
    catalogue: Mapping[str, Rule],
    seen: Measured,
) -> Insight:
    """`look` holds the rows that may be used, `findings` and `decision` are the results of their diagnosis; `around` is
    the step whose causes are wanted; `seen`: what was measured of the machine."""
    active = [f for f in findings if f.status == "active"]
    guard = Guard()
    ask = guard.ask
    return Insight(
        around,
        ask("first moves", (), first_moves, look, around),
        ask("KL and reward", UNKNOWN_CASE, case, look, decision),
        ask("worth of going on", None, worth, look, active, catalogue),
        ask(RULE, (), _invariants, look, catalogue, findings),
        (*forecasts(look, limit_foretold(catalogue, "entropy"), guard), *soonest(forecasts_of(seen, guard))),
        ask("slow step", None, slow_step, look, around),
        ask("waits", None, waits, look),
        ask("shares of phases", (), own_shares, look),
        ask("values of the reward", None, reward_values, look),
        ask("constants", (), constants, look),
        ask("what moved", (), moved, look, guard),
        guard.told(),
    )


def _invariants(look: Look, catalogue: Mapping[str, Rule], findings: Sequence[Finding]) -> tuple[Invariant, ...]:
    return invariants(look, catalogue[RULE].values(), findings)
