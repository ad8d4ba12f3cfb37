"""Faults of the policy, its data and its settings."""

from __future__ import annotations

import numpy as np

from tests.evaluation.causes.case import Case, plant

TOO_LARGE = ("Steps too large", "The learning rate jumped", "Learning rate too high", "The learning rate is too high")
OUTSIDE = (
    "The data, the grader or the tools changed",
    "The judge, a weight or the scale of the reward was changed",
    "The grader fails or times out",
    "The reward falls back to a fixed value",
    "An error in the reward code is swallowed",
)
TOO_LOW = (
    "Learning rate too low",
    "Learning rate 0",
    "The learning rate is near 0",
    "The learning rate is orders of magnitude below",
)
LENGTH_PAYS = (
    "The reward rises with the answers: it pays for length, or length costs nothing",
    "Long responses are rewarded",
    "Other parts of the reward outweigh",
    "Another part of the reward is cheaper",
    "The extra part is cheaper",
    "The weight of the extra part",
    "The reward can be earned without solving",
)
DRIFT = (
    "Trainer and sampler",
    "Weights do not change, or the sampler",
    "The sampler has quantised",
    "Old and new log-probs no longer agree",
)


@plant("the learning rate jumps")
def rate_jumps(c: Case) -> tuple[str, ...]:
    times = c.some(10, 40)
    c["lr"] = np.where(np.arange(1, c.w.length + 1) >= c.begin, 1e-6 * times, 1e-6)
    c["grad_norm"] = c["grad_norm"] * (1 + c.some(4, 15) * c.since(8))
    c["kl_ref"] = c["kl_ref"] + c.some(0.5, 3) * c.since(20) * np.exp(c.noise(0.1))
    c["clip_frac"] = np.clip(c["clip_frac"] + 0.2 * c.since(10), 0, 1)
    c.lower(c.since(25, 3), c.some(0.05, 0.4))
    return TOO_LARGE


@plant("the learning rate is too high from the start")
def rate_too_high(c: Case) -> tuple[str, ...]:
    c.config["lr"] = 3e-4
    c["lr"] = np.full(c.w.length, 3e-4)
    c.shows("kl_ref")
    rows = np.arange(c.w.length) / c.w.length
    c["kl_ref"] = np.abs(0.05 + 4 * rows * np.exp(c.noise(0.2)))
    c["grad_norm"] = 4 * c["grad_norm"] * np.exp(c.noise(0.5))
    c.earns(c.share[0] * np.exp(-5 * rows))
    return TOO_LARGE


@plant("the learning rate is nothing")
def rate_nothing(c: Case) -> tuple[str, ...]:
    c.config["lr"] = 1e-10
    c["lr"] = np.full(c.w.length, 1e-10)
    c["kl_ref"] = np.abs(1e-6 + c.noise(1e-7))
    c["entropy"] = c["entropy"][0] * np.exp(c.noise(0.02))
    c["response_length_mean"] = c["response_length_mean"][0] * np.exp(c.noise(0.03))
    c["clip_frac"] = np.zeros(c.w.length)
    c["ppo_kl"] = np.abs(c.noise(1e-7))
    c.earns(np.full(c.w.length, c.share[0]))
    return TOO_LOW


@plant("the sign of the reward turns")
def sign_turns(c: Case) -> tuple[str, ...]:
    """Reward comes with its sign turned from one step on; the policy then follows it, and validation is lost."""
    by = c.since(c.w.length * 0.2)
    true = c.share * (1 - 0.9 * by)
    c.earns(true)
    turned = np.arange(1, c.w.length + 1) >= c.begin
    c.shows("val_score")
    about = 0.0 if c.w.low < 0 else 2 * c.w.low + c.w.width
    c["score_mean"] = np.where(turned, about - c["score_mean"], c["score_mean"])
    c.pays(about - c.w.low - c.w.width, about - c.w.low, turned)
    return (
        *OUTSIDE,
        "The reward pays for the opposite",
        "The reward pays for something else",
        "A part counts with the wrong sign",
        "Advantages or loss have",
    )


@plant("the length is paid for")
def length_paid(c: Case) -> tuple[str, ...]:
    c.config["limit"] = 16384
    by = c.since(c.w.length * 0.3)
    c["response_length_mean"] = c["response_length_mean"] * (1 + c.some(2.5, 5) * by)
    task = c.share * (1 - 0.6 * by)
    c.w.kept["share"] = task
    c["part:accuracy"] = np.clip(task + c.noise(0.03), 0, 1)
    c["part:length"] = np.clip(0.1 + 0.8 * by + c.noise(0.02), 0, 1)
    c.earns(task)
    c["score_mean"] = c["part:accuracy"] + c["part:length"]
    c.pays(0.0, 2.0)
    return LENGTH_PAYS


