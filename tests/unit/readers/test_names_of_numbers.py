"""Names as lines write them: with brackets, set apart by commas, by a unit alone, in a list; and what is no name."""

from __future__ import annotations

import pytest

from tests.unit.readers.reading import Cells, read

N = 7


def told(line: str) -> Cells:
    found = read("console", "".join(line.format(i=i, x=f"0.{i}5") + "\n" for i in range(1, N + 1)))
    assert found.steps == list(range(1, N + 1))
    return found.rows[0][1]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("step {i} KL(pi||old): 0.5 H(pi): 1.5 E[R]: {x}", {"KL(pi||old)": 0.5, "H(pi)": 1.5, "E[R]": 0.15}),
        ("step {i} | loss: {x} | KL(p|q)=0.5", {"loss": 0.15, "KL(p|q)": 0.5}),
        ("Step [{i}/90], Loss: {x}, KL (old, k2): 0.5", {"Loss": 0.15, "KL (old, k2)": 0.5}),
        ("iter,{i},reward,{x},loss,0.5", {"reward": 0.15, "loss": 0.5}),
        ("iter;{i};mean reward;{x};loss;0.5", {"mean reward": 0.15, "loss": 0.5}),
        ("step {i}  loss={x}  |g|=0.5", {"loss": 0.15, "|g|": 0.5}),
        ("step {i}  loss={x}  ||grad||: 0.5", {"loss": 0.15, "||grad||": 0.5}),
        ("Step {i} | loss {x} | ⏱ 3.5s | 2048 tok/s", {"loss": 0.15, "Time": 3.5, "tok/s": 2048}),
        ("step {i} loss: {x}, took 3.5s, 2048 tokens/sec", {"loss": 0.15, "took": 3.5, "tokens/sec": 2048}),
        ("step {i} loss {x} speed 0.5 it/s mem 61.5GB", {"loss": 0.15, "speed": 0.5, "mem": 61.5}),
        ("step {i} loss {x} rate 512 tokens/s lr 0.5", {"loss": 0.15, "rate": 512, "lr": 0.5}),
        ("step {i} loss {x} tok/s 512 lr 0.5", {"loss": 0.15, "tok/s": 512, "lr": 0.5}),
        ("step {i} loss {x} lr=[1e-6, 1e-6] kl 0.5", {"loss": 0.15, "lr": 1e-6, "kl": 0.5}),
        ("step {i} loss {x} lr=[1e-6, 2e-6] kl 0.5", {"loss": 0.15, "lr": 1e-6, "kl": 0.5}),
        ("step {i} loss {x} ids torch.Size([8, 64]) kl 0.5", {"loss": 0.15, "kl": 0.5}),
        ("step {i} loss {x} logits.shape=torch.Size([8, 64, 32]) kl 0.5", {"loss": 0.15, "kl": 0.5}),
        ("step {i} loss {x} batch shape: (8, 64) kl 0.5", {"loss": 0.15, "kl": 0.5}),
        ("step {i} loss {x} correct 12/64", {"loss": 0.15, "correct": 0.1875}),
        ("step {i} | loss {x} (0.5 avg) | 3.5s | 0.25s/it", {"loss": 0.15, "Time": 3.5, "s/it": 0.25}),
        ("step {i} | loss {x} | 5h elapsed | 3h left", {"loss": 0.15}),
        ("it {i}  R={x}  |g|=0.50", {"R": 0.15, "|g|": 0.5}),
        # signs within a name
        ("step {i} | a*b/mean: {x} | kl 0.5", {"a*b/mean": 0.15, "kl": 0.5}),
        ("step {i} loss★ {x} kl 0.5", {"loss★": 0.15, "kl": 0.5}),
        ("step {i} - math-500/acc@32={x} - loss=0.5", {"math-500/acc@32": 0.15, "loss": 0.5}),
        ("step {i}: x[0]={x} x[1]=0.5 loss=0.25", {"x[0]": 0.15, "x[1]": 0.5, "loss": 0.25}),
        ("step {i}, ratio∈[0.8,1.2]={x}, loss=0.5", {"ratio∈[0.8,1.2]": 0.15, "loss": 0.5}),
        ("step {i} | ratio in [0.8, 1.2]: {x} | loss=0.5", {"ratio in [0.8, 1.2]": 0.15, "loss": 0.5}),
        ("step {i} loss: {x} acc↑: 0.5 ppl↓: 3.5", {"loss": 0.15, "acc↑": 0.5, "ppl↓": 3.5}),
        ("step={i} reward^2={x} math+code=0.5 adv>0=0.25", {"reward^2": 0.15, "math+code": 0.5, "adv>0": 0.25}),
        ("step {i} | Q: {x} | Q*: 0.5 | loss: 0.25", {"Q": 0.15, "Q*": 0.5, "loss": 0.25}),
        ("step {i} | clip(0.2): {x} | top-k(10): 0.5 | loss 1.5", {"clip(0.2)": 0.15, "top-k(10)": 0.5, "loss": 1.5}),
        ("step {i} | reward['math']={x} | loss=0.5", {"reward['math']": 0.15, "loss": 0.5}),
        ("step {i} | reward::mean={x} | loss:std=0.5", {"reward::mean": 0.15, "loss:std": 0.5}),
        ("step {i} | actor:loss={x} | critic:loss=0.5", {"actor/loss": 0.15, "critic/loss": 0.5}),
        (
            "iter: {i}  reward: {x}+/-0.5 [min: 0.0, max: 1.5]  kl: 0.25",
            {"reward": 0.15, "reward std": 0.5, "reward min": 0, "reward max": 1.5, "kl": 0.25},
        ),
        ("step {i} reward={x} loss=0.5 [repeated 2x across cluster]", {"reward": 0.15, "loss": 0.5}),
        ("🚀 Step {i} ✅ reward 🎯 {x} 📏 kl 📉 0.5 | ⏱ 3.5s", {"reward": 0.15, "kl": 0.5, "Time": 3.5}),
        ("step {i} | R={x} | KL(π‖ref)=0.5 | H[π,1]=2.5", {"R": 0.15, "KL(π||ref)": 0.5, "H[π,1]": 2.5}),
        # near misses: signs that set apart
        ("step {i}|loss:{x}->kl=0.5", {"loss": 0.15, "kl": 0.5}),
        ("step#: {i} loss: {x}, acc(12/64): 0.1875", {"loss": 0.15, "acc": 0.1875}),
        ("step {i} | reward: {x} ↑ | 🏆 kl: 0.5 ↓ | 📉loss=0.25", {"reward": 0.15, "kl": 0.5, "loss": 0.25}),
        # as it was
        ("step {i} loss {x} rewards [0.25, 0.75, 0.5] kl 0.5", {"loss": 0.15, "rewards_mean": 0.5, "kl": 0.5}),
        ("step {i} loss {x} | batch 3/64 | kl 0.5", {"loss": 0.15, "kl": 0.5}),
        ("step {i} | loss {x} (mean 0.5)", {"loss": 0.15, "loss mean": 0.5}),
        ("step {i} | Reward (mean): {x} | loss 0.5", {"Reward (mean)": 0.15, "loss": 0.5}),
    ],
)
def test_names(line: str, wanted: Cells) -> None:
    assert told(line) == wanted


