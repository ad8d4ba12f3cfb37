"""What must hold whatever the task. Each invariant is looked at once: what is broken is a finding of its stage, and the
pipeline screen, the report and `verify --metrics` show the same result.

Only what a log and a config can show. What needs the trainer's own functions (log-softmax against the library's,
decoding) is listed as unknown: nothing passes that was not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import sqrt

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rltui.evidence.look import Look
from rltui.evidence.model import Cause, Finding, Level
from rltui.evidence.profile import number
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, Words, num
from rltui.rules.base import Memory, Params, lasting, rule, side_by_side
from rltui.run.sums import median, sd
from rltui.run.table import Floats

NEWEST = 20
"""How many of the newest rows are judged."""

ROUNDING = 1e-6
SUM_TO_ZERO = 1e-3
SHARES = (
    *("response_clip_ratio", "clip_frac", "frac_reward_zero_std", "aborted_ratio"),
    *("valid_action_ratio", "dpo_accuracy"),
)
LOSSES = ("pg_loss", "total_loss", "vf_loss")
FINITE = ("pg_loss", "total_loss", "grad_norm")
K3 = ("k3", "low_var_kl", "k3+")
BOUND = "no advantage beyond what the group size allows"
RULE = "invariant-violated"


class Invariant(Struct, frozen=True):
    """`measured` None: nothing to measure. `how`: what was compared with what."""

    name: str
    stage: str
    status: Level
    measured: str | None
    how: str


class Measure(Struct, frozen=True):
    """What the newest rows show. `level` 0: it holds; else how badly it is broken, and `text` says so in a sentence."""

    measured: Words
    metric: str = ""
    level: int = 0
    text: str = ""

    @property
    def said(self) -> str:
        """What was measured, in words."""
        return self.measured if isinstance(self.measured, str) else self.measured()


class InvariantCheck(Struct, frozen=True):
    """`measure` gives None if nothing is logged that shows it. `rule` judges it: by a finding about this invariant or,
    if `metrics` are named, about one of these. `cause`, `look`: what mostly lies behind it, and where that shows."""

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
        return (Cause(self.cause, status="untestable", because=f"look at {self.look}"),) if self.cause else ()

    def judged_by(self, finding: Finding) -> bool:
        """The finding says that this invariant is broken."""
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
    """Those that this rule judges, and of which a log shows anything."""
    return tuple(check for check in CHECKS if check.rule == RULE and check.measure is not _nothing)


def invariants(look: Look, p: Params, findings: Iterable[Finding]) -> tuple[Invariant, ...]:
    """Every invariant in the order of the stages, with the severity of the finding about it. What is broken without a
    finding (too few rows yet, or the rule is off) is unknown."""
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


def _by_size(size: float, p: Params) -> int:
    """How bad it is to be outside by so much."""
    return CRITICAL if size > p["gross"] else WARNING if size > p["small"] else NOTICE


def _shares(look: Look, p: Params) -> Measure | None:
    seen = {name: x for name in SHARES if len(x := look.values(name)[-NEWEST:])}
    if not seen:
        return None

    def measured() -> str:
        return f"{num(min(float(x.min()) for x in seen.values()))} to {num(max(float(x.max()) for x in seen.values()))}"

    for name, x in seen.items():
        if np.minimum.reduce(x) >= -ROUNDING and np.maximum.reduce(x) <= 1.0 + ROUNDING:
            continue
        beyond = np.maximum(x - 1.0, -x)
        if lasting(beyond > ROUNDING, p):
            text = f"{name} is {num(float(x[-1]))}, outside 0 to 1"
            return Measure(measured, name, _by_size(float(beyond.max()), p), text)
    return Measure(measured)


def _reward_order(look: Look, p: Params) -> Measure | None:
    kind = "score" if look.series("score_min") is not None else "reward"
    a, m, b = (x[-NEWEST:] for x in side_by_side(look, *(f"{kind}_{part}" for part in ("min", "mean", "max"))))
    if not len(a):
        return None
    beyond = np.maximum(a - m, m - b) / np.maximum(1e-9, np.abs(b) + np.abs(a))  # logs print few digits
    bad = beyond > p["small"]

    def measured() -> str:
        return f"broken in {int(bad.sum())} of {len(a)} rows"

    if not lasting(bad, p):
        return Measure(measured)
    text = f"The mean {kind} lies outside its minimum and maximum"
    return Measure(measured, f"{kind}_mean", _by_size(float(beyond.max()), p), text)


def _advantages_vary(look: Look, p: Params) -> Measure | None:
    size, spread = _largest_advantage(look), look.values("reward_std")[-NEWEST:]
    if size is None or not len(spread) or look.settings.group_relative is False or not _normalised(look):
        return None
    now, varied = median(size), median(spread)

    def measured() -> str:
        return f"{num(now)} at a spread of {num(varied)}"

    if not lasting(size < p["flat"], p) or varied <= ROUNDING:
        return Measure(measured)
    text = f"Advantages reach {num(now)} only while rewards differ (spread {num(varied)}): they hardly teach"
    return Measure(measured, "advantage_max", CRITICAL if now <= ROUNDING else WARNING, text)


def _advantage_bound(look: Look, p: Params) -> Measure | None:
    size, group = _largest_advantage(look), look.settings.group_size
    if size is None or group is None or group < 2 or not look.settings.group_relative or not _normalised(look):
        return None
    bound = sqrt(group - 1)
    return Measure(lambda: f"{num(float(size.max()))} of at most {num(bound)}")


def _kl_not_negative(look: Look, p: Params) -> Measure | None:
    """An estimate of single tokens (k1) falls below 0 by chance. The mean of many answers does not stay there, but if
    they were not drawn from this policy. The loss over that estimate then pays for walking away."""
    estimator = look.settings.word("kl_estimator") or look.dialect.conventions.kl_estimator
    x = look.values("kl_ref")[-NEWEST:]
    if not len(x):
        return None
    if estimator not in K3:
        return _kl_mean_not_negative(x, p)
    low = float(np.minimum.reduce(x))
    if low >= p["kl"] or not lasting(x < p["kl"], p):
        return Measure(lambda: num(low))
    return Measure(num(low), "kl_ref", _by_size(-low, p), f"KL is {num(low)}, but the k3 estimate cannot be negative")


def _kl_mean_not_negative(x: Floats, p: Params) -> Measure | None:
    """None while a chance explains it: that an estimate which can be negative holds is not shown by a positive mean."""
    if not lasting(x < 0, p):
        return None
    mean, error = float(x.mean()), sd(x) / sqrt(len(x))
    if mean + p["errors"] * error >= -p["small"]:
        return None
    text = (
        f"The KL averages {num(mean)} over {len(x)} rows, but the mean over answers of this policy cannot be negative"
    )
    return Measure(num(mean), "kl_ref", WARNING if -mean > p["gross"] else NOTICE, text)


def _entropy_not_negative(look: Look, p: Params) -> Measure | None:
    x = look.values("entropy")[-NEWEST:]
    if not len(x):
        return None
    low = float(np.minimum.reduce(x))
    if low >= -ROUNDING or not lasting(x < -ROUNDING, p):
        return Measure(lambda: num(low))
    return Measure(num(low), "entropy", min(WARNING, _by_size(-low, p)), f"Entropy is {num(low)}, below 0")


def _clip_range(look: Look, p: Params) -> Measure | None:
    given = [v for name in ("clip_low", "clip_high") if (v := number(look.settings.config, name)) is not None]
    if not given:
        return None

    def measured() -> str:
        return " and ".join(num(v) for v in given)

    if all(v > 0 for v in given):
        return Measure(measured)
    return Measure(measured, "clip_frac", WARNING, f"The clip range is {measured()}: a bound of 0 lets nothing through")


def _length_below_cap(look: Look, p: Params) -> Measure | None:
    cap = look.settings.length_cap
    name = "response_length_max" if look.series("response_length_max") is not None else "response_length_mean"
    x = look.values(name)[-NEWEST:]
    if not cap or not len(x):
        return None
    top = float(np.maximum.reduce(x))
    if top <= cap + 1 or not lasting(x > cap + 1, p):
        if name != "response_length_max":
            return None  # the mean may be what it wants: only beyond the limit does it tell of the longest one
        return Measure(lambda: f"{num(top)} of {num(cap)}")
    return Measure(f"{num(top)} of {num(cap)}", name, WARNING, f"Responses reach {num(top)} tokens, limit {num(cap)}")


def _loss_in_bounds(look: Look, p: Params) -> Measure | None:
    seen = {name: np.abs(x) for name in LOSSES if len(x := look.values(name)[-NEWEST:])}
    if not seen:
        return None

    def measured() -> str:
        return num(max(float(x.max()) for x in seen.values()))

    for name, x in seen.items():
        if np.maximum.reduce(x) > p["loss"] and lasting(x > p["loss"], p):
            text = f"{name} is {num(float(x[-1]))}: beyond {num(p['loss'])} no update is of use"
            return Measure(measured, name, CRITICAL, text)
    return Measure(measured)


def _finite(look: Look, p: Params) -> Measure | None:
    logged = [s.values[-NEWEST:] for n in FINITE if (s := look.logged(n)) is not None and len(s)]
    if not logged:
        return None

    def measured() -> str:
        bad = sum(int((~np.isfinite(x)).sum()) for x in logged)
        return f"{bad} of {sum(map(len, logged))} newest points are not"

    return Measure(measured)


def _sum(name: str, wrong: Callable[[Floats], np.ndarray], text: str) -> Callable[[Look, Params], Measure | None]:
    """A sum that the user logs for this check."""

    def measure(look: Look, p: Params) -> Measure | None:
        x = look.values(name)[-NEWEST:]
        if not len(x):
            return None
        bad = wrong(x)
        measured = f"{int(bad.sum())} of {len(x)} rows are off"
        return Measure(measured, name, CRITICAL, text) if lasting(bad, p) else Measure(measured)

    return measure


def _nothing(look: Look, p: Params) -> Measure | None:
    """For an invariant that no log shows."""
    return None


def _largest_advantage(look: Look) -> Floats | None:
    low, high = (x[-NEWEST:] for x in side_by_side(look, "advantage_min", "advantage_max"))
    if not len(low):
        return None
    return np.maximum(np.abs(low), np.abs(high))


def _normalised(look: Look) -> bool:
    """Advantages are divided by the group's spread (the default of every group-relative estimator but Dr. GRPO)."""
    plain = any(word in look.settings.word("adv_estimator") for word in ("dr_grpo", "drgrpo", "rloo"))
    return not plain and look.settings.word("norm_adv_by_std") not in ("false", "0", "none")


