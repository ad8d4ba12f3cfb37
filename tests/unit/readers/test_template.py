"""Step lines in words of anyone's choosing, read through the command line; and lines with numbers that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.readers.base import Rows
from rltui.readers.console.reader import ConsoleReader

STEPS = range(1, 31)


def reported(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> dict[str, Any]:
    log = tmp_path / "train.log"
    log.write_text(text)
    code = main(["report", str(log), "--format", "json"])
    out = capsys.readouterr()
    assert code == 0, out.err
    found: dict[str, Any] = json.loads(out.out)
    return found


def values(report: dict[str, Any]) -> dict[str, tuple[int, float]]:
    return {m["key"]: (m["count"], m["last_value"]) for m in report["metrics"].values()}


STYLES = {
    "sentence": ("my-grpo @ step {i} of 900: reward 0.{i:02} and loss 1.{i:02}", {"reward": 0.30}),
    "epochs in brackets": (
        "Epoch:[1/1]({i}/900), Reward: -2.{i:02}, KL_ref: 0.003",
        {"Reward": -2.30, "KL_ref": 0.003},
    ),
    "bracket": ("[{i}/900] loss=0.{i:02} reward=-0.{i:02}", {"loss": 0.30, "reward": -0.30}),
    "assignments": ("Epoch 1/1, Step {i}/900: loss = 0.{i:02}, grad norm = 1.5", {"loss": 0.30, "grad norm": 1.5}),
    "tag": ("[RLOO] Step {i}/900 - loss: 0.{i:02} - kl: 1e-3", {"loss": 0.30, "kl": 1e-3}),
    "spread in brackets": ("Iteration {i}: avg_reward=0.{i:02} (std 0.1)", {"avg_reward": 0.30, "avg_reward std": 0.1}),
    "plus minus": ("update {i} | reward 0.{i:02} ± 0.1 | kl 0.02", {"reward": 0.30, "reward std": 0.1, "kl": 0.02}),
    "statistics": ("iter {i}: reward mean=0.{i:02} max=2.0, len mean=120.5", {"reward mean": 0.30, "len mean": 120.5}),
    "batch": ("Batch {i}/900 | Reward 0.{i:02} | Loss -1.2e-3", {"Reward": 0.30, "Loss": -1.2e-3}),
    "episode": ("Episode {i}: reward=0.{i:02}", {"reward": 0.30}),
    "padded": ("it {i:5d}   loss  0.{i:02}   tok/s 1.5k   time 00:12:31", {"loss": 0.30, "tok/s": 1500.0}),
    "arrow": ("Train Step: {i} => Loss: 0.{i:02}; Grad Norm: 1.5", {"Loss": 0.30, "Grad Norm": 1.5}),
    "glyph": ("🚀 update={i} pg_loss=0.{i:02}", {"pg_loss": 0.30}),
    "no word for it": ("[{i:04d}] KL=0.{i:02} | H=1.5", {"KL": 0.30, "H": 1.5}),
    "another language": ("Schritt {i} von 900: Belohnung=0.{i:02}, KL=0.5", {"Belohnung": 0.30, "KL": 0.5}),
    "Greek letters": (
        "Episode {i}/900 | Reward: 0.{i:02} | σ: 0.25 | ε = 0.5 | Δθ=0.1",
        {"Reward": 0.30, "σ": 0.25, "ε": 0.5, "Δθ": 0.1},
    ),
    "decimal commas": (
        "Schritt {i}: reward=0,{i:02}; loss=1,5; kl: 0,0012",
        {"reward": 0.30, "loss": 1.5, "kl": 0.0012},
    ),
    "numbers before their names": (
        "step {i}/900: 0.{i:02} mean reward, 1.5 loss, 2k tokens (took 3s)",
        {"mean reward": 0.30, "loss": 1.5, "tokens": 2000.0},
    ),
    "numbers set apart before their names": (
        "#{i:03d}  +0.{i:02} reward   -1.5 loss   7.5s",
        {"reward": 0.30, "loss": -1.5},
    ),
    "names set apart before their numbers": ("step {i} loss     0.{i:02} kl     1.5", {"loss": 0.30, "kl": 1.5}),
    "Chinese": ("步数: {i}/900 | 奖励: 0.{i:02} | 损失: 0.5", {"奖励": 0.30, "损失": 0.5}),
    "names that begin with a digit": (
        "step {i} | loss 0.{i:02} | NT[DA=0.8 5HT=0.95 2nd_kl=0.1]",
        {"5HT": 0.95, "2nd_kl": 0.1},
    ),
    "logfmt": (
        'ts=2026-03-01T10:00:01Z level=info msg="train step" step={i} loss=0.{i:02} kl=1e-3 dir="/a/b 7"',
        {"loss": 0.30, "kl": 1e-3},
    ),
    "logging": ("2026-03-01 10:00:01,5 | my.trainer | INFO | Step {i} done, score=0.{i:02}", {"score": 0.30}),
}


@pytest.mark.parametrize("style", STYLES)
def test_any_wording(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line, wanted = STYLES[style]
    noise = "Sample: 6*7 = 42, so the answer is {i}\n"
    report = reported(tmp_path, capsys, "".join(f"{line}\n{noise}".format(i=i) for i in STEPS))
    assert (report["run"]["steps"]["first"], report["run"]["steps"]["last"]) == (1, 30)
    assert report["run"]["steps"]["rows"] == 30
    found = values(report)
    for name, value in wanted.items():
        assert found[name] == (30, pytest.approx(value)), name
    if "900" in line:
        assert report["run"]["steps"]["total"] == 900


def test_numbers_below_a_step_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(
        f">> Step {i} | Time: 17.5s\n  Policy Loss: -0.{i:02}\n  KL Divergence: 0.5\n\nfoo: bar\n  x: {i}\n"
        for i in STEPS
    )
    found = values(reported(tmp_path, capsys, text))
    assert found["Policy Loss"] == (30, pytest.approx(-0.30))
    assert found["KL Divergence"] == (30, 0.5)
    assert "x" not in found, "a line of words ends what belongs to a step"


BLOCKS = {
    "one a line": "step={i}\ntrain/reward=0.{i:02}\ntrain/kl=0.5\nhere ends it\n",
    "documents": "---\nstep: {i}\nreward: 0.{i:02}\nkl: 0.5\n",
    "heading": "Iteration {i}\n  mean reward .... 0.{i:02}\n  kl ............. 0.5\n\n",
    "sections in borders": (
        "---------------\n| rollout/ |   |\n|    reward | 0.{i:02} |\n| time/ | |\n|    iterations | {i} |\n"
        "| train/ | |\n|    approx_kl | 0.5 |\n---------------\n"
    ),
    "epochs of Keras": "Epoch {i}/900\n 60/120 [===>....] - ETA: 1s - loss: 9.0 - reward: 9.0 - kl: 9.0\r"
    "120/120 [========] - 3s 25ms/step - loss: 0.1 - reward: 0.{i:02} - kl: 0.5\n",
    "epochs of Keras with a validation": "Epoch {i}/900\n120/120 [======>.] - ETA: 0s - loss: 9.0 - reward: 9.0\r"
    "120/120 [========] - 3s 25ms/step - loss: 0.1 - reward: 0.{i:02} - kl: 0.5\n",
    "epochs of Keras without a bar": "Epoch {i}/900\n20/20 - 3s - 25ms/step - loss: 0.1 - reward: 0.{i:02} - kl: 0.5\n",
    "a column of changes": (
        "     GRPO update {i}/900     \n┏━━━━━━┳━━━━━┳━━━━━┓\n┃ Metric ┃ Value ┃ Δ ┃\n┡━━━━━━╇━━━━━╇━━━━━┩\n"
        "│ reward │ 0.{i:02} │ +7.5% │\n│ kl │ 0.5 │ new │\n└──────┴─────┴─────┘\n"
    ),
    "heading with clocks": (
        "──────\n Iteration {i:>4} │ elapsed 0:{i:02}:11\n   reward            0.{i:02}\n   kl            0.5\n"
    ),
    "heading behind a tag": "=== [Reduce] - METRICS STEP {i} ===\n  reward: 0.{i:02}\n  kl: 0.5\n====\n",
}


@pytest.mark.parametrize("style", BLOCKS)
def test_blocks_of_lines(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(tmp_path, capsys, "".join(BLOCKS[style].format(i=i) for i in STEPS))
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (1, 30, 30)
    found = {name.split()[-1].split("/")[-1].removeprefix("approx_"): v for name, v in values(report).items()}
    assert found["reward"] == (30, pytest.approx(0.30))
    assert found["kl"] == (30, 0.5)


TABLES = {
    "aligned": ("  iter    reward        kl   tok/s", "{i:6d}  0.{i:02}   0.5   1200"),
    "borders": ("| step | reward | kl | note |", "| {i} | 0.{i:02} | 0.5 | - |"),
    "single blanks": ("step reward kl", "{i} 0.{i:02} 0.5"),
    "commas": ("step, reward, kl", "{i}, 0.{i:02}, 0.5"),
}


@pytest.mark.parametrize("style", TABLES)
@pytest.mark.parametrize("again", [7, 1000], ids=["heading again", "heading once"])
def test_tables_under_a_heading(style: str, again: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heading, row = TABLES[style]
    lines = ["loading the model", "rank 0 of 8"]
    for i in STEPS:
        lines += [heading] if i % again == 1 else []
        lines += [row.format(i=i), f"sample {i}: 2 + 2 = 4"]
    report = reported(tmp_path, capsys, "\n".join(lines) + "\n")
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (1, 30, 30)
    assert values(report)["reward"] == (30, pytest.approx(0.30))


@pytest.mark.parametrize("plan", ["/40", ""], ids=["planned", "no plan"])
@pytest.mark.parametrize("steps", [40, 1], ids=["whole", "one step"])
def test_what_counts_within_a_step_is_no_step(
    plan: str, steps: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Painted one over the other; what is painted last counts. One step alone tells only with its plan which it is."""
    text = "".join(
        f"\r\x1b[2Kstep {i}{plan} · micro {m}/4 · reward {i + m / 8} · kl {m / 8}" + "\n" * (m == 4)
        for i in range(1, steps + 1)
        for m in range(1, 5)
    )
    (tmp_path / "train.log").write_text(text)
    code = main(["export", str(tmp_path / "train.log"), "--format", "csv"])
    told = capsys.readouterr().out
    if steps == 1:
        assert code == 2 or not plan
        return
    rows = [line.split(",") for line in told.splitlines()]
    at = [rows[0].index(name) for name in ("step", "reward_mean", "kl_ref")]
    assert [[float(row[i]) for i in at] for row in rows[1:]] == [[i, i + 0.5, 0.5] for i in range(1, steps + 1)]