@plant("the format is farmed")
def format_farmed(c: Case) -> tuple[str, ...]:
    by = c.since(c.w.length * 0.25)
    task = c.share * (1 - 0.7 * by)
    c["part:accuracy"] = np.clip(task + c.noise(0.03), 0, 1)
    c["part:format"] = np.clip(0.3 + 0.67 * by + c.noise(0.02), 0, 1)
    c.earns(task)
    c["score_mean"] = 0.4 * c["part:accuracy"] + c["part:format"]
    c.pays(0.0, 1.4)
    return (*LENGTH_PAYS, "The reward can be earned without solving")


@plant("the KL coefficient is on a path that is off")
def inactive_path(c: Case) -> tuple[str, ...]:
    c.writer = "verl"
    c.config |= {"use_kl": False, "kl": 0.05}
    c.shows("kl_ref")
    by = c.since(c.w.length * 0.2)
    c["kl_ref"] = c["kl_ref"] * np.exp(4.5 * by)
    c.lower(c.since(c.w.length * 0.2, int(c.w.length * 0.06)), 0.3)
    return ("A KL coefficient is set, but", "The KL penalty is off")


@plant("the KL penalty is too strong")
def penalty_too_strong(c: Case) -> tuple[str, ...]:
    c.config["kl"] = 2.0
    c.shows("kl_ref")
    c["kl_ref"] = np.abs(2e-4 + c.noise(4e-5))
    c["entropy"] = c["entropy"][0] * np.exp(c.noise(0.02))
    c.earns(np.full(c.w.length, c.share[0]) + 0.01 * np.arange(c.w.length) / c.w.length)
    return ("KL penalty too strong", "The KL penalty holds the policy back", "KL coefficient too large", "The KL coeff")


@plant("the entropy bonus is too large")
def entropy_bonus(c: Case) -> tuple[str, ...]:
    c.logs_all()
    c.config["entropy"] = 0.05
    c.shows("entropy")
    by = c.since(c.w.length * 0.15)
    c["entropy"] = c["entropy"] + c.some(4, 7) * by * np.exp(c.noise(0.03))
    c.lower(c.since(c.w.length * 0.15, 5), 0.1)
    return ("Entropy bonus too large", "Entropy explosion")


@plant("the clip range is narrow and entropy goes")
def symmetric_clip(c: Case) -> tuple[str, ...]:
    c.config |= {"clip_high": 0.2, "kl": 0.0, "use_kl": False}
    c.shows("entropy", "frac_reward_zero_std")
    by = c.since(c.w.length * 0.2)
    c["entropy"] = c["entropy"] * np.exp(-5 * by)
    c["frac_reward_zero_std"] = np.clip(c["frac_reward_zero_std"] + 0.7 * by, 0, 0.98)
    held = np.minimum(c.share, c.share[c.begin - 1])
    c.earns(held * (1 - 0.25 * c.since(c.w.length * 0.3, 5)))
    return ("A symmetric clip range", "Nothing keeps entropy up", "Entropy collapse")


@plant("the temperature is too high")
def too_hot(c: Case) -> tuple[str, ...]:
    c.config["temperature"] = 1.8
    c.shows("entropy", "response_clip_ratio")
    c["entropy"] = 4.5 * np.exp(c.noise(0.03))
    c["response_clip_ratio"] = np.clip(0.75 + c.noise(0.03), 0, 1)
    c["response_length_mean"] = 3400 * np.exp(c.noise(0.02))
    c.earns(np.full(c.w.length, 0.02))
    return ("Sampling temperature too high", "Entropy explosion")


@plant("the temperature is next to nothing")
def too_cold(c: Case) -> tuple[str, ...]:
    c.config["temperature"] = 0.05
    c.shows("entropy", "frac_reward_zero_std")
    c["entropy"] = 0.03 * np.exp(c.noise(0.05))
    c["frac_reward_zero_std"] = np.clip(0.93 + c.noise(0.01), 0, 1)
    c["reward_std"] = 0.05 * c["reward_std"]
    c.earns(np.full(c.w.length, c.share[0]) + 0.02 * np.arange(c.w.length) / c.w.length)
    return ("Temperature too low", "Rollout temperature", "The sampler uses one seed or a temperature of 0")


