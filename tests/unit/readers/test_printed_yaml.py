"""A config printed as YAML before the first step."""

from __future__ import annotations

import pytest

from rltui.readers.base import ConfigRecord
from tests.unit.readers.reading import read

YAML = (
    "exp_name: rlvr\n"
    "rollout_batch_size: 64\n"
    "actor_train:\n"
    "  training_args:\n"
    "    learning_rate: 1.0e-06\n"
    "    betas:\n"
    "    - 0.9\n"
    "    - 0.95\n"
    "init_kl_coef: 1e-3\n"
    "pretrain: ${model}\n"
    "model: Qwen\n"
)
VALUES = {
    "exp_name": "rlvr",
    "rollout_batch_size": 64,
    "actor_train.training_args.learning_rate": 1e-6,
    "actor_train.training_args.betas": [0.9, 0.95],
    "init_kl_coef": 1e-3,
    "pretrain": "Qwen",
    "model": "Qwen",
}
STEP = "Step 1/3 | loss 0.5 | reward 0.25\n"


def found(text: str, *sizes: int) -> list[dict[str, object]]:
    return [record.values for record in read("console", text, sizes).configs]


@pytest.mark.parametrize(
    "text",
    [
        YAML + STEP,
        "INFO:torchtune.utils._logging:Running Recipe with resolved config:\n\n"
        + YAML
        + "\nLoading the model\n"
        + STEP,
        "2026-01-02 03:04:05.678 | INFO     | skyrl.train.entrypoints.main_base:run:258 - " + YAML + "done\n" + STEP,
        "\x1b[36m(main pid=7)\x1b[0m "
        + YAML.replace("\n", "\n\x1b[36m(main pid=7)\x1b[0m ", YAML.count("\n") - 1)
        + "(Worker pid=8) loading\n(main pid=7) ready to go\n"
        + STEP,
        YAML,
    ],
    ids=["bare", "behind a heading", "behind a logger", "behind Ray's prefix", "at the end"],
)
def test_a_printed_document(text: str) -> None:
    assert VALUES in found(text)
    assert VALUES in found(text, *[7] * (len(text.encode()) // 7))


def test_lines_of_key_and_value_are_no_config() -> None:
    flat = "".join(f"loading_{i}: done in {i} s\n" for i in range(30))
    assert found(flat + STEP) == []
    assert found("epoch: 1\n  loss: 0.5\n" + STEP) == []


def test_nothing_is_looked_for_behind_the_first_step() -> None:
    assert found(STEP + YAML) == []


def test_a_broken_document_is_skipped() -> None:
    assert found("a: [1\nb: 2\nc:\n  d: }\n\te: 1\n" + STEP) == []
    assert found("a: &x [1]\nb: *y\nc:\n  d: 1\n" + STEP) == []
    bomb = "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{n}: &{n} [{','.join(['*' + p] * 9)}]\n" for p, n in zip("abcdefg", "bcdefgh", strict=True)
    )
    assert found(bomb + "z:\n  y: 1\n" + STEP) == []


def test_where_it_stood_is_told() -> None:
    record = read("console", "start\n" + YAML + STEP).configs[0]
    assert isinstance(record, ConfigRecord)
    assert record.origin == "printed YAML at line 2"
