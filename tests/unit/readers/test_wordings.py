"""Step lines as trainers and home-made loops set them, each style with rows of known truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.readers.formats import make
from tests.unit.readers.reading import Cells, Read, cuts, read
from tests.unit.readers.reported import reported
from tests.unit.session.runs import but_pace, content, opened

NESTED = '2026-03-01T10:00:00Z [info] metrics {{"step": {i}, "loss": {x}, "train": {{"reward": 0.5, "kl": 0.2}}}}\n'
STYLES: dict[str, tuple[str, int, dict[str, str]]] = {
    "a tree below a sentence": (
        "🔁 PPO iteration {i} of 40\n   ├─ loss: {x}\n   └─ reward: 0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "LLaMA-Factory": (
        "[INFO|2026-03-01 10:00:00] llamafactory.train.callbacks:143 >> "
        "{{'loss': {x}, 'reward': 0.5, 'learning_rate': 1.0000e-06, 'epoch': 0.{i:02}}}\n",
        1,
        {"loss": "x", "reward": "0.5", "learning_rate": "1e-6"},
    ),
    "prime-rl": (
        "10:00:00 SUCCESS Step {i} | Time: 12.31s | Loss: {x} | Grad. Norm: 0.5 | Throughput: 12345 tokens/s"
        " | Peak Mem.: 43.2/80.0 GiB (54.1%)\n",
        1,
        {"Loss": "x", "Grad. Norm": "0.5", "Time": "12.31", "Throughput": "12345", "Peak Mem.": "43.2"},
    ),
    "a sentence": (
        "Finished training step {i} with loss {x} and average reward 0.5 in 12.3 seconds.\n",
        1,
        {"loss": "x", "average reward": "0.5"},
    ),
    "sections": (
        "--- iteration {i} ---\npolicy:\n  loss: {x}\nrollout:\n  reward: 0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "SageMaker": (
        "#quality_metric: host=algo-1, step={i}, train <loss>={x}; <reward>=0.5; <kl>=-2e-3\n",
        1,
        {"train loss": "x", "reward": "0.5", "kl": "-0.002"},
    ),
    "SageMaker, a line each": (
        "step: {i}\n<loss>={x}\n<reward> = 0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "marked lines": ("### Step {i}/40\n### loss: {x}\n### reward: 0.5\n", 1, {"loss": "x", "reward": "0.5"}),
    "Markdown": ("## Step {i}\n\n- **loss**: {x}\n- **reward**: 0.5\n\n", 1, {"loss": "x", "reward": "0.5"}),
    "logfmt": (
        "ts=2026-03-01T10:00:00.123Z level=info step={i} loss={x} reward=0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "aligned lines below a heading": (
        "----- Step {i} -----\n  loss:        {x}\n  mean reward: 0.5\n\n",
        1,
        {"loss": "x", "mean reward": "0.5"},
    ),
    "what Python shows of calls": (
        "step={i} loss.item()={x} rewards.mean().item()=0.5 kl=0.25\n",
        1,
        {"loss": "x", "rewards.mean": "0.5", "kl": "0.25"},
    ),
    "scores at k, set apart by semicolons": (
        "Rollout #{i}: avg reward {x}; pass@1 0.25; pass@8 0.5\n",
        1,
        {"avg reward": "x", "pass@1": "0.25", "pass@8": "0.5"},
    ),
    "statistics that share a name": (
        "[Step {i}] reward mean/std/min/max: {x}/0.25/0.0/1.0  loss 0.125\n",
        1,
        {"reward mean": "x", "reward std": "0.25", "reward min": "0", "reward max": "1", "loss": "0.125"},
    ),
    "three statistics that share a name": (
        "step {i}: reward min/mean/max 0.0/{x}/1.0 len min/mean/max 58/289/616\n",
        1,
        {
            "reward min": "0",
            "reward mean": "x",
            "reward max": "1",
            "len min": "58",
            "len mean": "289",
            "len max": "616",
        },
    ),
    "a unit in square brackets": (
        "step: {i}; loss [nats]: {x}; step time [s]: 9.5; clipped [%]: 0.5\n",
        1,
        {"loss (nats)": "x", "step time (s)": "9.5", "clipped (%)": "0.5"},
    ),
    "torchtune": ("1|{i}|Loss: {x}|Reward: 0.5\n", 1, {"Loss": "x", "Reward": "0.5"}),
    "statistics in columns below a heading": (
        "== step {i} ==\n        mean    min\n------  ------  -------\nreward  {x}  -1.0000\nkl      0.25    0.0\n",
        1,
        {"reward mean": "x", "reward min": "-1", "kl mean": "0.25", "kl min": "0"},
    ),
    "statistics in a table with bars": (
        "Step {i}:\n| | mean | std |\n|---|---|---|\n| reward | {x} | 0.5 |\n| kl | 0.25 | 0.125 |\n",
        1,
        {"reward mean": "x", "reward std": "0.5", "kl mean": "0.25", "kl std": "0.125"},
    ),
    "mini-batches of each step": (
        "step {i} mb 0 pg 0.5 reward 0.25\nstep {i} mb 1 pg 0.5 reward 0.25\nstep {i} mb 2 pg {x} reward 0.5\n",
        1,
        {"pg": "x", "reward": "0.5"},
    ),
    "a scalar a line": (
        "scalar train/reward step={i} value=0.5\nscalar train/loss step={i} value={x}\n",
        1,
        {"train/reward": "0.5", "train/loss": "x"},
    ),
    "a print for each number": (
        "Step {i}\nreward 0.5\nloss tensor({x}, device='cuda:0')\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "the samples in the heading of a block": (
        "Round {i} (samples 64-127):\n   mean reward = 0.5\n   loss = {x}\n",
        1,
        {"loss": "x", "mean reward": "0.5"},
    ),
    "the epoch in the heading of a block": (
        "Step {i} (epoch 0.25):\n  loss: {x}\n  reward: 0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "a unit or statistic in brackets behind a name": (
        " iteration {i}/ 300 | elapsed time per iteration (ms): 5312.4 | Reward (mean): {x} "
        "| number of nan iterations:   0 |\n",
        1,
        {"elapsed time per iteration (ms)": "5312.4", "Reward (mean)": "x", "number of nan iterations": "0"},
    ),
    "the name of host and process behind the time": (
        "2026-03-04 10:00:00 gpu01 train[4242] INFO step {i} loss {x} reward 0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "pod and container before the time": (
        "trainer-0 master 2026-03-04T10:00:00.123Z stdout F [train] step={i} loss={x} reward=0.5\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "the time at the end": (
        "step={i} loss={x} reward=0.5 tag=a event=train timestamp=2026-11-24T09:08:45.095777Z\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "fairseq": (
        '2026-03-04 10:00:00 | INFO | train_inner | {{"epoch": 1, "update": "0.25", "loss": "{x}", '
        '"num_updates": "{i}", "gnorm": "0.5"}}\n',
        1,
        {"loss": "x", "gnorm": "0.5", "update": "0.25"},
    ),
    "logfmt with seconds": ("ts=1763900{i:03}.5 step={i} loss={x} reward=0.5\n", 1, {"loss": "x", "reward": "0.5"}),
    "JSON behind words": (NESTED, 1, {"loss": "x", "reward": "0.5", "kl": "0.2"}),
    "parts of a step on one line": (
        "step {i} | actor: loss={x} lr=1e-6 | critic: loss=0.5 lr=2e-6 | reward: mean=0.25 std=0.125\n",
        1,
        {
            "actor/loss": "x",
            "actor/lr": "1e-6",
            "critic/loss": "0.5",
            "critic/lr": "2e-6",
            "reward/mean": "0.25",
            "reward/std": "0.125",
        },
    ),
    "parts of a step below each other": (
        "===== Iteration {i}/40 =====\n[actor]\n  loss: {x}\n[critic]\n  loss: 0.5\n  clip: 0.25\n",
        1,
        {"actor/loss": "x", "critic/loss": "0.5", "clip": "0.25"},
    ),
    "parts of a YAML document": (
        "step: {i}\nactor:\n  loss: {x}\ncritic:\n  loss: 0.5\nreward:\n  mean: 0.25\n\n",
        1,
        {"actor/loss": "x", "critic/loss": "0.5", "reward/mean": "0.25"},
    ),
    "a statistic behind the name that it is of": (
        "iter {i}: loss: {x}, reward: mean 0.25, std 0.125\n",
        1,
        {"loss": "x", "reward mean": "0.25", "reward std": "0.125"},
    ),
    "lines of a logger below one that says what is over": (
        "[2026-03-01 10:00:07] Training step {i} of 40 complete\n[2026-03-01 10:00:07]   generated 512 completions, "
        "9 tokens in 1.5s\n[2026-03-01 10:00:07]   policy: loss={x} entropy=0.5\n",
        1,
        {"loss": "x", "entropy": "0.5"},
    ),
    "a box below a heading": (
        "    Step {i}/40\n┏━━━━━━┳━━━━┓\n┃ Name ┃ Is ┃\n┡━━━━━━╇━━━━┩\n"
        "│ loss │ {x} │\n│ reward │ 0.5 │\n└──────┴────┘\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "an evaluation below a step": (
        "step {i} | loss {x} | reward 0.5\nRunning evaluation on 500 prompts...\n  accuracy: 0.25\n",
        1,
        {"loss": "x", "reward": "0.5", "eval/accuracy": "0.25"},
    ),
    "verbs": (
        "After update {i} the average reward is 0.5 and the policy loss is {x}.\n",
        1,
        {"policy loss": "x", "average reward": "0.5"},
    ),
    "lists": (
        "step {i} rewards: [0.25, 0.5, 0.75] loss: {x}\n",
        1,
        {"rewards_mean": "0.5", "loss": "x"},
    ),
    "signs that fill a place": ("第 {i} 步，损失：{x}，平均奖励：0.5\n", 1, {"损失": "x", "平均奖励": "0.5"}),
    "a count with its end, of two processes": (
        "0: 2026-03-01 10:01:00 | INFO     | trainer.grpo:train:212 - 第 {i}/200 步 损失: {x} 奖励: 0.5\n"
        "1: 2026-03-01 10:01:01 | INFO     | trainer.grpo:train:212 - 第 {i}/200 步 损失: 9.5 奖励: 7.5\n",
        1,
        {"损失": "x", "奖励": "0.5"},
    ),
    "a process before a step of another language": (
        "0: Schritt {i}/200: Verlust={x}, Belohnung=0.5\n1: Schritt {i}/200: Verlust=9.5, Belohnung=7.5\n",
        1,
        {"Verlust": "x", "Belohnung": "0.5"},
    ),
    "shares set right": (
        "({i:5.1f}%) 0.1min :: update #{i} :: loss → {x} :: reward → 0.5\n",
        50,
        {"loss": "x", "reward": "0.5"},
    ),
    "fields of a JSON logger": (
        '{{"asctime": "2026-03-01 10:00:00,123", "levelname": "INFO", "message": "train", '
        '"extra": {{"step": {i}, "loss": {x}, "reward/mean": 0.5}}}}\n',
        1,
        {"loss": "x", "reward/mean": "0.5"},
    ),
    "a dict that was logged as text": (
        '{{"step": {i}, "metrics": "{{\'loss\': {x}, \'reward\': 0.5}}"}}\n',
        1,
        {"metrics/loss": "x", "metrics/reward": "0.5"},
    ),
    "columns of fastai": (
        "{head}{i:<9} {x}    0.5        00:{i:02}\n",
        1,
        {"train_loss": "x", "reward": "0.5", "time": "i"},
    ),
    "messages that rich broke": (
        "                    INFO     step {i} | reward 0.5 | loss {x} |   train.py:12\n"
        "                             kl 0.25                               \n",
        1,
        {"loss": "x", "reward": "0.5", "kl": "0.25"},
    ),
    "a tuple": ("('step', {i}, 'loss', {x}, 'reward', 0.5)\n", 1, {"loss": "x", "reward": "0.5"}),
    "a terminal that `script` recorded": (
        "\x1b[?2004l\x1b]0;me@gpu: ~\x07step {i} loss=\x1b[1m{x}\x1b[0m reward=0.9\x085\r\n",
        1,
        {"loss": "x", "reward": "0.5"},
    ),
    "steps in thousands": ("step {k}k | reward {x} | kl 0.5\n", 500, {"reward": "x", "kl": "0.5"}),
    "thousands": ("Training: step: {i:,}, loss: {x}, reward: 0.5\n", 200, {"loss": "x", "reward": "0.5"}),
}


@pytest.mark.parametrize("style", STYLES)
def test_every_row_is_there_and_nothing_else(style: str, tmp_path: Path) -> None:
    text, stride, names = STYLES[style]
    path = tmp_path / "train.log"
    head = ("epoch     train_loss  reward    time\n", *("" for _ in range(39)))
    given = ({"i": i * stride, "k": i * stride / 1000, "x": f"{i / 64:.6f}", "head": head[i - 1]} for i in range(1, 41))
    path.write_text("".join(text.format(**words) for words in given))
    expected = {
        i * stride: {
            name: pytest.approx(i / 64, abs=1e-6) if x == "x" else float(i if x == "i" else x)
            for name, x in names.items()
        }
        for i in range(1, 41)
    }
    found = {step: {k: x for k, x in row.items() if k != "epoch"} for step, row in content(opened(path)).items()}
    assert found == expected


def painted(kind: str) -> str:
    """What tqdm writes of a slow loop of 20 steps: it paints a bar as it is made, counted on, and given numbers."""
    shown = "train:  {share}%|█| {n}/20 [00:10<01:30,  1.02s/it{numbers}]"
    out, numbers, count = [], "", 0

    def paint() -> None:
        out.append("\r" + shown.format(share=5 * count, n=count, numbers=numbers))

    paint()
    for i in range(1, 21):
        named = f", loss={i / 64:.6f}, reward=0.5" + (f", step={i}" if kind == "named" else "")
        if kind == "counted first":
            count = i
            paint()
        numbers = named
        paint()
        if kind != "counted first":
            count = i
            paint()
    return "".join(out) + "\n"


def test_a_line_that_says_columns_names_them(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("# columns: step loss reward\n" + "".join(f"{i} {i / 64:.6f} 0.5\n" for i in range(1, 21)))
    assert [row["loss"] for row in content(opened(path)).values()] == pytest.approx(
        [i / 64 for i in range(1, 21)], abs=1e-6
    )


@pytest.mark.parametrize("kind", ["named", "counted first", "counted last"])
def test_numbers_of_a_bar_are_of_the_step_whose_loop_gave_them(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(painted(kind))
    assert but_pace(content(opened(path))) == {
        i: {"loss": pytest.approx(i / 64, abs=1e-6), "reward": 0.5} for i in range(1, 21)
    }


@pytest.mark.parametrize(("shown", "seconds"), [("0.80it/s", 1.25), (" 2.50s/it", 2.5), ("?it/s", None)])
def test_a_bar_that_shows_its_numbers_tells_how_long_a_step_takes(
    shown: str, seconds: float | None, tmp_path: Path
) -> None:
    path = tmp_path / "train.log"
    bars = [f"\r {i}%|█| {i}/100 [00:10<01:30, {shown}, loss={i / 64:.4f}, reward=0.5]" for i in range(1, 41)]
    path.write_text("".join(bars) + "\n")
    rows = content(opened(path))
    assert len(rows) == 40
    assert {row.get("s/it") for row in rows.values()} == {seconds}


def test_a_line_glued_behind_a_bar_is_a_step_line(tmp_path: Path) -> None:
    """As a buffered output writes its lines."""
    path = tmp_path / "train.log"
    lines = [f"loss {i / 64:.6f} reward 0.5 step {i}\n" for i in range(1, 21)]
    bars = [f"\r {5 * i}%|█| {i}/20 [00:10<01:30,  1.02s/it]" for i in range(11)]
    path.write_text("".join([*bars, *lines[:10], *bars, *lines[10:]]))
    assert [row["loss"] for row in content(opened(path)).values()] == pytest.approx(
        [i / 64 for i in range(1, 21)], abs=1e-6
    )


def test_a_step_line_that_is_cut_off_tells_nothing_of_the_step_above(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    whole = "".join(f"step={i} loss=0.25 reward=0.5 kl=0.125\n" for i in range(1, 21))
    path.write_text(whole + "step=21 loss=0.75")
    found = content(opened(path))
    assert found.pop(21, {"loss": 0.75}) == {"loss": 0.75}
    assert found == {i: {"loss": 0.25, "reward": 0.5, "kl": 0.125} for i in range(1, 21)}


@pytest.mark.parametrize("heading", ["### Step {i}", "## Step {i}: the proof"])
def test_a_heading_in_a_completion_begins_no_step(heading: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = []
    for i in range(1, 31):
        lines += [f"step {i} | loss: 0.25 | reward: 0.5", *(heading.format(i=n) for n in (1, 2, 3)), "so x = 3"]
    path.write_text("\n".join(lines) + "\n")
    assert content(opened(path)) == {i: {"loss": 0.25, "reward": 0.5} for i in range(1, 31)}


def test_the_course_of_a_training_as_keras_returns_it(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    course = {"loss": [i / 64 for i in range(1, 21)], "val_accuracy": [i / 32 for i in range(1, 21)]}
    path.write_text(f"Training done\n{course}\n")
    assert [(row["loss"], row["val_accuracy"]) for row in content(opened(path)).values()] == [
        (i / 64, i / 32) for i in range(1, 21)
    ]


def test_columns_of_samples_are_no_course_of_a_training(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    samples = {"rewards": [0.0, 1.0, 0.0, 1.0, 1.0], "lengths": [9, 8, 9, 7, 6]}
    path.write_text("".join(f"{samples}\nstep {i}: loss=0.25 reward=0.5\n" for i in range(1, 21)))
    assert content(opened(path)) == {i: {"loss": 0.25, "reward": 0.5} for i in range(1, 21)}


def test_a_line_that_counts_something_else_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = []
    for i in range(1, 13):
        lines.append(f"rollout {i}: reward=0.5 len=100.0")
        lines += [f"  optim step {3 * i + j}: loss=0.25 gnorm=0.5" for j in range(3)]
    path.write_text("\n".join(lines) + "\n")
    (source,) = reported(path)["run"]["sources"]
    (left,) = source["left_out"]
    assert (left["count"], left["reason"]) == (12, "recurring line that counts something else than the steps")


@pytest.mark.parametrize("start", [0, 1])
def test_dicts_without_a_step_between_paintings_of_a_bar(
    start: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bar above a dict tells its step; a dict that comes but once is a result and no row."""
    lines = ["100%|##########| 3/3 [00:00<00:00,  9.00it/s]", "{'loss': 9.0, 'accuracy': 0.5, 'note': 'loaded'}"]
    for i in range(start, start + 40):
        bar = f"\r{i * 2.5:3.0f}%|{'#' * (i // 4):10s}| {i}/{start + 40} [00:{i:02d}<00:10,  1.00it/s]"
        lines += [bar, str({"loss": 0.1, "reward": i / 64, "kl": 0.01})]
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["step"] for row in rows] == list(range(start, start + 40))
    assert [row["reward_mean"] for row in rows] == [i / 64 for i in range(start, start + 40)]