@plant("trainer and sampler drift apart")
def drifts_apart(c: Case) -> tuple[str, ...]:
    by = c.since(c.w.length * 0.1)
    c["mismatch"] = np.abs(0.004 * np.exp(c.noise(0.1)) + c.some(0.08, 0.3) * by)
    c["grad_norm"] = c["grad_norm"] * (1 + 20 * c.since(c.w.length * 0.1, 6))
    c.lower(c.since(c.w.length * 0.12, 8), 0.1)
    return DRIFT


@plant("rollouts grow stale")
def stale(c: Case) -> tuple[str, ...]:
    c.writer = "a loop of one's own"
    by = c.since(c.w.length * 0.15)
    c["staleness"] = np.abs(1 + c.noise(0.1) + c.some(12, 30) * by)
    c["clip_frac"] = np.clip(c["clip_frac"] + 0.3 * by, 0, 1)
    c["ppo_kl"] = c["ppo_kl"] + 0.1 * by
    c.lower(c.since(c.w.length * 0.15, 8), 0.25)
    return ("Stale rollouts", "Rollouts become older", "Trainer and sampler disagree, or rollouts", "The rollout queue")


@plant("answers run into the limit")
def into_the_limit(c: Case) -> tuple[str, ...]:
    c.config["limit"] = 2048
    c.shows("response_clip_ratio")
    by = c.since(c.w.length * 0.1)
    start = 600 * np.exp(c.noise(0.03))
    c["response_length_mean"] = start * (1 - by) + 1900 * by
    c["response_clip_ratio"] = np.clip(c["response_clip_ratio"] + c.some(0.6, 0.9) * by, 0, 1)
    c.lower(c.since(c.w.length * 0.1), 0.25)
    return (
        "Most responses are truncated",
        "Responses grow into the length limit",
        "More responses are truncated",
        "Responses never end",
        "Responses no longer end",
        "Responses grow while the reward falls",
        "Truncated responses are punished",
        "Length limit too small",
    )


@plant("the limit is too small from the start")
def limit_too_small(c: Case) -> tuple[str, ...]:
    c.config["limit"] = 512
    c.shows("response_clip_ratio")
    c["response_length_mean"] = 480 * np.exp(c.noise(0.01))
    c["response_clip_ratio"] = np.clip(0.85 + c.noise(0.02), 0, 1)
    c.earns(0.05 + 0.01 * c.w.gain)
    return ("Length limit too small", "Most responses are truncated", "Responses are truncated", "The length limit")


@plant("prompts are too hard")
def too_hard(c: Case) -> tuple[str, ...]:
    c.shows("frac_reward_zero_std")
    c.earns(np.full(c.w.length, 0.004))
    c["score_mean"] = c.w.low + c.w.width * np.clip(0.004 + np.abs(c.noise(0.003)), 0, 1)
    c["reward_std"] = 0.05 * c["reward_std"]
    c["frac_reward_zero_std"] = np.clip(0.97 + c.noise(0.01), 0, 1)
    c["grad_norm"] = 0.05 * c["grad_norm"]
    return ("The task is too hard", "The data is too hard", "Data too easy or too hard", "Most groups give no signal")


@plant("prompts are too easy")
def too_easy(c: Case) -> tuple[str, ...]:
    c.shows("frac_reward_zero_std")
    c.earns(np.clip(0.95 + 0.03 * c.w.gain, 0, 1))
    c["score_mean"] = c.w.low + c.w.width * np.clip(0.965 + 0.01 * c.w.gain + c.noise(0.006), 0, 1)
    c["reward_std"] = 0.1 * c["reward_std"]
    c["frac_reward_zero_std"] = np.clip(0.93 + c.noise(0.01), 0, 1)
    return (
        "The data is too easy",
        "Data too easy",
        "Solved prompts",
        "The model already does",
        "The data has nothing left",
    )


@plant("harder data from one step on")
def harder_data(c: Case) -> tuple[str, ...]:
    c.log.append((c.begin, f"INFO step {c.begin}: curriculum: switching to stage 2 (hard) data"))
    after = np.arange(1, c.w.length + 1) >= c.begin
    c["prompt_length_mean"] = np.where(after, 260, 120) * np.exp(c.noise(0.03))
    c.earns(c.share * np.where(after, 0.35, 1.0), c.share)
    return ("Other data from that step on", "The data changed", *OUTSIDE[:1], "The data is too hard")