def test_a_stage_called_step_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(f"Step 3: RLHF [{i}/900] loss=0.5 reward=0.{i:02}\n" for i in STEPS)
    report = reported(tmp_path, capsys, text)
    assert report["run"]["steps"] == {"first": 1, "last": 30, "total": 900, "rows": 30}


def test_decimal_commas_of_any_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that shows what its commas mean tells it for those that do not, `1,125`."""
    rows = [(i, i / 8, 3 - i / 16) for i in range(1, 31)]
    text = "".join(f"Schritt {i}: Verlust {a:.3f} | Belohnung {b:.4f}\n".replace(".", ",") for i, a, b in rows)
    (tmp_path / "train.log").write_text(text)
    assert main(["export", str(tmp_path / "train.log"), "--format", "csv"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "step,total_loss,reward_mean"
    assert [tuple(map(float, line.split(","))) for line in told[1:]] == rows


def test_commands_in_a_line_are_no_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"""[STEP] step={i} reward=0.5 cmd=push queue '{{"id":"job{i}","loop":true,"count":{i * 1000}}}' words"""
        + " of its own" * (i % 7)
        for i in STEPS
    ]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    main(["export", str(tmp_path / "train.log"), "--format", "csv"])
    assert "count" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["RL Training", "GRPO"])
def test_a_bar_of_training_whose_numbers_have_names_of_their_own(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(f"\r{name}:  5%|#   | {i}/900 [00:10<01:30,  1.0it/s, R=0.{i:02}, U=7.5%]" for i in STEPS)
    report = reported(tmp_path, capsys, text)
    assert report["run"]["steps"]["last"] == 30
    assert values(report)["R"][1] == pytest.approx(0.30)


def test_a_bar_of_data_says_nothing_of_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(f"\rTokenizing train:  5%|#   | {i}/900 [00:10<01:30,  1.0it/s, batch=0.{i:02}]" for i in STEPS)
    (tmp_path / "train.log").write_text(text + "\nstep 1: loss=0.5\nstep 2: loss=0.5\nstep 3: loss=0.5\n")
    assert main(["export", str(tmp_path / "train.log"), "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "step,total_loss"


def test_batches_counted_anew_in_each_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"Epoch {e}/3 Batch {b}/10: loss=0.5 reward=0.{e}{b % 10}" for e in (1, 2, 3) for b in range(1, 11)]
    report = reported(tmp_path, capsys, "\n".join(lines) + "\n")
    assert report["run"]["steps"] == {"first": 1, "last": 30, "total": 30, "rows": 30}
    assert report["run"]["restarts"] == []


def test_numbers_behind_a_bar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(f"\rTraining:  5%|#   | {i}/900 [00:10<01:30,  1.0it/s, loss=0.{i:02}, reward=0.5]" for i in STEPS)
    report = reported(tmp_path, capsys, text)
    assert report["run"]["steps"]["last"] == 30
    assert values(report)["loss"][1] == pytest.approx(0.30)


EPOCH_BARS = {
    "with their plan": ("Epoch {}/3", 1),
    "in brackets": ("GRPO Epoch [{}/3]", 1),
    "from 0": ("Epoch {}", 0),
    "of training": ("Epoch {} (train)", 1),
}


def epoch_bar(name: str, done: int, total: int, loss: float) -> str:
    share = 100 * done // total
    return f"\r{name}: {share:3}%|##   | {done}/{total} [00:10<01:30,  1.0it/s, loss={loss:.3f}, reward=0.5]"


@pytest.mark.parametrize("kind", EPOCH_BARS)
def test_numbers_behind_a_bar_of_each_epoch(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, first = EPOCH_BARS[kind]
    text = ""
    for epoch in range(3):
        title = name.format(first + epoch)
        text += epoch_bar(title, 40, 40, 9.0) if epoch else ""  # as Lightning does
        text += "".join(epoch_bar(title, i, 40, 2 - (40 * epoch + i) / 100) for i in range(1, 41))
        text += "".join(epoch_bar(f"Epoch {epoch} validation", i, 5, 7.0) for i in range(1, 6)) + "\n"
    report = reported(tmp_path, capsys, text)
    planned = 120 if "/3" in name else None
    assert report["run"]["steps"] == {"first": 1, "last": 120, "total": planned, "rows": 120}
    assert report["metrics"]["total_loss"]["first_value"] == pytest.approx(1.99)
    assert values(report)["loss"] == (120, pytest.approx(0.8))
    assert report["metrics"]["total_loss"]["max"] == pytest.approx(1.99)


def test_bars_of_batches_do_not_mix_with_lines_that_state_their_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "".join(
        epoch_bar("Epoch 1/1", i, 200, 0.5) + (f"\nstep {i // 4} | reward: 0.{i // 4:02} | kl: 0.01\n" * (i % 4 == 0))
        for i in range(1, 201)
    )
    report = reported(tmp_path, capsys, text)
    assert (report["run"]["steps"]["last"], report["run"]["steps"]["rows"]) == (50, 50)
    assert set(values(report)) == {"reward", "kl"}
    assert "in a bar that counts batches" in report["run"]["sources"][0]["note"]


NO_STEPS = {
    "problems": "Problem {i}/30: total = {i}, loss of generality 0.5",
    "shards": "Loading checkpoint shards {i}/30 speed=3.2MB/s",
    "examples": "Processed {i}000/30000 examples, 12.3 ex/s",
    "evaluation batches": "Eval batch {i}/30: accuracy=0.5 loss=0.2",
    "steps of a proof": "Step {i}: we find x = {i} and y = 3",
    "a block in an answer": "Answer:\nstep: 2\nreward: {i}\nkl: 9\nend of it",
    "a table in an answer": "| step | reward |\n|---|---|\n| 1 | {i} |\n| 2 | {i}0 |\nend of it",
    "a heading in an answer": "Step {i}\n  x: 4\n  y: 5\nso it is",
    "agents of one of many workers": "(AgentWorker pid={i}) Step {i} - env response: reward=0, done=0",
}


def test_a_share_that_happens_to_rise_is_no_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many of a step's samples were valid, behind their rewards: 0, 1, 2 of 2 in the first three lines."""
    valid = [0, 1, 2, 2, 1, 0, 2, 0, 1, 2]
    text = "".join(
        f"  Step {i}: sampling 2 answers ...\n  Rewards: [-1.0, 0.{i:02}] ({valid[i % 10]}/2 valid)\n"
        + (f"GRPO step {i + 1}/500 | loss: 0.1 | mean_reward: 0.{i:02}\n" if i % 5 == 4 else "")
        for i in range(60)
    )
    report = reported(tmp_path, capsys, text)
    assert report["run"]["steps"] == {"first": 5, "last": 60, "total": 500, "rows": 12}
    assert values(report) == {"loss": (12, 0.1), "mean_reward": (12, 0.59)}


