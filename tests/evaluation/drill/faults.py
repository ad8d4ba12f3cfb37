"""One fault planted in a healthy run, with the truth beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.evaluation.drill.world import World


@dataclass(frozen=True, slots=True)
class Truth:
    """What was done to a run. `begins`: first faulty step; `ends`: first step after a full recovery, None if it lasts.
    `rules`: any of these names the fault. `stop`: stopping or pausing is right once it lasts; else it is a false stop.
    `clear`: "no fault" is right at the end. `quiet`: no warning is right at any time."""

    begins: int | None = None
    ends: int | None = None
    rules: frozenset[str] = frozenset()
    stop: bool = False
    clear: bool = True
    quiet: bool = False


Plant = Callable[[World], Truth]
FAULTS: dict[str, Plant] = {}


def fault(name: str) -> Callable[[Plant], Plant]:
    def keep(plant: Plant) -> Plant:
        FAULTS[name] = plant
        return plant

    return keep


def _onset(w: World) -> int:
    """A step between a third and two thirds of the run."""
    return int(w.length * w.rng.uniform(0.35, 0.65))


def _ramp(w: World, begin: int, steps: int) -> np.ndarray:
    """0 before `begin`, 1 from `begin + steps` on, straight between."""
    return np.clip((np.arange(1, w.length + 1) - begin + 1) / max(1, steps), 0.0, 1.0)


def _span(w: World) -> int:
    """Length of a quick ramp: 2 to 8 % of the run."""
    return max(1, int(w.length * w.rng.uniform(0.02, 0.08)))


def _lasting(begin: int, *rules: str, stop: bool = True) -> Truth:
    return Truth(begin, None, frozenset(rules), stop=stop, clear=False)


def _lower(w: World, by: np.ndarray, left: float) -> None:
    """Reward and validation fall to `left` of what there was, by the share `by`."""
    share = w.kept["share"] * (1.0 - by * (1.0 - left))
    w.columns["score_mean"] = w.rewarded(share)
    seen = ~np.isnan(w.columns["val_score"])
    w.columns["val_score"][seen] = np.clip(share[seen] - 0.05 + 0.012 * w.rng.standard_normal(seen.sum()), 0, 1)


@fault("nothing")
def nothing(w: World) -> Truth:
    return Truth(quiet=True)


@fault("two kinds of batches")
def two_kinds(w: World) -> Truth:
    """Every third batch is of another task: gradient and length have two levels. Healthy."""
    third = np.arange(w.length) % 3 == 0
    w.columns["grad_norm"] = np.where(third, 6.0, 1.0) * w.columns["grad_norm"]
    w.columns["response_length_mean"] = np.where(third, 1.6, 1.0) * w.columns["response_length_mean"]
    return Truth(quiet=True)


@fault("solved")
def solved(w: World) -> Truth:
    """The task is learnt to its ceiling: entropy, gradient and variance go. Ending the run is right, a fault is not."""
    share = np.clip(w.kept["share"][0] + (1.02 - w.kept["share"][0]) * np.clip(w.gain * 1.3, 0, 1), 0, 0.995)
    w.kept["share"] = share
    _lower(w, np.zeros(w.length), 1.0)
    w.columns["frac_reward_zero_std"] = np.clip(share - 0.02 + w.wiggle(0.01), 0, 1)
    w.columns["entropy"] = w.columns["entropy"] * (1 - 0.85 * np.clip((share - 0.5) * 2, 0, 1))
    w.columns["grad_norm"] = w.columns["grad_norm"] * (1.02 - 0.9 * np.clip((share - 0.8) * 5, 0, 1))
    return Truth(stop=True)


@fault("one bad batch")
def one_bad_batch(w: World) -> Truth:
    """A single spike of the gradient with a dip of the reward that is made up at once."""
    at = _onset(w)
    w.columns["grad_norm"][at - 1] *= 30.0
    w.columns["score_mean"][at] = w.low + 0.5 * (w.columns["score_mean"][at] - w.low)
    return Truth(at, at + 2)


@fault("grader outage, over")
def outage(w: World) -> Truth:
    """The grader answers nothing for a while: reward exactly at its floor, the policy's own signals as before."""
    at = _onset(w)
    end = min(w.length, at + max(2 * w.every, int(w.length * w.rng.uniform(0.03, 0.06))))
    for name in ("score_mean", "reward_std"):
        w.columns[name][at - 1 : end - 1] = w.low if name == "score_mean" else 0.0
    w.columns["frac_reward_zero_std"][at - 1 : end - 1] = 1.0
    w.columns["grad_norm"][at - 1 : end - 1] *= 1e-3
    return Truth(at, end, frozenset(GRADER))


GRADER = ("reward-function-fault", "reward-floor", "no-learning-signal", "reward-collapse")


@fault("grader outage, lasting")
def outage_lasting(w: World) -> Truth:
    at = int(w.length * 0.8)
    w.columns["score_mean"][at - 1 :] = w.low
    w.columns["reward_std"][at - 1 :] = 0.0
    w.columns["frac_reward_zero_std"][at - 1 :] = 1.0
    w.columns["grad_norm"][at - 1 :] *= 1e-3
    return _lasting(at, *GRADER)


