"""Cases of the rules of pages/gen.json."""

from __future__ import annotations

import numpy as np

from rltui.run.run import RunState
from tests.unit.rollouts.dumps import GOOD, LOOP
from tests.unit.rules.given import CRITICAL, LEVEL, NONE, NOTICE, Case, N, Stands, Writer, ramp, rows, samples, wave


def behind(every: int) -> Writer:
    """Of so many samples one goes on behind the end marker."""
    return lambda step, n: (GOOD + ("<|im_end|>\nAnd what is 3?" if n % every == 0 else "<|im_end|>"), float(n % 2))


def looping(since: int, every: int) -> Writer:
    """From a step on, one of so many samples repeats itself."""
    return lambda step, n: (LOOP if step >= since and n % every == 0 else GOOD, float(n % 2))


RUNS = RunState("running", "rows arrive")
ONE_LENGTH = {"response_length_mean": np.full(N, 256.0), "response_clip_ratio": NONE, "response_length_max": NONE}
CAP = 400
"""Characters at which an answer is cut."""


def endless(every: int) -> Writer:
    """Of so many samples one runs to the limit."""
    return lambda step, n: ((" ".join(map(str, range(200)))[:CAP]) if n % every == 0 else GOOD, float(n % 2))


CASES = (
    rows(
        "truncation-high",
        {**LEVEL, "response_clip_ratio": 0.01 + 0.14 * ramp(150, 60)},
        {**LEVEL, "response_clip_ratio": np.full(N, 0.045)},
    ),
    rows(  # a rising reward excuses a share that was there from the start, not one that grew past the limit
        "truncation-high",
        {"score_mean": 0.2 + 0.2 * ramp(0, N), "response_clip_ratio": 0.005 + 0.15 * ramp(50, 200)},
        {"score_mean": 0.2 + 0.2 * ramp(0, N), "response_clip_ratio": np.full(N, 0.155)},
        still=NOTICE,
    ),
    rows(
        "length-collapse",
        {**LEVEL, "response_length_mean": wave(300) * (1 - 0.6 * ramp(100, 80))},
        {**LEVEL, "response_length_mean": wave(300) * (1 - 0.25 * ramp(100, 80))},
    ),
    rows(
        "length-explosion",
        {**LEVEL, "response_length_mean": wave(300) * np.exp(1.2 * ramp(100, 190))},
        {**LEVEL, "response_length_mean": wave(300) * np.exp(0.3 * ramp(100, 190))},
    ),
    Case(  # nothing counts the cut ones, and all have one length: a note if the run gained with it
        "truncation-high",
        Stands({"score_mean": wave(0.3, 0.03), "val_score": NONE, **ONE_LENGTH}, RUNS),
        Stands({"score_mean": 0.2 + 0.4 * ramp(0, N), "val_score": NONE, **ONE_LENGTH}, RUNS),
        still=NOTICE,
    ),
    samples("truncation-high", endless(3), endless(32), cap=CAP),
    samples("truncation-high", endless(1), endless(32), CRITICAL, cap=CAP),
    samples("eos-mismatch", behind(2), behind(16)),
    samples(
        "eos-mismatch", behind(2), behind(16), CRITICAL, columns={**LEVEL, "response_clip_ratio": np.full(N, 0.95)}
    ),
    samples("degenerate-samples", looping(100, 2), looping(100, 32)),
    samples("degenerate-samples", looping(200, 1), looping(300, 1), CRITICAL),
)
