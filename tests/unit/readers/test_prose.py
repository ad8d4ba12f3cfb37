"""Pages that people wrote about a training are no logs of it, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.readers.console import named_numbers
from tests.unit.readers.reading import read
from tests.unit.readers.reported import refused, reported

NOTES = """Notes on the GRPO experiments, week 12

We tried a PPO baseline first. The first attempt died with a CUDA out of memory error
on the second epoch, so the batch size was halved and the learning_rate lowered. With
vLLM the rollouts are faster. A checkpoint is kept every 50 steps.

What we saw: at step 40 the reward was 0.41 and the loss 0.3. Next we raise the KL
coefficient and look at the entropy.
"""
PAGE = f"""# A trainer

{NOTES}
- It reads verl, TRL and OpenRLHF: `step:12 - actor/entropy:0.71` is one of its lines, and its
  checkpoints are those of torch.distributed.

```sh
train.py --steps 100   # CUDA only
```
"""


def rows(folder: Path, last: int) -> None:
    cells = ({"step": n, "reward": 0.2 + n / 200, "kl": 0.01} for n in range(1, last + 1))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cells))


@pytest.mark.parametrize(("name", "text"), [("notes.txt", NOTES), ("README.md", PAGE), ("notes", NOTES)])
def test_is_said_in_one_line(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert "it is a page of prose, in which no lines tell metrics by step" in refused(tmp_path / name)


def test_what_it_tells_of_other_attempts_is_none_of_the_run(tmp_path: Path) -> None:
    rows(tmp_path, 60)
    alone = reported(tmp_path)
    (tmp_path / "notes.txt").write_text(NOTES)
    beside = reported(tmp_path)
    assert beside["run"]["state"] == alone["run"]["state"]
    assert beside["notes"] == alone["notes"] == []


def test_a_log_in_a_page_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(f"step {n}: loss={1 / n:.4f} reward={n / 64}\n" for n in range(1, 9))
    (tmp_path / "README.md").write_text(f"# Notes\n\n{NOTES}\n```\n{lines}```\n")
    assert main(["export", str(tmp_path / "README.md"), "--format", "jsonl"]) == 0
    assert [json.loads(row)["reward_mean"] for row in capsys.readouterr().out.splitlines()] == [
        n / 64 for n in range(1, 9)
    ]


@pytest.mark.parametrize("before", ["2026-03-05 10:00:01 INFO ", "(TaskRunner pid=71) ", "[rank0]: "])
def test_sentences_of_a_program_are_a_log_that_shows_no_metric(before: str, tmp_path: Path) -> None:
    said = ["Loading the checkpoint of the policy from the hub.", "Now vllm starts with the same weights for rollouts"]
    (tmp_path / "run.txt").write_text("".join(f"{before}{line}\n" for line in said * 3))
    assert reported(tmp_path / "run.txt")["run"]["steps"]["rows"] == 0


def test_a_long_line_is_not_read_number_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of words cost as much as a line, not as much as all of their numbers."""
    seen: list[int] = []
    usual = named_numbers._slots_in
    monkeypatch.setattr(named_numbers, "_slots_in", lambda text: (seen.append(len(text)), usual(text))[1])
    said = " ".join(f"step {n} of the loss was {n / 7:.2f}, {NOTES.split()[n % 20]}" for n in range(200))
    read("console", "loss 0.5, reward 0.2\n" + f"the error: loss {said}\n" * 3)
    assert seen
    assert max(seen) < len(said)
