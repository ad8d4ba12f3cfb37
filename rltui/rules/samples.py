"""What the generated text itself shows. Each rule judges the newest dumps against the first one, and keeps no memory.

A share among few samples is taken at that end of its confidence interval which argues against an alarm. A level counts
once it has held for two dumps (three for a warning about rewards).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rltui.evidence.beside_rows import SAMPLES, Sampled, high, low, settled
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.plots.numbers import percent
from rltui.rollouts.samples import SampleStats
from rltui.rules.base import Memory, Params, gaining, head, rising, rule, tail


def dumped(seen: Sampled) -> bool:
    """Whether samples were read."""
    return bool(seen.dumps)


def counted(number: str) -> Callable[[Sampled], bool]:
    """A test of whether samples were read that show this number."""
    return lambda seen: any(getattr(d, number) is not None for d in seen.dumps)


@rule("degenerate-samples", Sampled, able=dumped)
def degenerate_samples(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Loops, one punctuation mark over and over, empty text, mixed scripts, or another script than the prompt's."""
    first, last = seen.dumps[0], seen.dumps[-1]

    def bad(d: SampleStats) -> float:
        return max(getattr(d, name) or 0.0 for name in _DEGENERATE)

    def worst(d: SampleStats) -> float:
        return max(bad(d), _switched(d, first))

    improves = len(seen.dumps) > 1 and worst(last) <= worst(first)

    def level(d: SampleStats) -> int:
        sure = low(worst(d), d.examined)
        if low(d.token_zero, d.examined) > p["share"] or (sure > p["critical"] and bad(d) >= worst(d)):
            return CRITICAL
        grown = d is not first and sure > p["growth"] * high(worst(first), first.examined)
        if (sure > p["warn"] or grown) and not improves and (grown or not gaining(seen.look)):
            return WARNING
        return NOTICE if sure > p["share"] else 0

    found = settled(seen, level, int(p["dumps"]))
    if not found and len(seen.dumps) == 1:
        found = level(last) if low(last.token_zero, last.examined) > p["critical"] else min(NOTICE, level(last))
    if found == CRITICAL and improves and not (last.token_zero or 0.0) > p["share"]:
        found = WARNING
    if not found:
        return []
    shown = {name: _switched(last, first) if name == "other_script" else getattr(last, name) or 0.0 for name in _SHOWN}
    name = max(shown, key=lambda one: shown[one])
    text = f"{percent(worst(last))} of the samples are degenerate"
    if (last.token_zero or 0.0) > p["share"]:
        text = f"{percent(last.token_zero or 0.0)} of the samples are one mark over and over (token 0)"
    elif shown[name] >= worst(last):
        text = f"{percent(getattr(last, name))} of the samples {_SHOWN[name]}"
    proofs = [("repeated", f"{percent(last.repeated or 0.0)} repeat themselves")]
    if shown[name] >= worst(last):
        proofs.insert(0, (name, f"{percent(getattr(last, name))} {_SHOWN[name]}"))
    if (last.mixed_scripts or 0.0) > (first.mixed_scripts or 0.0):
        proofs.append(("mixed_scripts", f"{percent(last.mixed_scripts or 0.0)} mix scripts"))
    return [told(seen, found, f"{text}{_since(first, last, worst)}.", proofs, level)]


_DEGENERATE = ("repeated", "token_zero", "mixed_scripts", "empty")
_SHOWN = {"empty": "are empty", "other_script": "are in another script than their prompt"}


def _switched(d: SampleStats, first: SampleStats) -> float:
    """Share of samples in another script than their prompt, beyond that of the first dump: a task may ask for it."""
    return max(0.0, (d.other_script or 0.0) - (first.other_script or 0.0))


