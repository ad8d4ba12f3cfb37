"""Unusual or inconsistent config: advice, and a warning only if the rows show the damage."""

from __future__ import annotations

import re
from functools import lru_cache
from math import log

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.evidence.steady_drift import steady_drift
from rltui.evidence.trends import flat, sd_d
from rltui.plots.numbers import percent
from rltui.prose import sentences
from rltui.rules.base import (
    MOST_ROWS,
    Memory,
    Params,
    critical,
    dead_groups,
    gained,
    little_gained,
    losing,
    opened,
    reward_course,
    rule,
    seldom_right,
    tail,
    told,
)
from rltui.rules.first_updates import kl_of_first_updates
from rltui.rules.implied_range import implied_range
from rltui.rules.traits import Trait
from rltui.run.columns import Floats
from rltui.run.sums import quantile

SMALL_MODEL = 0.3  # billions of parameters: for smaller models the usual bands of the learning rate do not hold
SMOKE_TEST = 50  # planned steps up to which a run without checkpoints is a test
NEVER = ("no", "none", "never", "false")
NO_LOWER_BOUND = 1.0
"""From this lower clip range on, nothing is clipped below: ratios of probabilities are above 0."""


def _advice(look: Look, texts: list[str]) -> list[Signal]:
    return [Signal(NOTICE, " ".join(texts), onset_step=look.set_since)] if texts else []


