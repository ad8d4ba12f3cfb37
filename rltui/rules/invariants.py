"""What must hold for any task. Each invariant is checked once: a broken one is a finding of its stage, and the pipeline
screen, the report and `verify --metrics` show the same result.

Only checks that a log and a config allow. Checks that need the trainer's own functions (log-softmax against the
library's, decoding) are listed as unknown: nothing passes unchecked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rltui.evidence.look import Look
from rltui.evidence.model import Cause, Finding, Level
from rltui.evidence.signal import Signal
from rltui.rules.base import Memory, Params, rule
from rltui.rules.measured_invariants import (
    FINITE,
    SHARES,
    SUM_TO_ZERO,
    Measure,
    advantage_bound,
    advantages_vary,
    clip_range,
    counted,
    entropy_not_negative,
    finite,
    kl_not_negative,
    length_below_cap,
    length_order,
    loss_in_bounds,
    not_logged,
    reward_order,
    shares,
)

BOUND = "no advantage beyond what the group size allows"
RULE = "invariant-violated"


class Invariant(Struct, frozen=True):
    """The result for one invariant. `measured` None: nothing to measure. `how`: what was compared with what."""

    name: str
    stage: str
    status: Level
    measured: str | None
    how: str


class InvariantCheck(Struct, frozen=True):
    """The check of one invariant. `measure` gives None if nothing logged shows it. `rule` judges it: by a finding about
    this invariant or, if `metrics` are named, about one of these. `cause`, `look`: the usual cause, and where it shows.
    """

    name: str
    stage: str
    how: str
    measure: Callable[[Look, Params], Measure | None]
    rule: str = RULE
    metrics: tuple[str, ...] = ()
    cause: str = ""
    look: str = ""

    @property
    def causes(self) -> tuple[Cause, ...]:
        because = f"look at {self.look}"
        return (Cause(self.cause, status="untestable", because=because, look=self.look),) if self.cause else ()

    def judged_by(self, finding: Finding) -> bool:
        """Whether the finding says that this invariant is broken."""
        if finding.id != self.rule:
            return False
        return finding.subject == self.name or any(e.metric in self.metrics for e in finding.evidence)


STATUS: Mapping[str, Level] = {"info": "pass", "warning": "warn", "critical": "fail"}


@rule("invariant-violated", Look)
def invariant_violated(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """One signal for each invariant that most of the newest rows break; a single odd row may be a broken line."""
    out = []
    for check in _own():
        seen = check.measure(look, p)
        if seen is not None and seen.level:
            proofs = ((seen.metric, ""),) if seen.metric else ()
            moved = seen.metric or None
            signal = Signal(seen.level, f"{seen.text}.", proofs, check.name, moved, stage=check.stage)
            out.append(replace(signal, causes=check.causes))
    return out


@cache
def _own() -> tuple[InvariantCheck, ...]:
    """The checks that this rule judges and that a log can show."""
    return tuple(check for check in CHECKS if check.rule == RULE and check.measure is not not_logged)


def invariants(look: Look, p: Params, findings: Iterable[Finding]) -> tuple[Invariant, ...]:
    """Every invariant in the order of the stages, with the severity of the finding about it. An invariant that is
    broken without a finding (too few rows yet, or the rule is off) is unknown."""
    told = list(findings)
    return tuple(_judged(check, check.measure(look, p), [f for f in told if check.judged_by(f)]) for check in CHECKS)


def _judged(check: InvariantCheck, seen: Measure | None, about: list[Finding]) -> Invariant:
    status: Level = "unknown" if seen is None or seen.level else "pass"
    measured = None if seen is None else seen.said
    now = next((f for f in about if f.status == "active"), None)
    past = next((f for f in about if f.status == "resolved" and f.peak_severity != "info"), None)
    if now is not None:
        status = STATUS[now.severity]
        measured = measured or now.summary
    elif past is not None and measured is not None:
        measured += f", was broken until step {past.last_step}"
    return Invariant(check.name, check.stage, status, measured, check.how)


RUN_IT = "needs the trainer's own function"

CHECKS = (
    InvariantCheck(
        "minimum ≤ mean ≤ maximum of the reward",
        "reward",
        "row by row, if all three are logged",
        reward_order,
        cause="Minimum, mean and maximum are taken over different samples",
        look="the line that logs the three: before or after a filter, on one rank or on all",
    ),
    InvariantCheck(
        "advantages differ from 0 where rewards vary",
        "advantages",
        "largest magnitude, normalised by the group, while the reward's spread is not 0",
        advantages_vary,
        cause="A mask or a normalisation takes the advantages to 0",
        look="the advantages of one group beside its rewards",
    ),
    InvariantCheck(
        BOUND,
        "advantages",
        "largest magnitude at most √(G−1) for groups of G (normalised by their own spread)",
        advantage_bound,
        rule="advantage-degenerate",
    ),
    InvariantCheck(
        "groups of advantages sum to 0",
        "advantages",
        "advantage_group_sum, if you log it",
        counted("advantage_group_sum", lambda x: np.abs(x) > SUM_TO_ZERO, "Advantages of a group do not sum to 0"),
        cause="Groups are not those of the prompts, or the baseline is not the mean of the group",
        look="the group ids of one batch beside its prompts",
    ),
    InvariantCheck(
        "log-probs ≤ 0", "log-probs", "needs the trainer's own log-probs of single tokens (tolerance 1e-6)", not_logged
    ),
    InvariantCheck("log-probs equal the library's log-softmax", "log-probs", RUN_IT, not_logged),
    InvariantCheck("softmax sums to 1", "log-probs", RUN_IT, not_logged),
    InvariantCheck(
        "KL to the reference ≥ 0",
        "log-probs",
        "lowest of the newest rows with the k3 estimator, else their mean, as one answer may be below 0",
        kl_not_negative,
        cause="The answers were not drawn from the policy that is scored (cut sampling, old weights), the two "
        "log-probs are of different tokens, its sign is turned, or another estimator is logged",
        look="the log-probs of policy and reference for one response, token by token",
    ),
    InvariantCheck(
        "entropy ≥ 0",
        "generation",
        "lowest value of the newest rows",
        entropy_not_negative,
        cause="The logged entropy has its sign turned, as a loss term has, or its mask is wrong",
        look="the line that logs it",
    ),
    InvariantCheck(
        "tokens count in every step",
        "loss",
        "completion_mask_sum, if you log it",
        counted("completion_mask_sum", lambda x: x <= 0, "No token of the responses counts in the loss"),
        cause="The loss mask covers every token of the responses",
        look="the loss mask of one batch",
    ),
    InvariantCheck(
        "clip range > 0",
        "loss",
        "clip_low and clip_high of the config",
        clip_range,
        cause="The config sets a clip range of 0 or below",
        look="the bounds in the launch script, whose sign may be turned",
    ),
    InvariantCheck(
        "loss of a size that teaches",
        "loss",
        "largest magnitude of the newest rows",
        loss_in_bounds,
        cause="The loss is a sum over tokens, or its log-probs are of other tokens",
        look="how the loss is averaged, and the largest importance ratio",
    ),
    InvariantCheck(
        "loss and gradient finite",
        "loss",
        "points of the newest rows that are not finite",
        finite,
        rule="nonfinite-values",
        metrics=FINITE,
    ),
    InvariantCheck("decoding keeps the content", "generation", "needs the trainer's own decoding", not_logged),
    InvariantCheck(
        "shares lie in 0 to 1",
        "generation",
        f"the newest rows of {', '.join(SHARES)}",
        shares,
        cause="The share is added up over ranks or micro-batches, not averaged",
        look="the line that logs it",
    ),
    InvariantCheck(
        "responses no longer than the limit",
        "generation",
        "longest response of the newest rows against the configured limit",
        length_below_cap,
        cause="The logged length counts prompt tokens too, or another limit acts than the one in the config",
        look="the limit that the sampler logs, and the tokens of the longest response",
    ),
    InvariantCheck(
        "mean ≤ maximum of the length",
        "generation",
        "row by row, if both are logged",
        length_order,
        cause="Mean and maximum are taken over different samples, or in different units",
        look="the line that logs both: tokens or characters, with the prompt or without",
    ),
)
"""In the order of the stages."""
