"""What the code of a notebook tells of the training whose table it shows: its trainer, and where that comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import reported

Cell = tuple[str, list[dict[str, Any]]]


def table(last: int = 20, total: int = 20, loss: float = 1.0) -> dict[str, Any]:
    rows = "".join(f"<tr><td>{i}</td><td>{loss / i:.6f}</td></tr>" for i in range(1, last + 1))
    html = (
        f"<progress value='{last}' max='{total}'></progress><table><tr><th>Step</th><th>Training Loss</th></tr>{rows}"
    )
    return {"output_type": "display_data", "data": {"text/html": [html + "</table>"], "text/plain": ["<HTML>"]}}


def error(name: str = "NameError") -> dict[str, Any]:
    trace = ["---------", f"{name}   Traceback (most recent call last)", f"{name}: name 'x' is not defined"]
    return {"output_type": "error", "ename": name, "evalue": "name 'x' is not defined", "traceback": trace}


def run_of(folder: Path, *cells: Cell) -> dict[str, Any]:
    made = [
        {"cell_type": "code", "metadata": {}, "source": source.splitlines(keepends=True), "outputs": outputs}
        for source, outputs in cells
    ]
    document = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "train.ipynb").write_text(json.dumps(document))
    found: dict[str, Any] = reported(folder)["run"]
    return found


def told(folder: Path, *cells: Cell) -> tuple[str | None, str | None]:
    run = run_of(folder, *cells)
    assert run["steps"]["rows"] == 20
    return run["framework"], run["algorithm"]


@pytest.mark.parametrize("name", ["GRPO", "DPO", "PPO", "RLOO", "KTO", "ORPO"])
@pytest.mark.parametrize(
    "make",
    [
        "!pip install trl\nfrom trl import {0}Config, {0}Trainer\ntrainer = {0}Trainer(model, args={0}Config())\n",
        "import trl\ntrainer = trl.{0}Trainer(\n    model=model,\n)\n",
        "%%time\nfrom trl import {0}Trainer\nif True:\n    trainer = {0}Trainer(model)\n",
    ],
)
def test_the_trainer_of_an_earlier_cell(make: str, name: str, tmp_path: Path) -> None:
    cells: tuple[Cell, ...] = ((make.format(name), []), ("trainer.train()", [table()]))
    assert told(tmp_path, *cells) == ("trl", name)


def test_a_trainer_that_is_made_and_run_in_one_cell(tmp_path: Path) -> None:
    cells: tuple[Cell, ...] = (
        ("from unsloth import FastLanguageModel", []),
        ("from trl import GRPOTrainer\nGRPOTrainer(model).train()", [table()]),
    )
    assert told(tmp_path, *cells) == ("unsloth", "GRPO")


def test_the_trainer_that_is_run_counts(tmp_path: Path) -> None:
    make = "from trl import SFTTrainer, GRPOTrainer, DPOTrainer\nb = GRPOTrainer(m)\na = DPOTrainer(m)\n"
    assert told(tmp_path, (make, []), ("b.train()", [table()])) == ("trl", "GRPO")
    warm: Cell = ("s = SFTTrainer(m)\ns.train()", [table(loss=2.0)])
    assert told(tmp_path, (make, []), warm, ("b.train()", [table()])) == ("trl", "GRPO")


MAKE: Cell = ("from trl import GRPOTrainer\ntrainer = GRPOTrainer(m)", [])
OTHERS = {
    "a comment": "# no PPOTrainer(model) here\ntrainer = Trainer(model)\n",
    "a text": 'print("PPOTrainer(model)")\ntrainer = Trainer(model)\n',
    "only imported": "from mine import PPOTrainer\ntrainer = Trainer(model)\n",
    "in a function that nobody calls": "def make():\n    return PPOTrainer(model)\ntrainer = Trainer(model)\n",
    "a class of one's own": "class PPOTrainer(Trainer):\n    pass\ntrainer = Trainer(model)\n",
    "no Python": "trainer = PPOTrainer(model\n",
}


@pytest.mark.parametrize("source", OTHERS.values(), ids=OTHERS)
def test_a_trainer_that_is_only_named(source: str, tmp_path: Path) -> None:
    assert told(tmp_path, (source, []), ("trainer.train()", [table()])) == (None, None)


@pytest.mark.parametrize("magic", ["%%writefile train.py", "%%script false", "%%python3", "%%html", "%%bash --bg"])
def test_a_cell_that_is_no_code_of_the_notebook(magic: str, tmp_path: Path) -> None:
    other: Cell = (f"{magic}\nfrom trl import PPOTrainer\ntrainer = PPOTrainer(m)\ntrainer.train()", [])
    assert told(tmp_path, MAKE, other, ("trainer.train()", [table()])) == ("trl", "GRPO")


@pytest.mark.parametrize("magic", ["%%time", "%%capture out", "\n%%timeit -n1"])
def test_a_cell_that_is_run_under_a_magic(magic: str, tmp_path: Path) -> None:
    cells: tuple[Cell, ...] = ((f"{magic}\n{MAKE[0]}", []), ("trainer.train()", [table()]))
    assert told(tmp_path, *cells) == ("trl", "GRPO")


@pytest.mark.parametrize(
    "make",
    [
        "t: GRPOTrainer = GRPOTrainer(m)\ns = SFTTrainer(m)",
        "t, s = GRPOTrainer(m), SFTTrainer(m)",
        "(t, s) = (GRPOTrainer(m), SFTTrainer(m))",
        "if (t := GRPOTrainer(m)) is not None:\n    s = SFTTrainer(m)",
    ],
)
def test_a_trainer_that_is_named_in_another_way(make: str, tmp_path: Path) -> None:
    assert told(tmp_path, (f"import trl\n{make}", []), ("t.train()", [table()])) == ("trl", "GRPO")


def test_a_trainer_that_is_made_after_the_training(tmp_path: Path) -> None:
    cells: tuple[Cell, ...] = (
        ("t = Trainer(m)\nt.train()", [table()]),
        ("from trl import PPOTrainer\nPPOTrainer(m)", []),
    )
    assert told(tmp_path, *cells) == (None, None)


@pytest.mark.parametrize("above", [[("x", [error()])], [("x", [error("ImportError")]), ("y", [error()])]])
def test_an_error_in_an_early_cell_ends_no_run(above: list[Cell], tmp_path: Path) -> None:
    run = run_of(tmp_path, *above, MAKE, ("trainer.train()", [table()]))
    assert run["state"] != "crashed"


def test_an_error_that_a_later_training_gets_over(tmp_path: Path) -> None:
    run = run_of(tmp_path, MAKE, ("trainer.train()", [table(8, 20), error()]), ("trainer.train()", [table()]))
    assert (run["steps"]["rows"], run["state"] == "crashed") == (20, False)


def test_an_error_of_the_training_still_ends_it(tmp_path: Path) -> None:
    run = run_of(tmp_path, MAKE, ("trainer.train()", [table(8, 20), error("RuntimeError")]))
    assert (run["steps"]["rows"], run["state"]) == (8, "crashed")