@pytest.mark.parametrize(
    ("line", "lost"),
    [
        ("step {i} | loss {x} | 512 tokens", 1),
        ("step {i} | loss {x} | top5% 0.5", 1),
        ("step {i} | loss {x} | memory 12.5/80 GB", 0),
        ("step {i} | loss {x} | 0.5 / 0.75", 2),
        ("step {i}: loss {x} (0.5), 3 groups", 2),
        # all is told, or nothing was measured
        ("step {i}/90 | loss {x} | batch 3/64 | 00:12:33", 0),
        ("[2026-03-01 10:00:00] epoch 1 step {i} | loss {x} | right 3/4 (75.0%)", 0),
        ("step {i} [{i}/90] | loss {x} | lr [1e-6, 2e-6, 3e-6] | mom=[(0.5, 0.75), (0.5, 0.75)]", 0),
        ("step {i} | loss {x} | gpu 0 | pass@8 0.5 | top-5 0.5", 0),
    ],
)
def test_numbers_without_a_name_are_counted(line: str, lost: int) -> None:
    text = "".join(line.format(i=i, x=f"0.{i}5") + "\n" for i in range(1, N + 1))
    found = read("console", text)
    assert len(found.rows) == N
    assert found.reader.skipped.get("number without a name in a line with its step", 0) == N * lost
    pieces = read("console", text, sizes=[7] * (len(text) // 7))
    assert pieces.reader.skipped == found.reader.skipped


@pytest.mark.parametrize("line", ["step {i}: loss={x} sample-{k}: 0.5", "step {i}: loss={x}\n  rank {k} reward: 0.5"])
def test_a_name_that_is_another_one_at_each_step_is_given_up(line: str) -> None:
    text = "".join(line.format(i=i, x=f"0.{i}5", k=7 * i) + "\n" for i in range(1, 41))
    found = read("console", text)
    names = {name for _, cells in found.rows for name in cells}
    assert "loss" in names
    assert len(names) <= 4
    assert found.reader.skipped["number whose name changes at each step"] >= 36


def test_numbers_of_names_that_come_again_stay() -> None:
    lines = "".join(
        f"step {i}: loss={i / 64}\n  level {i % 2} reward: 0.5\n  layer 0 norm: 2.5\n" for i in range(1, 41)
    )
    found = read("console", lines)
    assert {name for _, cells in found.rows for name in cells} == {
        "loss",
        *(f"level {i} reward" for i in (0, 1)),
        "layer 0 norm",
    }
    assert not found.reader.skipped
