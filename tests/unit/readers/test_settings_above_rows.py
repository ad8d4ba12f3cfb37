"""Settings that are printed above the rows, one on a line: `total_steps: 60` begins no step."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts, read
from tests.unit.readers.reported import reported
from tests.unit.reported import told

ROWS = 40
STYLES = {
    "a count without a name": "{i:4d} | reward {r:.3f} | loss {l:.4f} | KL {k:.5f}",
    "a name of its own": "[{i}] reward: {r:.3f}, loss: {l:.4f}, kl: {k:.5f}",
    "a named step": "step {i} reward={r:.3f} loss={l:.4f} kl={k:.5f}",
}
SETTINGS = (
    *("total_steps: 40", "max_steps: 40", "warmup_steps: 10", "save_steps = 50", "logging_steps: 1"),
    *(
        "gradient_accumulation_steps: 4",
        "num_steps: 40",
        "eval_steps: 20",
        "total_training_steps=40",
        *("max_iterations: 40", "start_step: 0", "resume_step: 0"),
    ),
)


def write(folder: Path, style: str, above: str) -> Path:
    lines = [style.format(i=i, r=0.1 + i / 60 + (i * 7 % 5) / 100, l=1 / i, k=i / 9000) for i in range(1, ROWS + 1)]
    (folder / "train.log").write_text("\n".join(["Config:", "  lr: 1e-06", above, "  kl_coef: 0.05", *lines, ""]))
    return folder


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_every_row_below_a_setting_is_read(style: str, setting: str, tmp_path: Path) -> None:
    report = told(write(tmp_path, style, f"  {setting}"))[2]
    steps = report["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (1, ROWS, ROWS)
    assert {"reward_mean", "kl_ref"} <= report["metrics"].keys()


@pytest.mark.parametrize("title", ["Total steps: {}", "--- Step {} ---", "total_timesteps: {}", "steps: {}"])
def test_a_title_that_counts_still_begins_a_block(title: str, tmp_path: Path) -> None:
    text = "".join(
        f"{title.format(64 * i)}\n  reward: {0.1 + i / 60:.3f}\n  loss: {1 / i:.4f}\n" for i in range(1, ROWS + 1)
    )
    (tmp_path / "train.log").write_text(text)
    steps = told(tmp_path)[2]["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (64, 64 * ROWS, ROWS)


COUNTERS = (
    *("steps: 40", "step: 0", "batch: 64", "epoch: 1", "train_steps: 40", "global_batch: 256", "rollout: 8"),
    "iterations: 40",
)
OTHERS = ("model: Qwen/Qwen2.5-1.5B", "lr: 1e-06", "kl_coef: 0.05", "seed: 7")
LAYOUTS = {
    "pairs": "{name}: {value}",
    "a list": "  - {name}: {value}",
    "assignments": "{name} = {value}",
    "a frame": "| {name} | {value} |",
    "a gap": "{name:<20}{value}",
    "dots": "{name:.<20} {value}",
    "a logger's": "2026-01-01 10:00:00,123 INFO {name}: {value}",
}


def among(place: int, setting: str, layout: str = "{name}: {value}") -> list[str]:
    """Lines of settings, one of them at this place."""
    told = [pair.split(": ") for pair in (*OTHERS[:place], setting, *OTHERS[place:])]
    return [layout.format(name=name, value=value) for name, value in told]


def rows(style: str) -> list[str]:
    return [style.format(i=i, r=0.1 + i / 60 + (i * 7 % 5) / 100, l=1 / i, k=i / 9000) for i in range(1, ROWS + 1)]


def steps_of(lines: list[str], folder: Path) -> tuple[int, int, int]:
    (folder / "train.log").write_text("\n".join([*lines, ""]))
    steps = reported(folder)["run"]["steps"]
    return steps["first"], steps["last"], steps["rows"]


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize("style", [*list(STYLES.values())[:2], "{i}: reward={r:.3f} loss={l:.4f}"])
def test_the_name_of_a_counter_among_settings_heads_no_rows(style: str, counter: str, tmp_path: Path) -> None:
    assert steps_of([*among(2, counter), *rows(style)], tmp_path) == (1, ROWS, ROWS)


@pytest.mark.parametrize("place", [0, 4])
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_settings_in_any_layout(layout: str, place: int, tmp_path: Path) -> None:
    lead = "2026-01-01 10:00:01,123 INFO " if "INFO" in layout else ""
    style = lead + STYLES["a count without a name"]
    assert steps_of([*among(place, "steps: 40", layout), *rows(style)], tmp_path) == (1, ROWS, ROWS)


def test_other_words_between_settings_and_rows(tmp_path: Path) -> None:
    words = ["=" * 20, "Loaded 7473 examples", "Training starts"]
    assert steps_of([*among(2, "steps: 40"), *words, *rows(STYLES["a name of its own"])], tmp_path) == (1, ROWS, ROWS)


def test_settings_above_rows_in_pieces() -> None:
    text = "\n".join([*among(2, "steps: 40"), *rows(STYLES["a count without a name"])[:8], ""])
    whole = read("console", text).rows
    assert [step for step, _ in whole] == list(range(1, 9))
    for cut in cuts(text.encode()):
        assert read("console", text, [cut]).rows == whole, cut


BLOCKS = {
    "blocks below settings": (among(4, "num_steps: 40"), "steps: {i}", ()),
    "settings in each block": ([], "steps: {i}", ("lr: 1e-06", "beta: 0.1")),
    "numbered answers in each block": (
        list(OTHERS),
        "step: {i}",
        [f"[{k}] reward: 0.{k}, loss: 0.1" for k in range(1, 9)],
    ),
    "numbered parts in each block": (list(OTHERS), "iteration: {i}", [f"{k}: loss=0.{k} kl=0.01" for k in range(4)]),
    "nothing else in each block": (list(OTHERS), "step: {i}", ()),
}


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(("above", "head", "inner"), BLOCKS.values(), ids=BLOCKS)
def test_a_count_below_settings_still_begins_a_block(
    above: list[str], head: str, inner: tuple[str, ...], first: int, tmp_path: Path
) -> None:
    blocks = [
        line
        for i in range(first, first + 30)
        for line in (head.format(i=i), *inner, f"mean_reward: {0.1 + i / 60:.3f}", f"policy_loss: {1 / (i + 1):.4f}")
    ]
    assert steps_of([*above, *blocks], tmp_path) == (first, first + 29, 30)
    assert "reward_mean" in reported(tmp_path)["metrics"]


def test_settings_in_an_answer_are_read_as_before(tmp_path: Path) -> None:
    answer = ["Answer:", *among(2, "steps: 3"), "1 | reward 0.5 | loss 0.2", "2 | reward 0.5 | loss 0.1"]
    lines = [line for i in range(1, 21) for line in (f"step {i} reward={i / 60:.3f} loss={1 / i:.3f}", *answer)]
    assert steps_of(lines, tmp_path) == (1, 20, 20)