@rule("truncation-high", Sampled, able=counted("truncated"))
def truncation_high(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Samples that were cut, counted in the dumps."""
    first, last = seen.dumps[0], seen.dumps[-1]
    fewer = len(seen.dumps) > 1 and high(last.truncated, last.samples) < (first.truncated or 0.0)

    def level(d: SampleStats) -> int:
        share = low(d.truncated, d.samples)
        if share > p["critical"]:
            return WARNING if fewer else CRITICAL
        if share > p["warn"] and not gaining(seen.look):
            return WARNING
        return NOTICE if share > p["notice"] else 0

    found = settled(seen, level, 2)
    if not found:
        return []
    text = f"{percent(last.truncated or 0.0)} of the samples in the newest dump are cut at the length limit"
    text += _since(first, last, lambda d: d.truncated or 0.0)
    return [told(seen, found, f"{text}.", [("truncated", "")], level)]


@rule("eos-mismatch", Sampled, able=dumped)
def eos_mismatch(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """The text goes on after an end marker, or writes the user's part: nothing stopped it."""
    turns = seen.look.values("num_turns_mean")
    if len(turns) and tail(turns, 10) > p["turns"]:  # a conversation contains such markers by design
        return []

    def level(d: SampleStats) -> int:
        return WARNING if low(d.past_end, d.examined) > p["share"] else 0

    found = settled(seen, level, min(2, len(seen.dumps)))
    if not found:
        return []
    last = seen.dumps[-1]
    cut = seen.look.values("response_clip_ratio")
    truncated = head(cut, 3) if len(cut) else seen.dumps[0].truncated
    text = f"{percent(last.past_end or 0.0)} of the samples go on behind an end marker or speak the user's part"
    if truncated is not None and truncated >= p["t"]:
        found = CRITICAL
        text += f", and {percent(truncated)} were cut at the limit from the start"
    return [told(seen, found, f"{text}.", [("past_end", "text behind the end")], level)]


@rule("reward-mode-share", Sampled, able=dumped)
def reward_mode_share(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """One reward value, neither the worst nor the best, in most samples."""
    floor, ceiling = seen.floor, seen.ceiling
    if floor is None or ceiling is None:
        return []
    ends = {0.0, 1.0} | ({round(floor, 6), round(ceiling, 6)} if floor < ceiling else set())

    def level(d: SampleStats) -> int:
        if d.mode_share is None or d.mode_value is None or d.mode_value in ends:
            return 0
        share = low(d.mode_share, d.samples)
        below = d.reward_mean is None or d.reward_mean < floor + p["solved"] * (ceiling - floor) or floor == ceiling
        if share > p["warn"] and below and not gaining(seen.look):
            return WARNING
        return NOTICE if share > p["notice"] else 0

    found = settled(seen, level, int(p["dumps"])) or min(NOTICE, settled(seen, level, 2))
    if not found:
        return []
    last = seen.dumps[-1]
    text = f"{percent(last.mode_share or 0.0)} of the samples have the reward {num(last.mode_value)}"
    return [told(seen, found, f"{text}, neither the lowest nor the highest.", [("mode_share", "")], level)]


@rule("format-invalid", Sampled, able=dumped)
def format_invalid(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Answers in a format that the reward cannot read. Answers that are cut at the limit do not count."""
    first, last = seen.dumps[0], seen.dumps[-1]
    if seen.look.n and seen.look.n <= p["warmup"]:
        return []
    learns = len(seen.dumps) > 1 and (last.invalid_whole or 0.0) < (first.invalid_whole or 0.0)

    def level(d: SampleStats) -> int:
        share = low(d.invalid_whole, d.examined)
        if share > p["warn"] and not learns and not gaining(seen.look):
            return WARNING
        return NOTICE if share > p["notice"] else 0

    found = settled(seen, level, min(2, len(seen.dumps)))
    if not found:
        return []
    text = f"{percent(last.invalid_whole or 0.0)} of the complete samples have an invalid format"
    text += _since(first, last, lambda d: d.invalid_whole or 0.0)
    return [told(seen, found, f"{text}.", [("invalid_whole", "")], level)]


@rule("tool-call-invalid", Sampled, able=counted("tool_invalid"))
def tool_call_invalid(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Tool calls in the text that cannot be parsed."""
    if seen.look.n and seen.look.n <= p["warmup"]:
        return []

    def level(d: SampleStats) -> int:
        calls = round((d.tool_calls or 0.0) * d.examined)
        share = low(d.tool_invalid, calls)
        if share > p["warn"] and not gaining(seen.look):
            return CRITICAL if share > p["crit"] else WARNING
        return NOTICE if share > p["notice"] else 0

    found = settled(seen, level, min(2, len(seen.dumps)))
    if not found:
        return []
    text = f"{percent(seen.dumps[-1].tool_invalid or 0.0)} of the tool calls in the samples cannot be parsed."
    return [told(seen, found, text, [("tool_invalid", "")], level)]


@rule("tool-use-collapse", Sampled, able=counted("tool_invalid"))
def tool_use_collapse(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Tool calls per sample fall to a fraction of the first dump's, without a gain."""
    first = seen.dumps[0].tool_calls or 0.0
    if len(seen.dumps) < 3 or first < p["useful"]:
        return []

    def level(d: SampleStats) -> int:
        ratio = (d.tool_calls or 0.0) / first
        if ratio < p["ratio"] and not gaining(seen.look):
            return WARNING
        return NOTICE if ratio < p["notice"] else 0

    found = settled(seen, level, 2)
    if not found:
        return []
    text = f"Tool calls fell from {num(first)} to {num(seen.dumps[-1].tool_calls)} a sample."
    return [told(seen, found, text, [("tool_calls", "")], level)]


@rule("zero-variance-groups", Sampled, able=counted("zero_variance"))
def zero_variance_groups(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Groups whose samples all got the same reward, counted in the dumps."""
    if seen.look.settings.group_relative is False:
        return []
    learns = rising(seen.look) or gaining(seen.look)

    def level(d: SampleStats) -> int:
        share = low(d.zero_variance, d.groups)
        if share > p["warn"] and not learns:
            return CRITICAL if share > p["critical"] else WARNING
        return NOTICE if share > p["notice"] else 0

    found = settled(seen, level, 3)
    if not found:
        return []
    share = seen.dumps[-1].zero_variance or 0.0
    text = f"{percent(share)} of the groups in the newest dump have no reward variance."
    return [told(seen, found, text, [("zero_variance", "")], level)]


def told(
    seen: Sampled, found: int, text: str, proofs: Sequence[tuple[str, str]], level: Callable[[SampleStats], int]
) -> Signal:
    named = tuple((SAMPLES + name, words) for name, words in proofs)
    since = seen.holding(min(found, level(seen.dumps[-1])), level)
    before = seen.unread_before(since)
    gap = "" if before is None else f" It began between steps {before} and {since}: no dump in between was read."
    return Signal(found, text + gap, named, onset_step=since if since is not None else seen.dumps[0].step)


def _since(first: SampleStats, last: SampleStats, share: Callable[[SampleStats], float]) -> str:
    """Words for the share at the first dump."""
    return "" if first is last or first.step is None else f", {percent(share(first))} at step {first.step}"
