"""The default report is short, opens with seven answers, says no number that the JSON does not have and glues no
clauses with semicolons."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rltui.evidence.model import Cause, Finding
from rltui.plots.numbers import change, duration, number, percent, size
from rltui.report.answer import Answer, answer
from rltui.report.build import build
from tests.unit.report import fakes
from tests.unit.reported import told
from tests.unit.text.test_sentences import LATER, glue_in

SAMPLES = Path(__file__).resolve().parents[3] / "sample_runs"
FAULTS = ("none", "collapse", "nan", "entropy", "kl", "cut", "slow", "crash", "few", "flat")
LABELS = ("Since", "Why", "To do", "Keep", "How sure", "Not looked at")


def written(folder: Path, seed: int) -> Path:
    """A run of one fault, with few or very many metrics, some with long names, and with or without a config."""
    dice = random.Random(seed)
    fault, n = FAULTS[seed % len(FAULTS)], dice.choice((40, 90, 150))
    n = 4 if fault == "few" else n
    own = [f"zeta{'/of_a_long_family' * dice.randint(0, 4)}/{i}" for i in range(dice.choice((0, 3, 90)))]
    lines = []
    if dice.random() < 0.5:
        lines.append(
            "config: " + repr({"learning_rate": 1e-6, "beta": 0.001, **{f"own_{i}": "word " * 9 for i in range(40)}})
        )
    for s in range(1, n + 1):
        bad = max(0.0, (s - n * 0.6) / n)
        row: dict[str, float] = {
            "reward": 0.5 if fault == "flat" else (0.2 + 0.5 * s / n) * (0.02 if fault == "collapse" and bad else 1.0),
            "kl": 0.01 + (bad * 30 if fault == "kl" else 0.0),
            "entropy": 1.5 - (1.49 * min(1.0, bad * 10) if fault == "entropy" else 0.0),
            "grad_norm": float("nan") if fault == "nan" and bad else 1.0 + dice.random() / 5,
            "completions/clipped_ratio": 0.9 if fault == "cut" and bad else 0.01,
            "completions/mean_length": 200 + dice.gauss(0, 5),
            "step_time": (4.0 if fault == "slow" and bad else 1.0) + dice.random() / 50,
        }
        row = {k: v + dice.gauss(0, 1e-3) if k in ("reward", "kl", "entropy") else v for k, v in row.items()}
        row |= {key: dice.random() for key in own}
        lines.append(repr({k: round(v, 6) for k, v in row.items()} | {"step": s}))
    if fault == "crash":
        lines.append(
            "Traceback (most recent call last):\n" + "torch.OutOfMemoryError: CUDA out of memory. " + "x " * 400
        )
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(params=[*sorted(p.name for p in SAMPLES.iterdir() if p.is_dir()), *range(10)])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return SAMPLES / request.param if isinstance(request.param, str) else written(tmp_path, request.param)


def test_the_page_is_short_answers_first_and_glues_no_clauses(run: Path) -> None:
    page, long, data = told(run, LATER)
    assert not glue_in(page, long, data)
    assert len(page.split()) <= 900
    head = re.sub(r"\\(.)", r"\1", "\n".join(page.splitlines()[:12]))
    answers = data["answer"]
    assert f"** {' '.join(answers['what'].split())}\n" in head
    for label, text in zip(LABELS, list(answers.values())[1:], strict=True):
        assert text.strip()
        assert f"\n- {label}: {' '.join(text.split())}\n" in head, label
    own = known(data)
    stray = [one for one in numbers(prose(page)) if one not in own]
    assert not stray, stray


def prose(page: str) -> str:
    """Without what numbers sections and steps to take, and without the run's own words."""
    return re.sub(r"^#.*\d\. |^\d+\. |\(\d\) |`[^`]*`|“[^”]*”", "", page, flags=re.M)


def numbers(text: str) -> list[str]:
    return re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?", text)


def known(data: Any) -> set[str]:
    """Every number of the JSON as it may be written, those in its texts, and how many of each there are."""
    out: set[str] = set()
    for value in values(data):
        if isinstance(value, str):
            out.update(numbers(value))
        elif isinstance(value, list | dict):
            out.add(str(len(value)))
        elif value is not None and not isinstance(value, bool):
            texts = (str(value), number(value), number(value, decimals=2), percent(value), duration(value), size(value))
            out.update(one for text in texts for one in numbers(text))
    for metric in data["metrics"].values():
        out.update(numbers(change(metric["first"], metric["last"])))
    return out


def values(data: Any) -> Iterator[Any]:
    yield data
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from values(part)


def answer_of(*findings: Finding) -> Answer:
    return answer(build(fakes.frame(result=fakes.diagnosis(findings=findings))))


def test_what_nobody_could_test_says_only_what_to_look_at() -> None:
    cause = Cause(
        "The parser is wrong", because="samples are not kept (to keep them: x), so look at five", look="five samples"
    )
    why = answer_of(fakes.finding(causes=(cause,))).why
    assert why == "not known, perhaps: The parser is wrong. Nothing that is logged tells, so look at five samples."


def test_where_the_leading_finding_has_no_remedy_the_next_one_is_named_with_its_own() -> None:
    led = fakes.finding(fixes=())
    other = fakes.finding(id="reward-floor", title="Reward stuck at the floor", severity="warning")
    assert answer_of(led, other).do.startswith("for “reward stuck at the floor”: (1) Raise the KL penalty")
    assert "nothing that this log shows" in answer_of(led).do
