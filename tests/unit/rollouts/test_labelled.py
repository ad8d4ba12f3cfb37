"""Real and labelled dumps: the right best, worst, cut and repeated samples, checked against plain reading."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from rltui.rollouts.index import RolloutIndex
from rltui.session.locate import locate
from rltui.session.rollouts import open_rollouts
from rltui.session.run_reader import RunReader


def opened(path: Path) -> RolloutIndex:
    found = locate([str(path)])[0]
    run = RunReader(found)
    run.load()
    run.close()
    return open_rollouts(found, run.run)


def test_the_zoo_run_with_completions(labelled_run: Callable[[str], Path]) -> None:
    path = labelled_run("zoo/g04-copy-s3")
    index = opened(path)
    assert [entry.step for entry in index.entries] == list(range(5, 255, 5))
    assert {entry.count for entry in index.entries} == {32}
    for entry in index.entries[::7]:
        frame = polars.read_parquet(entry.files[0])
        total = (0.8 * frame["graded_reward"] + 0.2 * frame["format_reward"]).to_list()
        step = index.read(entry)
        assert step.rewards == pytest.approx(total)
        best, worst = step.best(), step.worst()
        assert best is not None
        assert worst is not None
        assert step.reward(best) == pytest.approx(max(total))
        assert step.rollout(worst).completion in frame["completion"].to_list()
        assert step.reward(worst) == pytest.approx(min(total))
        cut = [i for i, text in enumerate(frame["completion"]) if len(text) == 32]  # one token a character, limit 32
        assert step.select(wanted="truncated") == cut
        assert step.select(wanted="invalid") == [i for i, v in enumerate(frame["format_reward"]) if v == 0]
        prompts = frame["prompt"].to_list()
        assert len(step.groups) == len(set(prompts))
        same = [g for g in step.groups if len({round(total[i], 6) for i in g.members}) == 1]
        assert [g for g in step.groups if g.zero_variance] == same


def test_the_share_of_zero_variance_groups_agrees_with_the_log(labelled_run: Callable[[str], Path]) -> None:
    """What the dumps say and what TRL logged are of the same batches."""
    index = opened(labelled_run("zoo/g04-copy-s3"))
    late = [index.read(entry).stats().zero_variance or 0.0 for entry in index.entries[-10:]]
    early = [index.read(entry).stats().zero_variance or 0.0 for entry in index.entries[:4]]
    assert sum(early) / len(early) < 0.2
    assert sum(late) / len(late) > 0.6


@pytest.mark.whole
def test_the_printed_rollouts_of_vlm_r1(labelled_run: Callable[[str], Path]) -> None:
    path = labelled_run("real/vlmr1-rollout-debug-log")
    text = Path(glob.glob(str(path / "*.txt"))[0]).read_text()
    rewards = [float(value) for value in re.findall(r"Accuracy reward: ([\d.]+) -{5,}", text)]
    index = opened(path)
    step = index.read(index.entries[0])
    assert len(step) == len(rewards) == 18256
    assert step.rewards == rewards
    assert step.reward_course() == pytest.approx(
        (0.643, 0.893, 0.904, 0.931, 0.901, 0.921, 0.940, 0.936, 0.912, 0.938), abs=2e-3
    )
    worst = step.worst()
    assert worst is not None
    assert (step.reward(worst), step.is_invalid(worst)) == (0.0, False)
    first = step.rollout(0)
    assert first.completion == "<think> There are 7 items in the image.\n</answer>"
    assert first.extra["reference"] == "<answer> 6 </answer>"
    invalid = step.select(wanted="invalid")
    assert invalid[0] == 0, "a closing tag that nothing opened"
    thirds = [sum(1 for place in invalid if place * 3 // len(step) == part) for part in range(3)]
    assert thirds[0] > thirds[1] + thirds[2], "malformed tags are of the early completions"
    repeated = step.page(step.select(wanted="repeated"))
    assert 0 < len(repeated) < 100
    assert all(one.completion is not None and len(one.completion) > 100 for one in repeated)


def test_the_validation_table_of_a_real_verl_run(labelled_run: Callable[[str], Path]) -> None:
    index = opened(labelled_run("real/verl-opd-grpo-retool-klreward-hack"))
    assert [(e.step, e.split, e.count) for e in index.entries] == [(n, "validation", 20) for n in range(0, 61, 10)]
    prompt = index.read(index.entries[0]).prompt_of(0)
    assert prompt is not None
    assert index.same_prompt(prompt), "the same prompt is found where it was asked"
