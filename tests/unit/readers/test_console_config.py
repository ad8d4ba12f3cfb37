"""Config that trainers and scripts say in lines of their own as training begins."""

from __future__ import annotations

import json

import pytest

from rltui.readers.config_file import read_config
from rltui.readers.console.config import PrintedPairs
from tests.unit.readers.reading import read

BANNER = """***** Running training *****
  Num examples = 7,473
  Num Epochs = 1
  Instantaneous batch size per device = 2
  Total train batch size (w. parallel, distributed & accumulation) = 4
  Gradient Accumulation steps = 2
  Total optimization steps = 1,200
"""
UNSLOTH = """==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1
   \\\\   /|    Num examples = 7,473 | Num Epochs = 1 | Total steps = 1,200
O^O/ \\_/ \\    Batch size per device = 2 | Gradient accumulation steps = 2
"""
SAID = {
    "num_train_epochs": 1,
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 2,
    "max_steps": 1200,
}
TRL = "{'loss': 0.5, 'reward': 0.25, 'epoch': 0.5}\r 50%|#####     | 1/2 [00:01<00:01]\n"


def values(format: str, text: str) -> dict[str, object]:
    return {key: value for record in read(format, text).configs for key, value in record.values.items()}


@pytest.mark.parametrize("format", ["console", "trl-console"])
@pytest.mark.parametrize("text", [BANNER, UNSLOTH], ids=["transformers", "Unsloth"])
def test_what_a_trainer_says_as_it_begins(format: str, text: str) -> None:
    assert values(format, text + TRL) == SAID


@pytest.mark.parametrize("format", ["console", "trl-console"])
def test_a_line_of_settings(format: str) -> None:
    line = "GRPO: num_generations=4, max_steps=75, lr=3e-06, beta=0.04, bf16=True, name=x\n"
    wanted = {"num_generations": 4, "max_steps": 75, "lr": 3e-06, "beta": 0.04, "bf16": True, "name": "x"}
    assert values(format, line + TRL) == wanted
    assert values(format, TRL.replace("}", ", 'global_step/max_steps': '1/2'}") + line) == {}, "behind the first step"
    assert values(format, "AdamW(lr=3e-06)\n" + TRL) == {}, "too little"


def test_lines_that_are_no_settings() -> None:
    assert values("console", "loading took 3 steps = fine\nFree steps = 5 x\nNum examples = 12\n" + TRL) == {}
    many = "".join(f"i={i}, lr=0.{i}, loss=0.5\n" for i in range(1, 40))
    assert len(read("console", many).configs) <= 8, "a loop that logs this way floods no config"


def test_arguments_of_rays_worker_are_no_config() -> None:
    metadata = {"args": ["--node-ip-address=1.2.3.4", "--startup-token=1", "--webui=x"], "program": "train.py"}
    assert read_config(json.dumps(metadata).encode(), "wandb-metadata.json") is not None
    metadata["program"] = "/env/lib/python3.10/site-packages/ray/_private/workers/default_worker.py"
    assert read_config(json.dumps(metadata).encode(), "wandb-metadata.json") is None


@pytest.mark.parametrize(
    "line",
    [
        "Training Batches Processed:   5%|5         | 3/60 [00:10<03:00,  3.1s/it]",
        "\x1b[36m(skyrl_entrypoint pid=7)\x1b[0m Training Batches Processed:   5%|5     | 3/60 [00:10<03:00,  3.1s/it]",
        "(TaskRunner pid=7, ip=10.0.0.2) Training Progress:   5%|5     | 3/60 [00:10<03:00,  3.1s/it]",
    ],
)
def test_a_bar_that_counts_training_steps_tells_the_plan(line: str) -> None:
    (note,) = read("console", line + "\n").notes
    assert (note.kind, note.step, note.total) == ("progress", 3, 60)


def test_a_bar_of_one_of_many_processes_tells_none() -> None:
    line = "(WorkerDict pid=7)  5%|5     | 3/60 [00:10<03:00,  3.1s/it]\n"
    assert read("console", line).notes == []


NESTED = {
    "actor": {"optim": {"lr": 1e-6}, "clip_ratio": 0.2, "kl_loss_coef": 0.01},
    "rollout": {"n": 8, "temperature": 1.0},
    "trainer": {"total_training_steps": 240},
}


@pytest.mark.parametrize("written", [str(NESTED), json.dumps(NESTED), f"(TaskRunner pid=3312) {NESTED}"])
def test_sections_in_a_line_hold_the_settings(written: str) -> None:
    found = values("console", written + "\nstep:1 - actor/pg_loss:0.5 - critic/score/mean:0.25\n")
    assert (found["actor.optim.lr"], found["rollout.n"], found["trainer.total_training_steps"]) == (1e-6, 8, 240)


@pytest.mark.parametrize(
    "row",
    [
        {"train": {"loss": 0.5, "reward": 0.25, "lr": 1e-6}, "eval": {"accuracy": 0.5, "temperature": 1.0}},
        {"step": 3, "optim": {"lr": 1e-6, "clip_ratio": 0.2}, "rollout": {"n": 8, "temperature": 1.0}},
    ],
)
def test_sections_of_measurements_are_no_settings(row: dict[str, object]) -> None:
    assert values("console", f"{row}\n" + TRL) == {}


def test_a_later_launch_brings_its_own_settings() -> None:
    """Settings behind the first steps count if the steps begin anew below them, and else not."""
    first, later = "config: lr=5e-6 kl_coef=0.001 group_size=8\n", "config: lr=1e-6 kl_coef=0.01 group_size=8\n"
    steps = "".join(f"step {n}/300 | reward 0.{n:02} | lr=3e-6 | kl 0.01\n" for n in range(1, 60))
    assert values("console", first + steps + later + steps)["lr"] == 1e-6
    go_on = "".join(f"step {n}/300 | reward 0.{n:02} | kl 0.01\n" for n in range(60, 90))
    assert values("console", first + steps + later + go_on)["lr"] == 5e-6


def test_a_dict_on_several_lines_is_no_page_of_settings() -> None:
    text = "{'data': {'max_prompt_length': 512,\n          'train_batch_size': 128},\n"
    text += " 'trainer': {'save_freq': 20,\n             'total_training_steps': 400}}\n"
    found = values("console", text + "step:1 - actor/pg_loss:0.5 - critic/score/mean:0.25\n")
    assert found == {
        "data.max_prompt_length": 512,
        "data.train_batch_size": 128,
        "trainer.save_freq": 20,
        "trainer.total_training_steps": 400,
    }


def test_the_name_of_a_part_is_no_setting() -> None:
    """`"model": {` names a part; the settings in it are on the lines below."""
    pairs = PrintedPairs(1)
    lines = ('"model": {', '  "model_path": "gpt2",', '  "lr": 0.00005,', "},", '"sizes": [', '"batch_size": 16', "}")
    assert all(pairs.add(line) for line in lines)
    found = pairs.config()
    assert found is not None
    assert found.values == {"model_path": "gpt2", "lr": 5e-05, "batch_size": 16}
