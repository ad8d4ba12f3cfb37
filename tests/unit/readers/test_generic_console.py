from __future__ import annotations

import pytest

from rltui.readers.sniff import sniff
from tests.unit.readers.reading import cuts, read


def test_deepspeed_chat_blocks() -> None:
    found = read(
        "console",
        "***** Running training *****\nBeginning of Epoch 1/1, Total Generation Batches 477\n"
        "epoch: 0|step: 0|ppo_ep: 1|act_loss: 0.2099|cri_loss: 0.12|unsuper_loss: 0.0\n"
        "average reward score: -0.679\n----------\n"
        "|E2E latency=7.99s |Gather latency=0.00s (0.00%) |CurSamplesPerSec=8.01 |AvgSamplesPerSec=8.01\n"
        "[2023-04-18 09:02:30,465] [INFO] [logging.py:96:log_dist] [Rank 0] step=230, skipped=7, lr=[7e-06, 7e-06]\n"
        "epoch: 0|step: 1|ppo_ep: 1|act_loss: 0.29|cri_loss: 0.16|unsuper_loss: nan\n",
    )
    assert found.steps == [0, 1]
    assert found.rows[0][1]["average reward score"] == -0.679
    assert found.rows[0][1]["E2E latency"] == 7.99
    assert found.rows[0][1]["act_loss"] == 0.2099
    assert found.rows[1][1]["unsuper_loss"] is None
    assert [note.total for note in found.notes if note.kind == "progress"] == [477]


def test_prime_rl_and_torchtune_lines() -> None:
    found = read(
        "console",
        "12:00:01 SUCCESS Step 3 |  42.10s | Loss 0.0012 | LR 1.00e-06 | Throughput 12,345 tokens/s"
        " | MFU 31.2% | Peak Mem. 61.0 GiB\n"
        "Step 4 | loss:0.1 rewards:0.5 lr:1e-5\n",
    )
    assert found.rows == [
        (3, {"Time": 42.1, "Loss": 0.0012, "LR": 1e-06, "Throughput": 12345.0, "MFU": 0.312, "Peak Mem.": 61.0}),
        (4, {"loss": 0.1, "rewards": 0.5, "lr": 1e-5}),
    ]


def test_dicts_behind_a_step() -> None:
    found = read(
        "console",
        "INFO 08-22 12:34:56 ppo_trainer.py:547] ✨ Global step 12: {'policy_loss': -0.0012, 'ppo_kl': nan, 'a': 'x'}\n"
        "[2026-01-02 03:04:05] logging.py:10 - rollout 13: {'rollout/rewards': 0.5, 'rollout/raw_reward': 1}\n"
        "wandb: WARNING (User provided step: 14 is less than current step: 15."
        " Dropping entry: {'loss': 0.1, 'kl': 0.2}).\n",
    )
    assert found.rows == [
        (12, {"policy_loss": -0.0012, "ppo_kl": None}),
        (13, {"rollout/rewards": 0.5, "rollout/raw_reward": 1.0}),
        (14, {"loss": 0.1, "kl": 0.2}),
    ]


def test_headings_with_bullets() -> None:
    found = read(
        "console",
        "========================= Step 1/50 =========================\n"
        "▶ Computing advantages...\n📊 Training Results:\n  • Loss: 0.0123\n  • Avg Reward: 0.5312\n"
        "⏱️  Timing:\n  • Total step time: 63.21s\n  • generation: 40.10s (63.4%)\n"
        "========================= Step 2/50 =========================\n  • Loss: 0.0120\n",
    )
    assert found.rows == [
        (1, {"Loss": 0.0123, "Avg Reward": 0.5312, "Total step time": 63.21, "time/generation": 40.1}),
        (2, {"Loss": 0.012}),
    ]
    assert [(n.step, n.total) for n in found.notes if n.kind == "progress"] == [(2, 50)]


def test_prose_with_steps_is_no_metric() -> None:
    text = "Step 1: add 3 and 4.\nStep 2: the answer is 7, x = 3\nfirst, iteration 3 of 5, more text\nAnswer: 42\n"
    assert read("console", text).rows == []


def test_a_known_dialect_silences_the_others() -> None:
    found = read("console", "step:1 - a:1\nStep 9 | loss:0.1 rewards:0.5\n")
    assert found.steps == [1]


def test_json_lines_after_a_torn_one_are_read_the_same_however_they_are_cut() -> None:
    data = '{"timestamp": "2026-01-\n | LR 1e-6"}\n' + 3 * (
        '{"timestamp": "2026-01-02T03:04:05", "level": "INFO", "message": "Step 2 | Loss 0.5 | LR 1e-6"}\n'
    )
    whole = read("console", data).rows
    assert all(read("console", data, [cut]).rows == whole for cut in cuts(data.encode(), 1))


HOME_MADE = {
    "logging": "2026-01-02 03:04:05,123 - INFO - my.trainer - step: {s} | loss: 0.5 | reward: 0.25 | lr: 1e-06",
    "place and words": "[2026-01-02 03:04:05] INFO train.py:77 step={s} loss=0.5 reward=0.25 lr=1e-06",
    "basicConfig": "INFO:root:Step {s} loss=0.5 reward=0.25 lr=1e-06",
    "loguru": "03:04:05 | INFO     | __main__:train:88 - step {s} | loss 0.5 | reward 0.25 | lr 1e-06",
    "words by commas": "step {s}/40: loss 0.5, reward 0.25, lr 1e-06",
    "iteration": "Iteration {s}: loss=0.5, reward=0.25, lr=1e-06",
    "brackets": "[step {s}] loss=0.5 reward=0.25 lr=1e-06",
    "tabs": "step: {s}\tloss: 0.5\treward: 0.25\tlr: 1e-06",
    "colons": "Step {s} loss: 0.5 reward: 0.25 lr: 1e-06",
    "global_step": "global_step={s} loss=0.5 reward=0.25 lr=1e-06",
    "a dict": "{{'step': {s}, 'loss': 0.5, 'reward': 0.25, 'lr': 1e-06}}",
    "a heading": "--- Step {s} ---\nloss: 0.5\nreward: 0.25\nlr: 1e-06",
}


@pytest.mark.parametrize("name", HOME_MADE)
def test_lines_of_home_made_loops(name: str) -> None:
    text = "".join(HOME_MADE[name].format(s=step) + "\n" for step in (1, 2, 3))
    assert sniff(text.encode(), "train.log") == "console"
    found = read("console", text)
    assert found.rows == [(step, {"loss": 0.5, "reward": 0.25, "lr": 1e-06}) for step in (1, 2, 3)]


@pytest.mark.parametrize(
    "line",
    [
        "Step 1: download the model from https://example.org and set lr=1e-6 in the config",
        "step 2 failed with loss=nan, retrying 3 of 5 times",
        "INFO step 3 of the recipe: batch_size=4 is too small for n=8 samples",
        "Iteration 4 took 5 s",
        "{'step': 'one', 'loss': 0.5, 'reward': 0.25}",
        "step=5 loss=0.5",
    ],
)
def test_prose_about_steps_is_no_step(line: str) -> None:
    assert read("console", f"{line}\n").rows == []