RUN_IT = "needs the trainer's own function"

CHECKS = (
    InvariantCheck(
        "minimum ≤ mean ≤ maximum of the reward",
        "reward",
        "row by row, if all three are logged",
        _reward_order,
        cause="Minimum, mean and maximum are taken over different samples",
        look="the line that logs the three: before or after a filter, on one rank or on all",
    ),
    InvariantCheck(
        "advantages differ from 0 where rewards vary",
        "advantages",
        "largest magnitude, normalised by the group, while the reward's spread is not 0",
        _advantages_vary,
        cause="A mask or a normalisation takes the advantages to 0",
        look="the advantages of one group beside its rewards",
    ),
    InvariantCheck(
        BOUND,
        "advantages",
        "largest magnitude at most √(G−1) for groups of G (normalised by their own spread)",
        _advantage_bound,
        rule="advantage-degenerate",
    ),
    InvariantCheck(
        "groups of advantages sum to 0",
        "advantages",
        "advantage_group_sum, if you log it",
        _sum("advantage_group_sum", lambda x: np.abs(x) > SUM_TO_ZERO, "Advantages of a group do not sum to 0"),
        cause="Groups are not those of the prompts, or the baseline is not the mean of the group",
        look="the group ids of one batch beside its prompts",
    ),
    InvariantCheck(
        "log-probs ≤ 0", "log-probs", "needs the trainer's own log-probs of single tokens (tolerance 1e-6)", _nothing
    ),
    InvariantCheck("log-probs equal the library's log-softmax", "log-probs", RUN_IT, _nothing),
    InvariantCheck("softmax sums to 1", "log-probs", RUN_IT, _nothing),
    InvariantCheck(
        "KL to the reference ≥ 0",
        "log-probs",
        "lowest of the newest rows with the k3 estimator, else their mean, as one answer may be below 0",
        _kl_not_negative,
        cause="The answers were not drawn from the policy that is scored (cut sampling, old weights), the two "
        "log-probs are of different tokens, its sign is turned, or another estimator is logged",
        look="the log-probs of policy and reference for one response, token by token",
    ),
    InvariantCheck(
        "entropy ≥ 0",
        "generation",
        "lowest value of the newest rows",
        _entropy_not_negative,
        cause="The logged entropy has its sign turned, as a loss term has, or its mask is wrong",
        look="the line that logs it",
    ),
    InvariantCheck(
        "tokens count in every step",
        "loss",
        "completion_mask_sum, if you log it",
        _sum("completion_mask_sum", lambda x: x <= 0, "No token of the responses counts in the loss"),
        cause="The loss mask covers every token of the responses",
        look="the loss mask of one batch",
    ),
    InvariantCheck(
        "clip range > 0",
        "loss",
        "clip_low and clip_high of the config",
        _clip_range,
        cause="The config sets a clip range of 0 or below",
        look="the bounds in the launch script, whose sign may be turned",
    ),
    InvariantCheck(
        "loss of a size that teaches",
        "loss",
        "largest magnitude of the newest rows",
        _loss_in_bounds,
        cause="The loss is a sum over tokens, or its log-probs are of other tokens",
        look="how the loss is averaged, and the largest importance ratio",
    ),
    InvariantCheck(
        "loss and gradient finite",
        "loss",
        "points of the newest rows that are not finite",
        _finite,
        rule="nonfinite-values",
        metrics=FINITE,
    ),
    InvariantCheck("decoding keeps the content", "generation", "needs the trainer's own decoding", _nothing),
    InvariantCheck(
        "shares lie in 0 to 1",
        "generation",
        f"the newest rows of {', '.join(SHARES)}",
        _shares,
        cause="The share is added up over ranks or micro-batches, not averaged",
        look="the line that logs it",
    ),
    InvariantCheck(
        "responses no longer than the limit",
        "generation",
        "longest response of the newest rows against the configured limit",
        _length_below_cap,
        cause="The logged length counts prompt tokens too, or another limit acts than the one in the config",
        look="the limit that the sampler logs, and the tokens of the longest response",
    ),
)
"""In the order of the stages."""