@plant("the optimiser starts anew at a resume")
def optimiser_lost(c: Case) -> tuple[str, ...]:
    c.log.append((c.begin, f"Resuming from checkpoint at step {c.begin}: optimizer state not found, starting fresh"))
    soon = c.since(1) * np.exp(-np.clip(np.arange(1, c.w.length + 1) - c.begin, 0, None) / 40)
    c["grad_norm"] = c["grad_norm"] * (1 + 8 * soon)
    c["kl_ref"] = c["kl_ref"] * (1 + 2 * c.since(15))
    c.lower(c.since(6), 0.45)
    return (
        "The optimiser's state",
        "Optimiser state or",
        "Something changed at a restart",
        "The run was resumed there",
    )


@plant("the optimiser starts anew in silence")
def optimiser_lost_in_silence(c: Case) -> tuple[str, ...]:
    optimiser_lost(c)
    c.log[:] = [(c.begin, f"Resuming from checkpoint at step {c.begin}")]
    return ("The run was resumed there", "Something changed at a restart")


@plant("the clip range lets all through")
def clip_too_wide(c: Case) -> tuple[str, ...]:
    c.config["clip_high"] = 10.0
    c.logs_all()
    by = c.since(c.w.length * 0.2)
    c.shows("kl_ref", "ppo_kl")
    c["clip_frac"] = np.zeros(c.w.length)
    c["ppo_kl"] = c["ppo_kl"] + c.some(0.1, 0.3) * by
    c["kl_ref"] = c["kl_ref"] + 1.5 * by**2
    c["grad_norm"] = c["grad_norm"] * (1 + 6 * by)
    c.lower(c.since(c.w.length * 0.2, 8), 0.25)
    return ("The clip range is so wide",)


@plant("a high rate did no harm for long, then answers run away")
def old_rate(c: Case) -> tuple[str, ...]:
    """The rate lies above the usual band from the start; what breaks the run is an entropy bonus that is not logged."""
    c.config["lr"] = 2e-5
    c["lr"] = np.full(c.w.length, 2e-5)
    c.shows("entropy")
    by = c.since(c.w.length * 0.1)
    c["entropy"] = c["entropy"] + c.some(4, 6) * by
    c.lower(c.since(c.w.length * 0.1, 5), 0.1)
    return ("Entropy", "The entropy", "Nothing holds entropy")


@plant("the critic breaks")
def critic_breaks(c: Case) -> tuple[str, ...]:
    c.logs_all()
    c.config["estimator"] = "gae"
    by = c.since(10)
    c["vf_explained_var"] = 0.6 + c.noise(0.03) - 1.6 * by
    c["vf_loss"] = np.abs(0.1 * np.exp(c.noise(0.1)) * (1 + 80 * by))
    c.lower(c.since(c.w.length * 0.12, 10), 0.2)
    return ("The critic",)


@plant("prompts are memorised")
def memorised(c: Case) -> tuple[str, ...]:
    c.shows("val_score")
    by = c.since(c.w.length * 0.3)
    c.earns(np.clip(c.share + (0.97 - c.share) * by, 0, 1), c.share * (1 - 0.4 * by))
    return (
        "The training prompts are memorised",
        "Train data repeated",
        "The reward can be earned without solving the task, or the training prompts",
        "The reward can be earned without solving the task",
        "Over-training",
        "A small data set",
        "Too few prompts",
        "One pattern pays",
    )


@plant("groups of one")
def group_of_one(c: Case) -> tuple[str, ...]:
    c.config["group"] = 1
    c["reward_std"] = np.zeros(c.w.length)
    c["frac_reward_zero_std"] = np.ones(c.w.length)
    c["grad_norm"] = np.full(c.w.length, 0.0)
    c["kl_ref"] = np.zeros(c.w.length)
    c["entropy"] = c["entropy"][0] * np.exp(c.noise(0.02))
    c.earns(np.full(c.w.length, c.share[0]))
    return ("A group of one", "One sample per prompt", "Group too small", "Too few samples")


@plant("weights turn to NaN")
def weights_nan(c: Case) -> tuple[str, ...]:
    after = np.arange(1, c.w.length + 1) >= c.begin
    for name in ("grad_norm", "pg_loss", "kl_ref", "entropy"):
        c[name] = np.where(after, np.nan, c[name])
    c["grad_norm"][c.begin - 4 : c.begin - 1] *= 300
    c.w.missing = tuple(name for name in c.w.missing if name not in ("kl_ref", "entropy"))
    c.lower(c.since(1), 0.0)
    return (
        "Weights are no longer finite",
        "The gradient broke the weights",
        "log(0) or 0/0",
        "Numbers overflow",
        "The gradient norm had exploded",
        "Gradients explode",
        "Learning rate too high",
    )