@fault("reward collapses")
def reward_collapses(w: World) -> Truth:
    at = _onset(w)
    by = _ramp(w, at, _span(w))
    _lower(w, by, 0.1)
    w.columns["kl_ref"] *= 1 + 6 * by
    return _lasting(at, "reward-collapse", "reward-peak-decline", "val-regression")


@fault("reward declines slowly")
def reward_declines(w: World) -> Truth:
    at = int(w.length * 0.4)
    _lower(w, _ramp(w, at, w.length - at), 0.35)
    return _lasting(at, "reward-collapse", "reward-peak-decline", "val-regression")


@fault("reward comes in another scale")
def rescaled(w: World) -> Truth:
    """Another judge from one step on: the same answers earn ten times as much. The policy is not harmed."""
    at, times = _onset(w), float(w.rng.choice([0.1, 10.0]))
    for name in ("score_mean", "reward_std"):
        w.columns[name][at - 1 :] *= times
    return Truth(
        at, None, frozenset({"reward-function-fault", "metric-definition-trap", "reward-scale-shift"}), clear=False
    )


@fault("gradient jumps and stays")
def gradient_jumps(w: World) -> Truth:
    at = _onset(w)
    w.columns["grad_norm"][at - 1 :] *= float(10 ** w.rng.uniform(2, 3.5))
    return _lasting(at, "grad-norm-explosion", "grad-norm-ramp")


@fault("gradient explodes with the reward")
def gradient_explodes(w: World) -> Truth:
    at = _onset(w)
    by = _ramp(w, at, 2 * _span(w))
    w.columns["grad_norm"] = w.columns["grad_norm"] * np.exp(6 * by) * np.exp(w.wiggle(0.5) * by)
    _lower(w, by, 0.2)
    return _lasting(at, "grad-norm-explosion", "grad-norm-ramp", "reward-collapse", "reward-peak-decline")


@fault("gradient dies")
def gradient_dies(w: World) -> Truth:
    at = _onset(w)
    w.columns["grad_norm"][at - 1 :] = 0.0
    w.columns["score_mean"] = w.rewarded(np.minimum(w.kept["share"], w.kept["share"][at - 1]))
    return _lasting(at, "no-learning-signal", "advantage-degenerate")


@fault("loss is NaN")
def loss_is_nan(w: World) -> Truth:
    at = _onset(w)
    w.columns["pg_loss"][at - 1 :] = np.nan
    w.columns["grad_norm"][at - 1 :] = np.nan
    _lower(w, _ramp(w, at, 1), 0.02)
    return _lasting(at, "nonfinite-values")


@fault("never learns")
def never_learns(w: World) -> Truth:
    """Learning rate far too low: nothing moves from the start."""
    w.kept["share"] = np.full(w.length, w.kept["share"][0])
    _lower(w, np.zeros(w.length), 1.0)
    w.columns["kl_ref"] = np.abs(1e-6 + w.wiggle(1e-6))
    w.columns["entropy"] = w.columns["entropy"].mean() * (1 + w.wiggle(0.02))
    w.columns["lr"][:] = 1e-9
    return _lasting(1, "reward-flat-from-start", "cfg-lr-too-low", "no-learning-signal")


@fault("reward stands at its floor")
def floor(w: World) -> Truth:
    w.columns["score_mean"][:] = w.low
    w.columns["reward_std"][:] = 0.0
    w.columns["frac_reward_zero_std"][:] = 1.0
    w.columns["grad_norm"] *= 1e-4
    w.columns["val_score"][~np.isnan(w.columns["val_score"])] = 0.0
    return _lasting(1, "reward-floor", "no-learning-signal", "zero-variance-groups", "reward-flat-from-start")


@fault("groups die")
def groups_die(w: World) -> Truth:
    """More and more groups get one and the same reward: nothing is left to learn from, well below the ceiling."""
    at = int(w.length * 0.35)
    by = _ramp(w, at, int(w.length * 0.3))
    zero = w.columns["frac_reward_zero_std"]
    w.columns["frac_reward_zero_std"] = np.clip(zero + (0.97 - zero) * by, 0, 1)
    w.columns["reward_std"] = w.columns["reward_std"] * (1 - 0.95 * by)
    w.columns["grad_norm"] = w.columns["grad_norm"] * (1 - 0.95 * by)
    w.columns["score_mean"] = w.rewarded(np.minimum(w.kept["share"], w.kept["share"][at - 1]))
    return _lasting(at, "zero-variance-groups", "no-learning-signal")


@fault("entropy collapses")
def entropy_collapses(w: World) -> Truth:
    """Entropy goes to nothing while the reward stops below its ceiling and then falls."""
    at = _onset(w)
    by = _ramp(w, at, 2 * _span(w))
    w.columns["entropy"] = w.columns["entropy"] * np.exp(-4.5 * by)
    _lower(w, _ramp(w, at + _span(w), int(0.25 * w.length)), 0.5)
    return _lasting(at, "entropy-collapse", "reward-collapse", "reward-peak-decline")


