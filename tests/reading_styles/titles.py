"""Logs whose steps have titles: what was measured stands below, and other lines stand between and behind."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.reading_styles.forms import LEADS, fixed
from tests.reading_styles.styles import Log, Style

TITLES = (
    "Step {i}",
    "step {i}/{n}",
    "===== Iteration {i} =====",
    "Rollout {i}:",
    "Step {i}: 64 prompts, 512 samples",
    "Step {i} took 12.{k}s",
    "[{p}%] step {i}/{n}",
    "Finished step {i}",
    "global_step={i}",
    "[step {i}]",
    "Step {i}/{n} (ETA 0:12:3{k})",
    "Iter {i} lr 1.0e-06",
    "step {i} | tokens 10{k}24",
    "### Step {i}",
    "--> step {i}",
    "Training step: {i}",
    "Policy update #{i}",
    "🚀 Step {i}/{n}",
    "Processing batch {i} of {n}",
    "Generating rollouts for step {i}",
    "Step {i} complete in 1{k}.2 s, metrics:",
    "rollout batch {i} generated, length: 25{k}",
    "Collecting batch {i} (64 prompts)",
)
BELOW: dict[str, Sequence[str]] = {
    "=": ("loss={loss} reward={reward} kl={kl}",),
    ":": ("loss: {loss}, reward: {reward}, kl: {kl}",),
    "bars": ("loss {loss} | reward {reward} | kl {kl}",),
    "lines": ("  loss: {loss}", "  reward: {reward}", "  kl: {kl}"),
    "bullets": ("- loss: {loss}", "- reward: {reward}", "- kl: {kl}"),
    "dots": ("loss ........ {loss}", "reward ...... {reward}", "kl .......... {kl}"),
    "dict": ("{{'loss': {loss}, 'reward': {reward}, 'kl': {kl}}}",),
    "json": ('{{"loss": {loss}, "reward": {reward}, "kl": {kl}}}',),
    "named dict": ("metrics: {{'loss': {loss}, 'reward': {reward}, 'kl': {kl}}}",),
    "table": ("| loss | {loss} |", "| reward | {reward} |", "| kl | {kl} |"),
    "tabs": ("loss\t{loss}\treward\t{reward}\tkl\t{kl}",),
    "arrows": ("loss -> {loss}", "reward -> {reward}", "kl -> {kl}"),
}
BESIDE = (
    "Generated 512 rollouts in 12.{k}s",
    "Timing: generate 10.{k}s, update 3.1s, total 13.9s",
    "GPU mem: 61.2 GiB / 80 GiB",
    "tokens/s: 12{k}4.5",
    "WARNING: 3 samples were truncated",
    "Synced weights to 8 workers in 0.{k}s",
    "-" * 60,
    "Saved checkpoint to out/step_{i}",
    "Padding 12 of 512 sequences",
)
PRINTED = (
    "Generating: 100%|██████████| 64/64 [00:12<00:00,  5.1it/s]",
    "",
    "Sample completion: <think>Let me see, 3 + {k} = 5</think> The answer is \\boxed{{{k}}}.\n"
    "Step 1: we add.\nStep 2: reward = 7",
)
"""No logger writes these."""
MEASURED = ("loss", "reward", "kl")
STEPS = 30


def titled_log(seed: int) -> Log:
    """The log of a seed. Only what was measured is compared: the other lines have numbers, too."""
    source = random.Random(seed)
    style = Style(source)
    title = style.choose("title", TITLES)
    below = BELOW[style.choose("below", BELOW)]
    lead = LEADS[style.choose("lead", ("none", "logging", "brackets", "level", "loguru"))]
    others = [(text, source.random() < 0.6, source.choice((1, 1, 1, 5))) for text in source.sample(BESIDE, 2)]
    others += [(text, source.random() < 0.6, 1) for text in source.sample(PRINTED, source.randint(0, 1))]
    style.told.append(f"beside={others}")
    number = fixed(4)
    found = Log("train.log", "", ", ".join(style.told))
    lines = [lead(0) + "Loading model", ""]
    for i in range(1, STEPS + 1):
        cells = {name: number(x) for name, x in zip(MEASURED, (1 / i, 0.1 + i / 90, i / 1000), strict=True)}
        found.rows[i] = {name: x for name, (_, x) in cells.items()}
        words: dict[str, object] = {"i": i, "n": STEPS, "k": source.randint(0, 9), "p": 100 * i // STEPS}
        words |= {name: text for name, (text, _) in cells.items()}
        due = [(text, is_above) for text, is_above, every in others if not i % every]
        above, behind = ([text for text, is_above in due if is_above == wanted] for wanted in (True, False))
        for text in (title, *above, *below, *behind):
            lines.append(("" if text in PRINTED else lead(i)) + text.format(**words))
    found.text = "\n".join(lines) + "\n"
    return found