@pytest.mark.parametrize("kind", NO_STEPS)
def test_numbers_that_are_no_steps(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They stand in a log of training whose steps are stated otherwise: none of them becomes a metric."""
    text = "".join(
        f"{NO_STEPS[kind].format(i=i)}\n" + (f"[train] iteration={i} | reward=0.5 | loss=0.1\n" if i % 3 == 0 else "")
        for i in range(1, 61)
    )
    report = reported(tmp_path, capsys, text)
    assert report["run"]["steps"]["rows"] == 20
    assert set(values(report)) == {"reward", "loss"}


@pytest.mark.parametrize("style", BLOCKS)
def test_blocks_that_arrive_in_pieces(style: str) -> None:
    """A log that is looked at after each piece, in the middle of lines too, gives what the whole gives."""
    text = "".join(BLOCKS[style].format(i=i) for i in STEPS[:12]).encode()
    whole = cells_of(text, [len(text)])
    assert len(whole) >= 2 * 12
    for size in (7, 31, 100):
        assert cells_of(text, [*range(size, len(text), size), len(text)]) == whole, size


def cells_of(text: bytes, cuts: list[int]) -> dict[tuple[int, str], float]:
    """The cells that a reader gives, the newest of each step and key."""
    reader, at = ConsoleReader(), 0
    out: dict[tuple[int, str], float] = {}
    for cut in cuts:
        for record in [*reader.feed(text[at:cut]), *reader.finish()]:
            if isinstance(record, Rows):
                for key, column in record.values.items():
                    out |= {(s, key): x for s, x in zip(record.steps, column, strict=True) if x == x}
        at = cut
    return out


def test_a_quiet_look_at_a_line_without_its_end_does_not_lose_it() -> None:
    reader = ConsoleReader()
    reader.feed(b"".join(b"[%03d] kl=0.5 | loss=0.%d\n" % (i, i) for i in range(1, 8)) + b"[008] kl=0.5 | loss=0.8")
    before = reader.rest()
    records = [*before, *reader.feed(b"\n[009] kl=0.5 | loss=0.9\n"), *reader.rest()]
    steps = [step for record in records if isinstance(record, Rows) for step in record.steps]
    assert steps == list(range(1, 10))


def test_labels_of_a_step_line_differ_from_step_to_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A word where others have a number says what a step was about: it makes no line of another form. Lines that say
    that they are of an evaluation stay apart."""
    names = ("goal_kk_01", "term_mu_04", "coop", "lang_7b")
    lines = [
        f"Ep {i:03d} | scenario={names[i * i % 4]} | mean_ret={-1 + i / 50:.3f} | loss={0.1 + i / 1000:.4f} | kl=0.1"
        + (f"\nEp {i:03d} | scenario=eval | mean_ret=9.0 | loss=9.0 | kl=9.0" if i % 5 == 0 else "")
        for i in range(40)
    ]
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["step"] for row in rows] == list(range(40))
    assert [row["reward_mean"] for row in rows] == [round(-1 + i / 50, 3) for i in range(40)]
