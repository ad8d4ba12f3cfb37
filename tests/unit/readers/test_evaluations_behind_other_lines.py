"""Numbers of an evaluation that state no step, behind lines about something else: a checkpoint, a warning, memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_work_above_numbers import blocks

STEPS = {
    "lines": ("step {i} loss={l:.4f} reward={r:.3f}",),
    "blocks": ("=== Step {i} ===", "loss: {l:.4f}", "reward: {r:.3f}"),
    "titles": ("rollout {i} done, size: 64", "loss={l:.4f} reward={r:.3f}"),
    "dicts": ("{{'step': {i}, 'loss': {l:.4f}, 'reward': {r:.3f}}}",),
}
EVALUATIONS = {
    "below a title": ("--- Evaluation ---", "accuracy: {a:.3f}"),
    "announced": ("Running evaluation...", "  accuracy = {a:.3f} (64 problems)"),
    "a dict": ("{{'eval_accuracy': {a:.3f}, 'eval_runtime': 3.2}}",),
    "tries": ("pass@1: {a:.3f}",),
    "problems": ("MATH500 accuracy: {a:.3f}",),
    "a sentence": ("Evaluated on 64 problems: accuracy {p:.1f}%",),
}
BETWEEN = {
    "": (),
    "a checkpoint": ("Saved checkpoint to out/step_{i}",),
    "a warning": ("/usr/lib/torch/x.py:123: UserWarning: step 3 before the optimizer", "  warnings.warn('x')"),
    "memory": ("GPU memory: 61.2 GiB allocated",),
}


def steps_of(path: Path, metric: str) -> list[int]:
    reader = RunReader(locate([str(path)])[0])
    reader.load()
    found = reader.run.series(metric)
    reader.close()
    return [] if found is None else [int(step) for step in found.steps]


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
@pytest.mark.parametrize("evaluation", EVALUATIONS.values(), ids=EVALUATIONS)
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_they_are_of_the_newest_step(
    step: tuple[str, ...], evaluation: tuple[str, ...], between: tuple[str, ...], tmp_path: Path
) -> None:
    lines = []
    for i, block in enumerate(blocks("\n".join(step)), 1):
        lines.append(block)
        if i % 5 == 0:
            lines += [line.format(i=i, a=0.4 + i / 100, p=40 + i) for line in (*between, *evaluation)]
    (tmp_path / "train.log").write_text("\n".join([*lines, ""]))
    report = reported(tmp_path)
    assert report["run"]["steps"]["rows"] == report["run"]["steps"]["last"] == 30
    assert ends(report, "reward_mean") == (30, pytest.approx(0.111), pytest.approx(0.433))
    assert ends(report, "val_score") == (6, pytest.approx(0.45), pytest.approx(0.7))
    assert steps_of(tmp_path / "train.log", "val_score") == [5, 10, 15, 20, 25, 30]


@pytest.mark.parametrize(
    "other",
    [
        ("Evaluation settings:", "temperature: 0.7", "top_p: 0.95"),
        ("Sample:", "so the accuracy of 3: 0.5"),
        ("GPU memory: 61.2", "free: 18.3"),
    ],
    ids=["settings", "a sample", "memory"],
)
def test_other_numbers_are_none(other: tuple[str, ...], tmp_path: Path) -> None:
    lines = []
    for i, block in enumerate(blocks(STEPS["lines"][0]), 1):
        lines += [block, *(("Saved checkpoint to out/last", *other) if i % 5 == 0 else ())]
    (tmp_path / "train.log").write_text("\n".join([*lines, ""]))
    report = reported(tmp_path)
    assert report["metrics"].keys() == {"total_loss", "reward_mean"}
