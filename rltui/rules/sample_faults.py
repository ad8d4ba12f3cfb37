"""Pipeline faults that the samples show: a reward that does not follow the answers or is missing, texts that are
copies, prompts that are set up wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from rltui.evidence.beside_rows import Sampled, low, settled
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal
from rltui.plots.numbers import percent
from rltui.rollouts.copies import repeated_from
from rltui.rollouts.samples import SampleStats
from rltui.rules.base import Memory, Params, gaining, rule, tail
from rltui.rules.samples import told

ERRORS = 2.0
"""Standard errors in the reward's favour: with fewer samples, the fault must be larger."""


def _compared(seen: Sampled) -> bool:
    return any(d.follows is not None for d in seen.dumps)


@rule("reward-contradicts-answer", Sampled, able=_compared)
def reward_contradicts_answer(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Right answers get no more reward than wrong ones, judged by the reference answers in the dump."""
    newest = [d for d in seen.dumps if d.follows is not None][-int(p["dumps"]) :]
    right, wrong = sum(d.right or 0 for d in newest), sum(d.wrong or 0 for d in newest)
    if len(newest) < p["least_dumps"] or min(right, wrong) < p["least"]:
        return []
    weights = [_weight(d) for d in newest]
    share = sum(w * (d.follows or 0.0) for w, d in zip(weights, newest, strict=True)) / sum(weights)
    at_most = share + ERRORS / sqrt(sum(weights))
    if at_most >= p["warn"]:
        return []
    found = CRITICAL if at_most < p["critical"] and len(newest) == p["dumps"] else WARNING

    def level(d: SampleStats) -> int:
        return 0 if d.follows is not None and d.follows >= p["warn"] else found

    last = newest[-1]
    where = "In the newest dump" if last.step is None else f"At step {last.step}"
    text = (
        f"Right answers have more reward than wrong ones in {percent(share)} of all pairs, ties counted half, where "
        f"50 % is chance. {where}, {last.contradiction}."
    )
    return [told(seen, found, text, [("follows", "how often a right answer has more reward than a wrong one")], level)]


def _weight(d: SampleStats) -> float:
    """One over the variance of `follows` if the reward did not depend on the answers."""
    right, wrong = d.right or 0, d.wrong or 0
    return 12 * right * wrong / (right + wrong + 1)


def _set_up(seen: Sampled) -> bool:
    return any(d.setup is not None and d.samples for d in seen.dumps)


@rule("samples-copied", Sampled, able=_set_up)
def samples_copied(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Long texts that occur twice: within their group, or in an earlier dump of training."""
    dumps = [d for d in seen.dumps if d.setup is not None]
    if len(dumps) > 1 and dumps[-1].split == "train":
        shares = [_from_earlier(dumps, at) for at in range(len(dumps))]
        share, step, example = shares[-1]
        last = dumps[-1].setup
        sure = low(share, last.long) if last is not None else 0.0
        if sure > p["again"]:
            text = f"{percent(share)} of the long texts of step {dumps[-1].step} stand in an earlier dump too, most of "
            text += f"them in that of step {step}: {example}."
            since = next((d.step for d, told_ in zip(dumps, shares, strict=True) if told_[0] > p["again"]), None)
            return [Signal(CRITICAL if sure > p["most"] else WARNING, text, onset_step=since)]

    first = seen.dumps[0]
    always = first.setup is not None and low(first.copied, first.setup.long) > p["within"]
    severity = WARNING if always or not gaining(seen.look) else NOTICE

    def level(d: SampleStats) -> int:
        return severity if d.setup is not None and low(d.copied, d.setup.long) > p["within"] else 0

    held = settled(seen, level, int(p["dumps"]))
    if held and (setup := seen.dumps[-1].setup) is not None:
        text = f"{percent(setup.copied or 0.0)} of the long texts are the text of another sample of their group: "
        text += f"{_at(seen.dumps[-1])} {setup.copied_as}."
        return [told(seen, held, text, [("copied", "the text of another sample of the group")], level)]
    return []


def _from_earlier(dumps: Sequence[SampleStats], at: int) -> tuple[float, int | None, str]:
    now = dumps[at].setup
    earlier = [(d.step, d.setup) for d in dumps[:at] if d.setup is not None]
    return (0.0, None, "") if now is None else repeated_from(earlier, now)


def _at(d: SampleStats) -> str:
    return "in the newest dump" if d.step is None else f"at step {d.step}"


@rule("prompt-fault", Sampled, able=_set_up)
def prompt_fault(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Prompts with a template inside a template, or with their solution, or one prompt for all groups of a step."""

    def doubled(d: SampleStats) -> int:
        return WARNING if low(d.doubled_prompts, d.samples) > p["doubled"] else 0

    def shown(d: SampleStats) -> int:
        return WARNING if low(d.shown_solutions, d.samples) > p["shown"] else 0

    def one_for_all(d: SampleStats) -> int:
        if d.setup is None or d.setup.prompts != 1 or d.samples < p["samples"]:
            return 0
        size = seen.look.settings.group_size
        several = d.setup.references > 1 or d.setup.ids > 1 or (size is not None and d.samples >= 2 * size)
        turns = seen.look.values("num_turns_mean")
        return WARNING if several and not (len(turns) and tail(turns, 10) > p["turns"]) else NOTICE

    last = seen.dumps[-1].setup
    dumps = int(p["dumps"])
    if last is not None and (held := settled(seen, doubled, dumps)):
        text = f"{percent(last.doubled or 0.0)} of the prompts hold a chat template in a chat template, or its first "
        text += f"token twice: {_at(seen.dumps[-1])} {last.doubled_as}."
        return [told(seen, held, text, [("doubled_prompts", "a template in a template")], doubled)]
    if last is not None and (held := settled(seen, shown, dumps)):
        text = (
            f"{percent(last.shown or 0.0)} of the prompts hold their solution: {_at(seen.dumps[-1])} {last.shown_as}."
        )
        return [told(seen, held, text, [("shown_solutions", "the reference stands in the prompt")], shown)]
    if last is not None and (held := settled(seen, one_for_all, dumps)):
        text = f"All {seen.dumps[-1].samples} samples of a step have one and the same prompt, in each of the newest "
        text += f"{dumps} dumps."
        return [told(seen, held, text, [("prompts", "different prompts of a step")], one_for_all)]
    return []


@rule("samples-unrewarded", Sampled, able=_set_up)
def samples_unrewarded(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Samples without a reward, or with one that is not a number, beside others that have one."""

    def level(d: SampleStats) -> int:
        share = low(d.unrewarded, d.samples)
        return WARNING if share > p["warn"] else NOTICE if share > p["notice"] else 0

    held = settled(seen, level, int(p["dumps"]))
    if not held:
        return []
    last = seen.dumps[-1]
    text = f"{percent(last.unrewarded or 0.0)} of the samples have no reward, or one that is no number"
    example = last.setup.unrewarded_as if last.setup is not None else ""
    return [told(seen, held, f"{text}: {_at(last)} {example}.", [("unrewarded", "samples without a reward")], level)]
