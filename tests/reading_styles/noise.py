"""What else stands in a training log: other programs, completions, code, bars of other work. None of it is a metric."""

from __future__ import annotations

import random

from tests.reading_styles.forms import Lead
from tests.unit.position.noise import LINES

BEGIN = (
    "Loading checkpoint shards: 100%|██████████| 4/4 [00:03<00:00,  1.2it/s]",
    "trainable params: 8,388,608 || all params: 1,552,102,912 || trainable%: 0.5405",
    "lr: 1e-06, batch_size: 64, group_size: 8, max_steps: 500",
    "Using 8 GPUs, seed 42",
    "INFO 03-01 10:00:01 [config.py:823] This model supports multiple tasks",
    "Dataset: 7473 train examples, 1319 test examples",
    "warmup_steps=10 total_steps=500",
    "num_parameters: 494032768",
)
AMONG = (
    "Saving model checkpoint to out/checkpoint-{i}",
    "Saved checkpoint at step {i}",
    "Generating: 50%|#####     | 4/8 [00:01<00:01,  3.2it/s]",
    "Completion: If he has {n} apples and gives {m}, he has {n} - {m} left.",
    "completion reward: the model got {n} of {m} right",
    "[rank1] waited {n}.5 s at the barrier",
    "generated {n} tokens in {m}.25 seconds",
    "Sampled answer: \\boxed{{{n}}}",
    "vLLM: Avg generation throughput: {n}.1 tokens/s",
    "/usr/lib/python3/site-packages/torch/utils/checkpoint.py:{n}: UserWarning: None of the inputs have requires_grad",
    "Q: what is {n} + {m}? A: {n}{m}",
    "",
    *LINES,
)


def around(source: random.Random, lead: Lead) -> list[str]:
    """Lines before the first step."""
    lines = source.sample(BEGIN, source.randint(1, 5))
    return [(lead(0) if source.random() < 0.5 else "") + line for line in lines]


def between(source: random.Random, step: int, total: int, lead: str) -> list[str]:
    """Lines behind a step."""
    lines = [source.choice(AMONG) for _ in range(source.choice((0, 0, 1, 1, 2)))]
    written = [line.format(i=step, n=source.randint(2, 900), m=source.randint(2, 900)) for line in lines]
    return [(lead if source.random() < 0.5 else "") + line for line in written]
