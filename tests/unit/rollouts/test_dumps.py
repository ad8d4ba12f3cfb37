"""Each dump format gives its samples: step, texts, reward, what else it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.rollouts.formats import dump
from rltui.rollouts.formats.base import Split
from rltui.rollouts.step import StepRollouts
from tests.unit.rollouts.dumps import GOOD, index, lines, trl, verl


def only(root: Path, step: int | None = None, split: Split = "train") -> StepRollouts:
    found = index(root)
    entry = found.nearest(step, split)
    assert entry is not None
    assert entry.step == step
    return found.read(entry)


def test_verl_rollouts_and_validation(tmp_path: Path) -> None:
    verl(tmp_path, 3, [("2+2?", GOOD, 1.0), ("2+2?", "5", 0.0)])
    verl(tmp_path, 3, [("1+1?", "2", 1.0)], folder="validation")
    found = index(tmp_path)
    assert [(e.step, e.split, e.count) for e in found.entries] == [(3, "train", 2), (3, "validation", 1)]
    first = only(tmp_path, 3).rollout(0)
    assert (first.step, first.prompt, first.completion, first.reward) == (3, "2+2?", GOOD, 1.0)
    assert first.components == {"acc": 1.0}
    assert first.extra == {"gts": "4"}


def test_trl_parquet_sums_its_reward_functions(tmp_path: Path) -> None:
    trl(tmp_path, 40, [("q", "a", 1.0, 0.5)])
    (tmp_path / "x.log").write_text("")
    step = only(tmp_path, 40)
    one = step.rollout(0)
    assert one.reward == 1.5
    assert one.advantage == 0.5
    assert one.components == {"accuracy_reward": 1.0, "format_reward": 0.5}
    weighted = index(tmp_path, weights=(0.5, 2.0))
    assert weighted.read(weighted.entries[0]).rollout(0).reward == 1.5
    other = index(tmp_path, weights=(1.0, 0.0))
    assert other.read(other.entries[0]).rollout(0).reward == 1.0


def test_trl_chat_messages_become_text(tmp_path: Path) -> None:
    import polars

    path = tmp_path / "completions" / "completions_00002.parquet"
    path.parent.mkdir()
    prompt = [{"role": "system", "content": "be short"}, {"role": "user", "content": "2+2?"}]
    polars.DataFrame(
        {"step": [2], "prompt": [prompt], "completion": [[{"role": "assistant", "content": "4"}]], "r": [1.0]}
    ).write_parquet(path)
    one = only(tmp_path, 2).rollout(0)
    assert one.prompt == "system: be short\nuser: 2+2?"
    assert one.completion == "4"


def test_prime_rl_episodes(tmp_path: Path) -> None:
    episode = {
        "id": "e1",
        "group": {"id": "g7"},
        "env": {"id": "math"},
        "traces": [
            {
                "nodes": [
                    {"message": {"role": "user", "content": "2+2?"}, "sampled": False},
                    {"message": {"role": "assistant", "content": "4"}, "sampled": True, "token_ids": [1, 2, 3]},
                ],
                "rewards": {"correct": 1.0, "style": 0.25},
                "metrics": {"turns": 1},
                "stop_condition": "max_output_tokens",
            }
        ],
    }
    for subset in ("all", "effective"):
        lines(tmp_path / "rollouts" / "step_5" / "train" / subset / "traces.jsonl", [episode])
    step = only(tmp_path, 5)
    assert len(step) == 1, "the same episodes stand in all and in effective"
    one = step.rollout(0)
    assert (one.prompt, one.completion) == ("2+2?", "4")
    assert one.reward == 1.25
    assert one.length == 3
    assert one.truncated is True
    assert one.group == "g7"
    assert one.components == {"correct": 1.0, "style": 0.25, "turns": 1.0}


def test_prime_rl_flat_rollouts_and_episodes_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "rollouts" / "step_1" / "train" / "all" / "traces.jsonl"
    flat = {
        "example_id": 4,
        "prompt": [{"role": "user", "content": "hi"}],
        "completion": [{"role": "assistant", "content": "ho"}],
        "reward": 0.5,
        "is_truncated": False,
    }
    lines(path, [{"id": "x", "traces": [], "errors": ["timeout"]}, flat])
    step = only(tmp_path, 1)
    assert len(step) == 1
    one = step.rollout(0)
    assert (one.prompt, one.completion, one.reward, one.truncated, one.group) == ("hi", "ho", 0.5, False, "4")


def test_nemo_rl_train_data(tmp_path: Path) -> None:
    record = {
        "content": [["user: 2+2?", "assistant: 4"]],
        "rewards": [1.0],
        "input_lengths": [12],
        "token_ids": [[1, 2, 3]],
        "advantages": [[0.5, 0.5]],
        "idx": 0,
    }
    lines(tmp_path / "exp_001" / "train_data_step9.jsonl", [record])
    one = only(tmp_path, 9).rollout(0)
    assert (one.prompt, one.completion, one.reward, one.advantage) == ("user: 2+2?", "assistant: 4", 1.0, 0.5)
    assert "token_ids" not in one.extra


def test_tinker_summaries_have_numbers_and_no_text(tmp_path: Path) -> None:
    record = {
        "split": "train",
        "iteration": 12,
        "group_idx": 3,
        "traj_idx": 0,
        "tags": ["math"],
        "total_reward": 1.0,
        "trajectory_metrics": {"correct": 1},
        "steps": [{"ob_len": 10, "ac_len": 7, "reward": 1.0}, {"ob_len": 3, "ac_len": 5, "reward": 0.0}],
    }
    lines(tmp_path / "iteration_000012" / "train_rollout_summaries.jsonl", [record])
    step = only(tmp_path, 12)
    one = step.rollout(0)
    assert (one.completion, one.reward, one.length, one.group) == (None, 1.0, 12, "3")
    stats = step.stats()
    assert (stats.empty, stats.repeated) == (None, None), "no text is not an empty text"


def test_ms_swift_lists_hold_many_steps(tmp_path: Path) -> None:
    rows = [
        {
            "step": ["5", "5"],
            "prompt": ["a", "b"],
            "completion": ["x", "y"],
            "Accuracy": [1.0, 0.0],
            "advantages": [1, -1],
        },
        {"step": ["10"], "prompt": ["a"], "completion": ["z"], "Accuracy": [1.0], "advantages": [0.5]},
    ]
    lines(tmp_path / "v0-20260101" / "completions.jsonl", rows)
    found = index(tmp_path)
    assert [(e.step, e.count) for e in found.entries] == [(5, 2), (10, 1)]
    assert [r.completion for r in found.read(found.entries[0]).page([0, 1])] == ["x", "y"]
    assert found.read(found.entries[1]).rollout(0).advantage == 0.5


def test_areal_tasks_of_a_version(tmp_path: Path) -> None:
    row = {
        "task_id": "t1",
        "sample_idx": 0,
        "seqlen": 50,
        "prompt_len": 20,
        "reward": 1.0,
        "prompt": "p",
        "completion": "c",
    }
    lines(tmp_path / "rollout" / "7" / "101.jsonl", [row, {**row, "sample_idx": 1, "reward": 0.0}])
    lines(tmp_path / "rollout" / "7" / "102.jsonl", [{**row, "task_id": "t2"}])
    step = only(tmp_path, 7)
    assert len(step) == 3
    assert [len(g.members) for g in step.groups] == [2, 1]
    assert step.length(0) == 30
    assert "sample_idx" not in step.rollout(0).components


def test_skyrl_evaluations(tmp_path: Path) -> None:
    row = {
        "input_prompt": "p",
        "output_response": "r",
        "score": [0.0, 1.0],
        "stop_reason": "length",
        "env_class": "gsm8k",
    }
    lines(tmp_path / "dumped_evals" / "global_step_20_evals" / "gsm8k.jsonl", [row])
    one = only(tmp_path, 20, "validation").rollout(0)
    assert (one.prompt, one.completion, one.reward, one.truncated) == ("p", "r", 1.0, True)


def test_wandb_tables_long_and_wide(tmp_path: Path) -> None:
    table = tmp_path / "wandb" / "run-1" / "files" / "media" / "table"
    table.mkdir(parents=True)
    (table / "completions_293_ab.table.json").write_text(
        json.dumps({"columns": ["step", "prompt", "completion", "r"], "data": [[35, "p", "c", 1.0]]})
    )
    (table / "val").mkdir()
    wide = {"columns": ["step", "input_1", "output_1", "score_1", "input_2", "output_2", "score_2"]}
    rows = [[0, "a", "b", 0.0, "c", "d", 1.0], [10, "a", "B", 1.0, "c", "D", 1.0]]
    (table / "val" / "generations_0_x.table.json").write_text(json.dumps({**wide, "data": rows[:1]}))
    (table / "val" / "generations_9_y.table.json").write_text(json.dumps({**wide, "data": rows}))
    found = index(tmp_path)
    assert [(e.step, e.split, e.count) for e in found.entries] == [
        (35, "train", 1),
        (0, "validation", 2),
        (10, "validation", 2),
    ]
    assert found.read(found.entries[2]).rollout(0).completion == "B"


def test_a_dump_is_believed_before_the_table_of_the_same_run(tmp_path: Path) -> None:
    trl(tmp_path, 35, [("p", "c", 1.0, 1.0)])
    table = tmp_path / "wandb" / "media" / "table"
    table.mkdir(parents=True)
    (table / "completions_293_ab.table.json").write_text(
        json.dumps({"columns": ["step", "prompt", "completion", "r"], "data": [[36, "p", "c", 1.0]]})
    )
    assert [(e.step, e.kind) for e in index(tmp_path).entries] == [(35, "parquet")]


PRINTED = {
    "vlm-r1": (
        "------------- 07-21-08-31-168354 Accuracy reward: 0.0 -------------\nContent: <think> 7 items\n</answer>\n"
        "Solution: <answer> 6 </answer>\n"
        "------------- 07-21-08-32 Accuracy reward: 1.0 -------------\nContent: six\nSolution: <answer> 6 </answer>\n",
        [(None, "<think> 7 items\n</answer>", 0.0), (None, "six", 1.0)],
    ),
    "search-r1": (
        "epoch 0, step 4\n--------------------------------\nGolden answers: ['Paris']\nExtracted answer: Paris\n"
        "Solution string: <|im_start|>user\ncapital?<|im_end|>\n<|im_start|>assistant\n<answer>Paris</answer>\n"
        "epoch 0, step 5\n",
        [(4, "<answer>Paris</answer>", None)],
    ),
    "openrlhf": (
        "\x1b[36m(PPOTrainer pid=12)\x1b[0m INFO 08-22 12:34:56 x.py:5] Global step 12: {'reward': 0.5}\n"
        "\x1b[36m(PPOTrainer pid=12)\x1b[0m INFO 08-22 12:34:57 x.py:9] Sample: ['what\\nis it', tensor(0.75)]\n",
        [(13, "what\nis it", 0.75)],
    ),
    "verl": (
        "\x1b[36m(TaskRunner pid=9)\x1b[0m step:3 - critic/score/mean:0.5\n"
        "\x1b[36m(TaskRunner pid=9)\x1b[0m [prompt] system\n\x1b[36m(TaskRunner pid=9)\x1b[0m what is it?\n"
        "\x1b[36m(TaskRunner pid=9)\x1b[0m [response] a cat\n\x1b[36m(TaskRunner pid=9)\x1b[0m or a dog\n"
        "Training Progress:   0%|          | 30/15625 [33:33<291:52:32, 67.38s/it]\n"
        "\x1b[36m(TaskRunner pid=9)\x1b[0m [ground_truth] 4\n\x1b[36m(TaskRunner pid=9)\x1b[0m [score] -1.0\n"
        "\x1b[36m(TaskRunner pid=9)\x1b[0m [acc] False\n\x1b[36m(TaskRunner pid=9)\x1b[0m step:4 - a:0.5\n",
        [(4, "a cat\nor a dog", -1.0)],
    ),
    "trl": (
        "╭─────────────────────────────────── Step 5 ───────────────────────────────────╮\n"
        "│ ┏━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━┓ │\n"
        "│ ┃ Prompt       ┃ Completion    ┃ accuracy_rew… ┃ format_reward ┃ Advantage ┃ │\n"
        "│ ┡━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━┩ │\n"
        "│ │ What is 2+2? │ <think>2 and  │          1.00 │          1.00 │      0.87 │ │\n"
        "│ │ Show it.     │ 2 is 4, as    │               │               │           │ │\n"
        "│ │              │ everyone      │               │               │           │ │\n"
        "│ │              │ knows</think> │               │               │           │ │\n"
        "│ │              │ <answer>4     │               │               │           │ │\n"
        "│ ├──────────────┼───────────────┼───────────────┼───────────────┼───────────┤ │\n"
        "│ │ What is 2+2? │ no idea 二    │          0.00 │          0.50 │     -0.87 │ │\n"
        "│ │ Show it.     │               │               │               │           │ │\n"
        "│ └──────────────┴───────────────┴───────────────┴───────────────┴───────────┘ │\n"
        "╰──────────────────────────────────────────────────────────────────────────────╯\n",
        [(5, "<think>2 and 2 is 4, as everyone knows</think> <answer>4", 2.0), (5, "no idea 二", 0.5)],
    ),
    "roll": (
        "pipeline step 3 start...\n"
        + json.dumps([{"prompt": "p", "response": "in step 9 of r"}])
        + "\npipeline step 3 finished\n",
        [(3, "in step 9 of r", None)],
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_samples_printed_in_the_log(tmp_path: Path, name: str) -> None:
    text, expected = PRINTED[name]
    (tmp_path / "train.log").write_text(text)
    found = index(tmp_path)
    steps = [found.read(entry) for entry in found.entries]
    got = [(one.step, one.completion, one.reward) for step in steps for one in step.page(range(len(step)))]
    assert got == expected


def test_verl_prints_a_step_after_its_samples_and_says_where_it_validates(tmp_path: Path) -> None:
    def sample(text: str) -> str:
        return f"[prompt] p\n[response] {text}\n[ground_truth] 4\n[score] 1.0\n"

    log = (
        f"{sample('first')}step:1 - critic/score/mean:0.5\n{sample('train')}validation generation end\n"
        f"{sample('held out')}step:2 - critic/score/mean:0.5\n{sample('under way')}"
    )
    (tmp_path / "train.log").write_text(log)
    found = index(tmp_path)
    got = {
        (e.step, e.split): [r.completion for r in found.read(e).page(range(len(found.read(e))))] for e in found.entries
    }
    assert got == {
        (1, "train"): ["first"],
        (2, "train"): ["train"],
        (2, "validation"): ["held out"],
        (3, "train"): ["under way"],
    }


def test_what_else_a_printed_sample_says(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(PRINTED["verl"][0])
    one = index(tmp_path).read(index(tmp_path).entries[0]).rollout(0)
    assert one.prompt == "system\nwhat is it?"
    assert one.extra == {"reference": "4", "acc": "False"}
    (tmp_path / "train.log").write_text(PRINTED["trl"][0])
    best, worst = index(tmp_path).read(index(tmp_path).entries[0]).page([0, 1])
    assert best.prompt == worst.prompt == "What is 2+2? Show it.", "a full line may have been wrapped"
    assert (best.advantage, worst.advantage) == (0.87, -0.87)
    assert worst.components == {"accuracy_rew…": 0.0, "format_reward": 0.5}


def test_what_the_reward_saw_stands_beside_what_was_generated(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(PRINTED["search-r1"][0])
    one = index(tmp_path).read(index(tmp_path).entries[0]).rollout(0)
    assert one.seen_by_reward == "Paris"
    assert one.completion != one.seen_by_reward
    assert one.extra["reference"] == "['Paris']"


def test_a_line_still_being_written_waits_and_broken_ones_are_counted(tmp_path: Path) -> None:
    path = verl(tmp_path, 1, [("a", "b", 1.0)])
    path.write_text(path.read_text() + '{"input": 3\n[1, 2]\n"x"\n' + '{"input": "a", "outp')
    step = only(tmp_path, 1)
    assert len(step) == 1
    assert step.skipped == 4


def test_nan_rewards_are_missing_not_zero(tmp_path: Path) -> None:
    (tmp_path / "rollouts").mkdir()
    (tmp_path / "rollouts" / "1.jsonl").write_text('{"input": "a", "output": "b", "score": NaN}\n')
    step = only(tmp_path, 1)
    assert step.rollout(0).reward is None
    assert step.stats().reward_mean is None


@pytest.mark.parametrize(
    ("path", "step", "split"),
    [
        ("run/rollouts/40.jsonl", 40, "train"),
        ("run/validation/40.jsonl", 40, "validation"),
        ("run/completions/completions_00200.parquet", 200, "train"),
        ("run/train_data_step12.jsonl", 12, "train"),
        ("run/val_data_step12.jsonl", 12, "validation"),
        ("run/iteration_000007/eval_math_rollout_summaries.jsonl", 7, "validation"),
        ("run/rollouts/step_3/train/all/traces.jsonl", 3, "train"),
        ("run/dumped_evals/global_step_20_evals/gsm8k.jsonl", 20, "validation"),
        ("run/v0-20260101-120000/completions.jsonl", None, "train"),
        ("run/completions_1763_2cce1a9f.table.json", None, "train"),
    ],
)
def test_step_and_split_from_the_name(path: str, step: int | None, split: str) -> None:
    assert (dump.step_of(path, "run"), dump.split_of(path, "run")) == (step, split)