@rule("cfg-no-checkpoint-or-eval", Look)
def cfg_no_checkpoint_or_eval(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Saving or validation is switched off, or so rare that the best state will not be found again; or validation uses
    the training data."""
    settings, planned = look.settings, look.settings.planned_steps
    if planned is not None and planned <= SMOKE_TEST:
        return []
    if look.series("val_score") is not None and settings.shared_data:
        text = f"Validation reads the training data ({settings.shared_data}), so nothing is held out."
        return [Signal(WARNING, text, (("val_score", ""), told(look)), onset_step=int(look.steps[0]))]
    texts = []
    for what, freq, strategy, least in (
        ("Checkpoints", "save_freq", "save_strategy", p["min_ckpts"]),
        ("Validation", "test_freq", "eval_strategy", p["min_points_eval"]),
    ):
        every = settings.number(freq)
        if what == "Validation" and look.series("val_score") is not None:
            continue
        if settings.word(strategy) in NEVER or (every is not None and every <= 0):
            texts.append(f"{what} are switched off." if what == "Checkpoints" else f"{what} is switched off.")
        elif every and planned and settings.word(strategy) != "epoch" and planned / every < least:
            count = int(planned / every)
            how_many = f"only {count}" if count else "none"
            texts.append(f"{what}: {how_many} planned in {planned} steps (every {num(every)}).")
    return _advice(look, texts)


_NAMED_LORA = re.compile(r"(?<![a-z])[qd]?lora(?![a-z])")  # but not "exploration"


ADAPTER = 30.0
"""Percent of trained parameters: an adapter trains fewer (LoRA below 5), full training trains all."""


def _lora(look: Look) -> bool:
    named = any(_NAMED_LORA.search(look.settings.word(name)) for name in ("model", "run_name", "output_dir"))
    stated = "lora" in look.settings.word("train_type") or (look.settings.number("lora_rank") or 0.0) > 0
    few = 0.0 < (look.settings.number("trainable_percent") or 0.0) < ADAPTER
    return named or stated or few


def _model_size(look: Look) -> float | None:
    """Billions of parameters, read from the model's name."""
    return _size_in(look.settings.word("model"))


@lru_cache(maxsize=64)  # asked at every look
def _size_in(name: str) -> float | None:
    found = re.search(r"(?<![\w.])(\d+(?:[.p]\d+)?)([bm])(?![a-z])", name)
    if found is None:
        return None
    size = float(found[1].replace("p", "."))
    return size if found[2] == "b" else size / 1000


NEAR = 1.5
"""Up to this factor above the rate that is judged, the highest rate is reported instead: a schedule passed through
it."""

EARLY_STEPS, EARLY_ROWS = 60, 20
"""What counts as the first tenth if no plan gives more: this many steps, or rows if they are far apart."""
PAID = 4.0
"""Standard errors of a gain that makes up for first updates that went too far: the first rows came after them."""

BEGAN = 5
"""Rows that show where a loss began."""


@rule("cfg-lr-too-high", Look)
def cfg_lr_too_high(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Learning rate above the usual band in more than a few rows, or many times its earlier or configured value. The
    band is loud only if KL rose and the reward fell in the first tenth, until the reward is above its start: a dip that
    is recovered did no harm."""
    if (other := _rate_jumped(look, p, memory) or _unlike_set(look, p)) is not None:
        return [other]
    notice, warn = (p["lora_notice"], p["lora_warn"]) if _lora(look) else (p["full_notice"], p["full_warn"])
    rate = _in_use(look, p["held"], notice)
    size = _model_size(look)
    if rate is None or look.settings.critic or (size is not None and size < SMALL_MODEL):
        return []
    if rate <= notice:
        return []
    early = look.n <= EARLY_ROWS or look.made <= max(EARLY_STEPS, 0.1 * (look.settings.planned_steps or 0))
    swings = _loss_swings(look, p)
    leapt = kl_of_first_updates(look) if early and look.profile.kl_per_token else 0.0
    paid = gained(look, PAID)
    if leapt >= p["leap"] and not paid:
        memory["leapt"] = leapt
    elif paid:
        memory.pop("leapt", None)
    harmed = early and look.trend("kl_ref").direction > 0 and look.trend(look.reward).direction < 0

    def led() -> bool:
        """Whether the updates led to another goal, rather than too far."""
        return bool(steady_drift(look.series("kl_ref"), look.series("grad_norm")))

    if swings or (harmed and not led()):
        memory["proof"] = 1.0
    elif "proof" in memory and (led() or (_loss_fell(look, p) if look.settings.preference else gained(look))):
        del memory["proof"]
    level = NOTICE
    if "proof" not in memory and opened(look, Trait.RATE_LOW):
        return []  # the updates hardly move this policy, so the band does not matter
    if "proof" in memory:
        level = CRITICAL if rate > max(warn, p["full_crit"]) else WARNING
    elif "leapt" in memory:
        level = WARNING
    proven, leaps = "proof" in memory, "leapt" in memory

    def text() -> str:
        kind = "LoRA" if _lora(look) else "full training (no LoRA in sight)"
        shown = num(_as_logged(look, rate))
        band = f"Learning rate {shown} for {kind}, where up to {num(notice)} is usual from 0.3 B parameters on."
        told = "the loss jumped" if look.settings.preference else "KL rose and the reward fell in the first rows"
        far = f"the KL was {num(memory['leapt'])} in the first rows: single updates go that far" if leaps else ""
        return sentences(band, swings or (told if proven else far))

    return [Signal(level, text, (("lr", ""), ("kl_ref", "")), onset_step=_above(look, notice))]


def _in_use(look: Look, held: float, band: float) -> float | None:
    """The highest rate in use for more than a few rows under the present config, or the configured one if none is
    logged. If all rates are within the `band`, the highest of all, which costs less to find."""
    series = look.series("lr")
    if series is None:
        return look.settings.lr
    since = 0 if look.set_since is None else int(series.steps.searchsorted(look.set_since))
    values = series.values[max(min(since, len(series) - 1), len(series) - MOST_ROWS) :]
    highest = float(np.maximum.reduce(values))
    return highest if highest <= band else quantile(values, held)


def _as_logged(look: Look, rate: float) -> float:
    """The rate to show for a quantile `rate`, as it is in the log or config: the highest, if that is near."""
    series = look.series("lr")
    if series is None:
        return rate
    highest = float(np.maximum.reduce(series.values))
    near = float(series.values[np.abs(series.values - rate).argmin()])
    return highest if highest <= NEAR * rate else near


def _above(look: Look, rate: float) -> int | None:
    """The first step with a learning rate above this one; the first step if no rate is logged."""
    series = look.series("lr")
    if series is not None and (over := series.values > rate).any():
        return int(series.steps[int(over.argmax())])
    return int(look.steps[0]) if look.n else None


def _rate_jumped(look: Look, p: Params, memory: Memory) -> Signal | None:
    """A learning rate that rose, from one row to the next, to many times its highest value so far, and stays there. No
    schedule does that after its warm-up. It is critical only if something broke since: `memory` keeps whether something
    was broken before."""
    series, first = look.series("lr"), int(p["jump_rows"])
    if series is None or len(series) <= first or series.values[-1] < p["jump"] * series.values[:first].max():
        return None
    before = np.maximum.accumulate(series.values)[:-1]
    jumps = np.flatnonzero(series.values[1:] >= p["jump"] * before)
    jumps = jumps[(jumps + 1 >= first) & (before[jumps] > 0)]
    if not len(jumps):
        return None
    at = int(jumps[-1]) + 1
    was, now = float(before[at - 1]), float(series.values[-1])
    if now < p["jump"] * was:
        return None
    if look.settings.lr and not look.settings.earlier and now <= AS_SET * look.settings.lr:
        return None  # a warm-up in one step
    step = int(series.steps[at])
    text = f"The learning rate rose from {num(was)} to {num(float(series.values[at]))} at step {step}, "
    text += f"{num(float(series.values[at]) / was)} times all that it was before."
    harm = float(any(critical(look, trait) for trait in (Trait.HARMFUL, Trait.BREAKS_POLICY)))
    broke = harm > memory.setdefault(f"broken before {step}", harm)
    return Signal(CRITICAL if broke else WARNING, text, (("lr", ""),), onset_step=step)


AS_SET = 1.05
"""Factor within which a logged rate equals the configured one, as logs round."""
ABOVE_SET = re.compile(r"one_?cycle|cyclic")
"""Schedules that go above the configured rate."""


def _unlike_set(look: Look, p: Params) -> Signal | None:
    """A learning rate that is logged, from its first rows on, as a multiple of the configured one. Another value is in
    use, as schedules go below the configured rate. Unknown for a run that was resumed with other settings."""
    series, told = look.series("lr"), look.settings.lr
    if series is None or not told or told <= 0 or look.settings.earlier or len(series) < p["unlike_rows"]:
        return None
    first = series.values[: int(p["jump_rows"])]
    highest = float(first.max())
    if highest < p["unlike"] * told or ABOVE_SET.search(look.settings.word("lr_scheduler")):
        return None
    step = int(series.steps[int((first >= p["unlike"] * told).argmax())])
    text = f"The learning rate is {num(highest)} in the first rows of the log, {num(highest / told)} times the "
    text += f"{num(told)} that is set."
    return Signal(WARNING, text, (("lr", ""),), onset_step=step)


def _preference_loss(look: Look) -> Floats:
    return look.values("total_loss") if look.series("total_loss") is not None else look.values("pg_loss")


def _loss_swings(look: Look, p: Params) -> str:
    """Words for what shows that the steps of a preference run are too large: the loss jumps by a part of its initial
    value and is no lower than that. It begins at ln 2, or where its kind of loss begins: IPO's at 1 / (4 beta^2). Empty
    if nothing shows it."""
    loss, rows = _preference_loss(look), int(p["dpo_rows"])
    if not look.settings.preference or len(loss) < rows:
        return ""
    first, level, jumps = float(loss[:BEGAN].mean()), float(loss[-rows:].mean()), sd_d(loss[-rows:])
    if jumps < p["dpo_jumps"] / log(2.0) * max(first, log(2.0)) or level + 2.0 * jumps / rows**0.5 < first:
        return ""
    return f"the loss jumps by {num(jumps)} and is at {num(level)}, no lower than where it began ({num(first)})"


def _loss_fell(look: Look, p: Params) -> bool:
    """Whether the loss of a preference run is clearly below its initial value."""
    loss, rows = _preference_loss(look), int(p["dpo_rows"])
    if len(loss) < rows + BEGAN:
        return False
    first, now = float(loss[:BEGAN].mean()), loss[-rows:]
    return bool(now.mean() + 2.0 * sd_d(now) / rows**0.5 < 0.9 * first)


@rule("cfg-lr-too-low", Look)
def cfg_lr_too_low(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Reward is flat and the policy has not moved although there is a gradient: the updates are too small. Groups
    without variance look the same and are checked first."""
    gradient, x = look.values("grad_norm"), look.values(look.reward)
    dead = dead_groups(look)
    rows = int(max(p["rows"], p["share"] * len(x)))
    still = _stands_still(look, p, rows)
    if not still or len(x) < rows or not len(gradient) or tail(gradient, 20) <= 0:
        return []
    score, level = look.facts.metric(look.reward), flat(look.trend(look.reward))
    if not level and (score is None or not little_gained(look, score, look.profile.ceiling)):
        return []
    if (dead is not None and dead >= p["dead"]) or seldom_right(look, p["seldom"], 20):
        return []
    planned = look.settings.planned_steps
    half = planned is not None and look.made >= p["warn_share"] * planned and dead is not None
    text = f"Reward {'is flat' if level else 'gained next to nothing'} and {still} after {look.n} rows"
    text += ": the updates are too small"
    text += f" (learning rate {num(look.settings.lr)})." if look.settings.lr is not None else "."
    proofs = tuple((n, "") for n in ("kl_ref", "ppo_kl", "clip_frac", "grad_norm") if look.series(n) is not None)
    return [Signal(WARNING if half else NOTICE, text, (*proofs, told(look)), onset_step=int(look.steps[0]))]


def _stands_still(look: Look, p: Params, rows: int) -> str:
    """Words for what shows that the policy hardly moves. Empty if it moves, or if that is unknown."""
    kl, step, clipped = (look.values(n) for n in ("kl_ref", "ppo_kl", "clip_frac"))
    if len(kl) >= rows:
        now = tail(kl, 20)
        return f"the KL to the reference only {num(now)}" if 0 <= now < p["still_kl"] else ""
    if look.settings.one_update is not False or min(len(step), len(clipped)) < rows:
        return ""  # a batch that is used once has no update KL by construction
    quiet = abs(tail(step, 20)) < p["still_step"] and tail(clipped, 20) < p["still_clip"]
    return f"the update KL only {num(tail(step, 20))}, with nothing clipped," if quiet else ""


@rule("cfg-batch-arithmetic", Look)
def cfg_batch_arithmetic(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Batch sizes that do not divide, leave no accumulation step, or cause many updates of one rollout."""
    get = look.settings.number
    prompts, mini, micro, epochs = (get(k) for k in ("train_batch_prompts", "mini_batch", "micro_batch", "ppo_epochs"))
    gpus, size = (get("n_gpus_per_node") or 0) * (get("nnodes") or 1), look.settings.group_size
    texts = []
    broken = False
    if prompts and mini and look.dialect.conventions.mini_batch == "prompts":
        if mini <= prompts and prompts % mini:
            texts.append(f"{num(prompts)} prompts do not divide into mini-batches of {num(mini)}.")
        updates = max(1.0, prompts / mini) * (epochs or 1)
        if updates > p["M_warn"]:
            much = "very " if updates > p["M_crit"] else ""
            texts.append(f"{num(updates)} updates of each rollout: the later ones are {much}far off the policy.")
        if gpus and micro and size and look.settings.word("dynamic_batch") != "true":
            steps = mini * size / (gpus * micro)
            broken = steps < 1
            if broken or steps != int(steps):
                texts.append(
                    f"Mini-batch {num(mini)} × {num(size)} over {num(gpus)} GPUs × {num(micro)} is {num(steps)}."
                )
    told = look.settings.config.get("train_batch_prompts")
    of_one_device = told is not None and "per_device" in told.key  # no setting says how many devices
    if prompts and not of_one_device and prompts < p["prompts_notice"]:
        texts.append(
            f"Only {num(prompts)} prompt{'s' if prompts > 1 else ''} in an iteration: its mean reward is noisy."
        )
    found = _advice(look, texts)
    gradient = look.logged("grad_norm")
    if found and broken and gradient is not None and not gradient.values[0] > 0:
        proof = (("grad_norm", "NaN or 0 at the first step"),)
        return [
            Signal(CRITICAL, found[0].said + " The first gradient is NaN or 0.", proof, onset_step=int(look.steps[0]))
        ]
    return found


@rule("cfg-kl-inert-or-double", Look)
def cfg_kl_inert_or_double(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A coefficient too small to act, or the penalty taken twice."""
    in_loss = look.settings.number("kl_coef_loss")
    if look.settings.word("use_kl_loss") == "false":
        in_loss = None
    in_reward = look.settings.word("kl_in_reward") == "true" and (look.settings.number("kl_coef_reward") or 0.0) > 0
    if in_reward and in_loss:
        return _advice(look, ["The KL penalty is in the reward and in the loss: it acts twice."])
    if in_loss and 0 < in_loss < p["inert"]:
        return _advice(look, [f"A KL coefficient of {num(in_loss)} does nothing: KL is only watched."])
    return []


@rule("cfg-sampling-mismatch", Look)
def cfg_sampling_mismatch(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Sampling that cuts the distribution; loud if the importance weights show it."""
    top_p, heat = look.settings.number("top_p"), look.settings.number("temperature")
    cut = top_p is not None and 0 < top_p < 1
    texts = [f"Rollouts sample with top-p {num(top_p)}: the trainer assumes the whole distribution."] if cut else []
    if heat is not None and not p["temp_low"] <= heat <= p["temp_high"]:
        texts.append(f"Rollout temperature {num(heat)}.")
    found = _advice(look, texts)
    ratio = look.values("is_ratio_mean")
    if not found or not cut or len(ratio) < 10 or abs(tail(ratio, 10) - 1.0) <= p["ratio_off"]:
        return found
    level = CRITICAL if losing(look) else WARNING
    text = f"{found[0].said} Their importance weights average {num(tail(ratio, 10))}."
    return [Signal(level, text, (("is_ratio_mean", ""),), onset_step=int(look.steps[0]))]


def _one_sided(look: Look) -> bool:
    """Whether the loss has only an upper bound (CISPO): a wide lower bound is then intended."""
    return any("cispo" in look.settings.word(name) for name in ("policy_loss_mode", "adv_estimator", "loss_agg_mode"))


@rule("cfg-clip-range-wrong-scale", Look)
def cfg_clip_range_wrong_scale(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A clip range meant for tokens but used on sequences, or the other way round."""
    low, high = look.settings.number("clip_low"), look.settings.number("clip_high")
    high = low if high is None else high
    if low is None or high is None:
        return _narrow_as_seen(look, p)
    whole = look.settings.word("importance_sampling_level") == "sequence" or "gspo" in look.settings.word(
        "policy_loss_mode"
    )
    texts, narrow = [], not whole and high < p["token_eps_min"]
    never = not whole and low >= NO_LOWER_BOUND and not _one_sided(look)
    if whole and high > p["gspo_eps_max"]:
        texts.append(f"A clip range of {num(high)} on whole sequences hardly ever clips (3e-4 to 1e-2 is usual).")
    elif narrow:
        texts.append(f"A clip range of {num(high)} on tokens is narrow (0.1 to 0.3 is usual).")
    elif never:
        texts.append(f"A clip range of {num(low)} never acts below: no ratio of probabilities is less than 0.")
    if high < low and not _one_sided(look):
        texts.append(f"The upper clip {num(high)} lies below the lower one {num(low)}.")
    found, clipped = _advice(look, texts), look.values("clip_frac")
    if never and losing(look):
        return [
            Signal(WARNING, sentences(" ".join(texts), reward_course(look)), (told(look),), onset_step=look.set_since)
        ]
    if found and len(clipped) >= 10 and float(clipped[-10:].min()) > p["all_clipped"]:
        return [Signal(CRITICAL, f"{texts[0]} Everything is clipped.", (("clip_frac", ""),), moved="clip_frac")]
    if narrow and len(clipped) >= 10 and (now := tail(clipped, 10)) > p["many_clipped"]:
        most = now > p["most_clipped"]
        level = NOTICE if not most else WARNING if gained(look) else CRITICAL
        text, proofs = f"{texts[0]} {percent(now)} are clipped.", (("clip_frac", ""),)
        return [Signal(level, text, proofs, moved="clip_frac", marks=() if most else (Mark.COSTS,))]
    return found


def _narrow_as_seen(look: Look, p: Params) -> list[Signal]:
    """The config does not give the clip range, and the first rows show that it is narrow."""
    widest = implied_range(look, p["many_clipped"])
    if widest is None or widest >= p["token_eps_min"]:
        return []
    clipped = tail(look.values("clip_frac"), 10)
    text = f"{percent(clipped)} of the tokens are clipped, and in the first rows the KL to the reference left room for "
    text += f"changes of {num(widest)} a token at most: the clip range is narrower than that (0.1 to 0.3 is usual), or "
    text += "the old log-probs are not those of the trainer."
    proofs = (("clip_frac", ""), ("kl_ref", "in the first rows"))
    level = NOTICE if gained(look) else WARNING
    return [Signal(level, text, proofs, onset_step=int(look.steps[0]), marks=(Mark.COSTS,))]
