"""Lines that other programs write into a training log, and completions that trainers print: none holds a metric."""

from __future__ import annotations

import random
from collections.abc import Sequence

LINES = (
    "The answer is 42, so the reward: 0.{n} and the loss = 0.{n} hold.",
    "step {n}: we get x = {n} and y = 0.5",
    "Step {n}: multiply both sides by {n}, loss of precision 0.1",
    "### Step {n}",
    "| model | reward | accuracy |",
    "| ours | 0.{n} | 0.9 |",
    "|---|---|---|",
    "    for step in range({n}):",
    "        loss = loss + 0.{n}",
    "print(f'step {{step}}: loss={{loss}}')",
    '{{"answer": {n}, "confidence": 0.{n}}}',
    "{{'score': 0.{n}, 'explanation': 'fits'}}",
    "<think> First, 3 * {n} = 0.{n}? No: step 2 gives 7. </think>",
    "Q: If 3 apples cost {n} dollars, what do {n} apples cost?",
    "Downloading shards: {n}% done, 3.2 MB/s",
    "[rank1] iteration took {n} ms",
    '127.0.0.1 - - [01/Mar/2026:10:00:01] "GET /health HTTP/1.1" 200 {n}',
    "accuracy of this batch of questions: {n}/64",
    "Eval example {n}: reward=1.0 correct=1",
    "\\boxed{{{n}}}",
    "loss.backward()  # {n}",
    "(raylet) [2026-03-01 10:00:{n}] INFO node_manager.cc:{n}: worker exited, 0.{n} GB used",
    "|  {n}   NVIDIA H100 80GB HBM3    On  | 00000000:1B:00.0 Off |                    0 |",
    "| N/A   45C    P0            {n}W / 700W |   {n}MiB / 81559MiB |     {n}%      Default |",
    "Loading safetensors checkpoint shards:  {n}% Completed | 1/4 [00:01<00:03,  1.{n}s/it]",
    "Map: {n}%|███   | {n}/9000 [00:01<00:09, 21.7 examples/s]",
    '{{\n  "answer": {n},\n  "confidence": 0.{n}\n}}',
    "{{'question': 'how many?',\n 'answer': {n}}}",
    "[2026-03-01 10:00:01,{n}] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | optimizer_step: 0.{n}",
    "slurmstepd: error: step {n}.0 memory usage {n}G",
)

ATTRIBUTES = (
    "reward: 0.5",
    "A: {n}",
    "INFO 03-01 10:00:01 metrics.py:100] Avg prompt throughput: {n}.5 tokens/s, GPU KV cache usage: 0.{n}%",
    "Epoch time: {n} s",
    "x_1 = {n}, y_2 = 0.{n}",
)
"""Numbers by name: below a step line they may be its own."""


def mixed(text: bytes, seed: int, lines: Sequence[str] = LINES, share: float = 0.2) -> bytes:
    """A log with such lines between its own."""
    source = random.Random(seed)
    out = []
    for line in text.split(b"\n"):
        out.append(line)
        if source.random() < share:
            out.append(source.choice(lines).format(n=source.randint(1, 999)).encode())
    return b"\n".join(out)
