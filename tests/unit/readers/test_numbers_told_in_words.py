"""A metric a line, told in a sentence: its name in quotes or not, its number and its step, in any order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_wordings import by_step
from tests.unit.session.runs import content, opened

STEPS = range(1, 31)
SENTENCES: dict[str, Callable[[str, float, int], str]] = {
    "name first": lambda k, x, n: f"logging metric '{k}' = {x} at step {n}",
    "step first": lambda k, x, n: f'step {n}: logging metric "{k}" with value {x}',
    "step before the number": lambda k, x, n: f"value of '{k}' at step {n}: {x}",
    "number first": lambda k, x, n: f"recording {x} for '{k}' at step {n}",
    "with a plan": lambda k, x, n: f'Reported metric "{k}" = {x} for step {n}/30',
    "in brackets": lambda k, x, n: f"logging metric '{k}' (step {n}): {x}",
    "a verb": lambda k, x, n: f"Metric '{k}' has value {x} at iteration {n}",
    "no quotes": lambda k, x, n: f"Logged {k}={x} at step {n}",
    "backticks": lambda k, x, n: f"metric `{k}`: {x} (step {n})",
    "a call": lambda k, x, n: f"log_metric('{k}', {x}, step={n})",
    "a call in order": lambda k, x, n: f"writer.add_scalar('{k}', {x}, {n})",
}
LEADS = ["", "2026-01-01 10:00:00,123 - grpo - INFO - ", "[rank0]: "]


def measured(n: int) -> dict[str, float]:
    return {"reward": n / 64 - 0.125, "kl": n / 128}


def log(sentence: str, lead: str = "") -> str:
    return "".join(f"{lead}{SENTENCES[sentence](k, x, n)}\n" for n in STEPS for k, x in measured(n).items())


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("lead", LEADS)
def test_each_number_is_of_its_name_and_step(sentence: str, lead: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(sentence, lead))
    assert content(opened(path)) == {n: measured(n) for n in STEPS}
    report = reported(path)
    assert set(report["metrics"]) == {"reward_mean", "kl_ref"}
    assert ends(report, "reward_mean") == (30, 1 / 64 - 0.125, 30 / 64 - 0.125)


OTHERS = (
    "Saved 'best' with a score of {x} at step {n}",
    "the answer to 'apples' at step {n} is {x}, as 3 of them are red",
    "stopping 'early' at step {n} since the loss was {x} for long",
    "At step {n} of the proof 'x' is {x} and 'y' is 2",
    "loading 'policy' took {x} seconds at step {n}",
)


@pytest.mark.parametrize("other", OTHERS)
def test_other_sentences_with_a_step_tell_no_metric(other: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = log("name first").splitlines()
    path.write_text("".join(f"{line}\n{other.format(n=i // 2 + 1, x=i / 8)}\n" for i, line in enumerate(lines)))
    found = content(opened(path))
    assert list(found) == list(STEPS)
    assert {n: {k: row[k] for k in measured(n)} for n, row in found.items()} == {n: measured(n) for n in STEPS}
    assert not {name for row in found.values() for name in row} & {"best", "apples", "early", "x", "y", "policy"}


def test_where_the_bytes_are_cut_makes_no_difference() -> None:
    data = log("name first")[:600].rpartition("\n")[0].encode() + b"\n"
    whole = by_step([data])
    assert len(whole) > 4
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data))