@fault("entropy explodes")
def entropy_explodes(w: World) -> Truth:
    at = _onset(w)
    by = _ramp(w, at, 2 * _span(w))
    w.columns["entropy"] = w.columns["entropy"] + 5 * by * np.exp(w.wiggle(0.05))
    _lower(w, by, 0.15)
    return _lasting(at, "entropy-explosion", "reward-collapse")


@fault("KL runs away")
def kl_runs_away(w: World) -> Truth:
    at = _onset(w)
    by = _ramp(w, at, 3 * _span(w))
    w.columns["kl_ref"] = w.columns["kl_ref"] * np.exp(5 * by)
    _lower(w, _ramp(w, at + _span(w), 3 * _span(w)), 0.3)
    return _lasting(at, "kl-runaway", "kl-up-reward-flat", "reward-collapse", "reward-peak-decline")


@fault("answers are cut")
def answers_are_cut(w: World) -> Truth:
    at = _onset(w)
    by = _ramp(w, at, 2 * _span(w))
    w.columns["response_clip_ratio"] = np.clip(w.columns["response_clip_ratio"] + 0.7 * by, 0, 1)
    w.columns["response_length_mean"] *= 1 + 1.2 * by
    _lower(w, by, 0.5)
    return _lasting(at, "truncation-high", "length-explosion", "reward-collapse", "reward-peak-decline")


@fault("answers become twice as long at once")
def answers_longer(w: World) -> Truth:
    """Reward goes on as before. A cost, no reason to stop."""
    at = _onset(w)
    w.columns["response_length_mean"][at - 1 :] *= float(w.rng.uniform(2.2, 4.0))
    w.columns["time_per_step_s"][at - 1 :] *= 1.6
    return Truth(at, None, frozenset({"length-explosion", "step-time-regression"}), clear=True)


@fault("answers shrink to nothing")
def answers_shrink(w: World) -> Truth:
    at = _onset(w)
    by = _ramp(w, at, _span(w))
    w.columns["response_length_mean"] = w.columns["response_length_mean"] * (1 - by) + 1.0 * by
    w.columns["entropy"] = w.columns["entropy"] * (1 - 0.95 * by)
    _lower(w, by, 0.05)
    return _lasting(at, "length-collapse", "reward-collapse", "entropy-collapse")


@fault("reward is gamed")
def gamed(w: World) -> Truth:
    """The trained reward goes on up while validation falls below its best, far and for long."""
    if "val_score" in w.missing:
        w.missing = ()
    at = int(w.length * 0.4)
    by = _ramp(w, at, w.length - at)
    seen = ~np.isnan(w.columns["val_score"])
    held_out = w.kept["share"] * (1 - 0.7 * by) - 0.05
    w.columns["val_score"][seen] = np.clip(held_out[seen] + 0.012 * w.rng.standard_normal(seen.sum()), 0, 1)
    return _lasting(at, "train-val-divergence", "val-regression")


@fault("steps become slow")
def steps_slow(w: World) -> Truth:
    """Three times as slow from one step on, and nothing else: a cost."""
    at = _onset(w)
    w.columns["time_per_step_s"][at - 1 :] *= 3.0
    return Truth(at, None, frozenset({"step-time-regression"}))


@fault("steps are slow for a while")
def steps_slow_for_a_while(w: World) -> Truth:
    at = _onset(w)
    end = min(w.length, at + max(10 * w.every, w.length // 8))
    w.columns["time_per_step_s"][at - 1 : end - 1] *= 3.0
    return Truth(at, end, frozenset({"step-time-regression"}))


@fault("dip and recovery")
def dip(w: World) -> Truth:
    """The reward falls by half and comes back by itself: nothing to stop for once it is back."""
    at = int(w.length * w.rng.uniform(0.3, 0.45))
    width = max(8 * w.every, w.length // 8)
    by = _ramp(w, at, max(1, width // 4)) * (1 - _ramp(w, at + width // 2, width // 2))
    _lower(w, by, 0.5)
    return Truth(at, at + width, frozenset({"reward-collapse", "reward-peak-decline", "val-regression"}))


@fault("the loss changes at one step")
def loss_changes(w: World) -> Truth:
    """Another mask, or another mean: distance, gradient, clipping and entropy change their level and nothing else."""
    w.missing = ()  # of fewer metrics nobody can tell that several jumped
    at = _onset(w)
    for name, least, most in (("kl_ref", 4, 15), ("grad_norm", 3, 8), ("clip_frac", 3, 10), ("entropy", 1.25, 1.6)):
        if name in w.columns:
            w.columns[name][at - 1 :] *= float(w.rng.uniform(least, most))
    return _lasting(at, "sudden-change", stop=False)


@fault("the weights are those of the start again")
def weights_lost(w: World) -> Truth:
    """As after a load of the first checkpoint: all that the policy does is as at the start, and is learnt once more."""
    w.missing = ()
    at = _onset(w)
    for name, x in w.columns.items():
        if name not in ("val_score", "time_per_step_s"):
            x[at - 1 :] = x[: len(x) - at + 1].copy()
    return Truth(at, None, frozenset({"sudden-change", "reward-collapse", "reward-peak-decline"}), clear=True)