@pytest.mark.parametrize("style", ["messages that rich broke", "aligned lines below a heading"])
def test_where_the_bytes_are_cut_makes_no_difference(style: str) -> None:
    text, _, _ = STYLES[style]
    data = "".join(text.format(i=i, x=f"{i / 64:.6f}") for i in range(1, 6)).encode()
    whole = by_step([data])
    assert len(whole) == 5
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data))


def by_step(parts: list[bytes]) -> dict[int, Cells]:
    read = Read(make("console"))
    for part in parts:
        read.take(read.reader.feed(part))
    read.take(read.reader.finish())
    found: dict[int, Cells] = {}
    for step, cells in read.rows:
        found.setdefault(step, {}).update(cells)
    return found


def test_an_evaluation_inside_a_block_is_of_the_step_of_its_heading(tmp_path: Path) -> None:
    """Not of the newest step that is complete."""
    path = tmp_path / "train.log"
    text = ""
    for i in range(1, 61):
        text += f"====== Iteration {i} / 60 ======\n  loss:          {i / 64:.6f}\n  reward:        0.5{i % 10}\n"
        text += f"  eval_score:    0.{600 + i}\n" if i % 20 == 0 else ""
        text += "  iteration time: 1.18 s\n"
    path.write_text(text)
    rows = content(opened(path))
    assert len(rows) == 60
    evaluated = {step: x for step, row in rows.items() for key, x in row.items() if "eval" in key}
    assert evaluated == {20: 0.62, 40: 0.64, 60: 0.66}


def test_a_sign_is_no_other_wording() -> None:
    """What a launch states again is not taken for a sample because its first number has another sign."""
    steps = [*range(1, 81), *range(60, 100)]
    signs = ["-" if step % 3 == 0 else "" for step in steps]
    lines = [f"reward: {sign}0.{step:03} kl {step % 7} it {step}" for sign, step in zip(signs, steps, strict=True)]
    rows = read("console", "\n".join([*lines, ""])).rows
    assert [step for step, cells in rows if "reward" in cells] == steps
