"""Checkpoints by the names of directories, and whether they are whole."""

from __future__ import annotations

import pytest

from rltui.run.checkpoints import find, named_in, step_of


@pytest.mark.parametrize(
    ("path", "step"),
    [
        ("ckpts/proj/exp/global_step_800", 800),
        ("out/actor/global_step_50", 50),
        ("outputs/checkpoint-300", 300),
        ("ckpt/_actor/global_step120", 120),
        ("ckpt/global_step120_hf", 120),
        ("ckpt/best_global_step90", 90),
        ("results/grpo/step_40", 40),
        ("results/grpo/tmp_step_40", None),
        ("save/iter_0000050", 50),
        ("run/weights/step_20", 20),
        ("run/rollouts/step_20", None),
        ("exp/default/epoch1epochstep3globalstep13", 13),
        ("outputs/checkpoint-300/optimizer", None),
        ("checkpoint", None),
        ("ckpt/ckpt-120", 120),
        ("ckpts/model_20", 20),
    ],
)
def test_step_in_a_name(path: str, step: int | None) -> None:
    assert step_of(path) == step


def found(contents: dict[str, dict[str, int]]) -> dict[int, bool | None]:
    files = [(f"{folder}/{name}", size) for folder, inside in contents.items() for name, size in inside.items()]
    return {c.step: c.complete for c in find(contents, files)}


WHOLE = {"model.safetensors": 1000, "optimizer.pt": 2000, "trainer_state.json": 10}


def test_whole_and_cut_off() -> None:
    out = found(
        {
            "o/checkpoint-1": WHOLE,
            "o/checkpoint-2": WHOLE,
            "o/checkpoint-3": {**WHOLE, "optimizer.pt": 100},
            "o/checkpoint-4": {"model.safetensors": 1000, "optimizer.pt": 2000},
            "o/checkpoint-5": {"trainer_state.json": 10},
        }
    )
    assert out == {1: True, 2: True, 3: False, 4: False, 5: False}


def test_without_weights_anywhere_nobody_can_tell() -> None:
    assert found({"o/checkpoint-1": {"trainer_state.json": 9}, "o/checkpoint-2": {}}) == {1: None, 2: None}


def test_nested_files_belong_to_their_checkpoint_and_one_step_is_one_checkpoint() -> None:
    files = [(f"d/global_step_{n}/actor/model_rank_{r}.pt", 500) for n in (10, 20) for r in (0, 1)]
    assert [(c.step, c.path, c.complete) for c in find(["d/global_step_10", "d/global_step_20"], files)] == [
        (10, "d/global_step_10", True),
        (20, "d/global_step_20", True),
    ]
    twice = find(["d/critic/global_step_5", "d/actor/global_step_5"], [])
    assert [c.path for c in twice] == ["d/actor/global_step_5"]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("[Rank 0] Saved model to /c/global_step_50/actor/model_world_size_8_rank_0.pt", (50, "/c/global_step_50")),
        ("local_global_step_folder: ckpt/global_step_50", (50, "ckpt/global_step_50")),
        ("[Torch] Saved ./c/_actor/global_step165/mp_rank_00_model_states.pt.", (165, "./c/_actor/global_step165")),
        ("Saving model checkpoint to 'out/checkpoint-400'", (400, "out/checkpoint-400")),
        ("Saved checkpoint at step 50", None),
        ("Saved model to /home/u/checkpoints/notes.txt", None),
    ],
)
def test_what_a_line_names(line: str, named: tuple[int, str] | None) -> None:
    assert named_in(line) == named


@pytest.mark.parametrize(
    ("path", "step"),
    [
        *((f"ckpt/{name}", 20) for name in ("step-20", "step_20", "step=20", "iter-20", "update_20", "my-run_step_20")),
        *((f"out/{folder}/20", 20) for folder in ("ckpts", "checkpoints", "saved", "weights")),
        *(
            (path, None)
            for path in ("rollouts/step_20", "samples/20", "checkpoints/20241103", "ckpt/epoch-2", "ckpt/best")
        ),
    ],
)
def test_directories_of_home_made_loops(path: str, step: int | None) -> None:
    assert step_of(path) == step


def test_a_file_may_be_a_whole_checkpoint() -> None:
    files = [(f"run/ckpts/step_{n:06}.pt", 900 if n < 40 else 100) for n in (20, 30, 40)]
    files += [("run/other/step_000050.pt", 900), ("run/ckpts/notes.txt", 5)]
    assert [(c.step, c.path, c.complete) for c in find(["run", "run/ckpts", "run/other"], files)] == [
        (20, "run/ckpts/step_000020.pt", True),
        (30, "run/ckpts/step_000030.pt", True),
        (40, "run/ckpts/step_000040.pt", False),
    ]
    assert find(["run"], files) == [], "they lie in the folder of another run"
    assert named_in("09:27:59 saved ckpts/step_000120.pt in 3.1 s") == (120, "ckpts/step_000120.pt")
    assert named_in("08:29:16 saved ckpt/ckpt-20") == (20, "ckpt/ckpt-20")
