"""What a drill-down asks about one moment of a run; worked out on request, as it costs too much for every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rltui.diagnosis.catalogue import Rule
from rltui.diagnosis.constants import Constant, constants
from rltui.diagnosis.first_moves import FirstMove, first_moves
from rltui.diagnosis.forecast import forecasts
from rltui.diagnosis.invariants import Invariant, invariants
from rltui.diagnosis.kl_reward import Case, case
from rltui.diagnosis.look import Look
from rltui.diagnosis.model import Finding, Forecast
from rltui.diagnosis.reward_values import RewardValues, reward_values
from rltui.diagnosis.step_time import OwnShare, SlowStep, Waits, own_shares, slow_step, waits
from rltui.diagnosis.worth import Worth, worth
from rltui.run.run import Run


@dataclass(frozen=True, slots=True)
class Insight:
    """At a step: what moved before it (in the order in which it began), the case of KL and reward, what going on is
    worth (None: no plan or too few points), what must hold whatever the task, and what comes if it goes on so."""

    step: int
    moves: tuple[FirstMove, ...]
    case: Case
    worth: Worth | None
    invariants: tuple[Invariant, ...]
    forecasts: tuple[Forecast, ...]
    slow: SlowStep | None = None  # why this very step was slow; None: it was not, or nobody can tell
    waits: Waits | None = None  # trainer and sampler of an asynchronous run
    shares: tuple[OwnShare, ...] = ()  # phases against this run's own earlier steps
    rewards: RewardValues | None = None  # binary or graded, and the share of the better value
    constants: tuple[Constant, ...] = ()  # between reward and loss, with number format and what maths needs


def worst(findings: Sequence[Finding]) -> Finding | None:
    """The open root finding that a reader asks about first: the worst, of equals the first; None where all is quiet."""
    roots = [f for f in findings if f.status == "active" and f.root is None and f.severity != "info"]
    return next((f for f in roots if f.onset_step is not None), None)


def insight(
    look: Look,
    around: int,
    active: Sequence[Finding],
    catalogue: Mapping[str, Rule],
    run: Run,
    machine: Sequence[Forecast] = (),
) -> Insight:
    """`look` holds the rows that may be looked at, `around` is the step whose causes are asked for; `machine`: what is
    foretold of the machine."""
    return Insight(
        around,
        first_moves(look, around),
        case(look),
        worth(look, active, catalogue),
        invariants(look, run.config),
        (*forecasts(look, catalogue), *machine),
        slow_step(look, around),
        waits(look),
        own_shares(look),
        reward_values(look),
        constants(look),
    )
