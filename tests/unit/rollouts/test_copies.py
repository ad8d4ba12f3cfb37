"""Copies, doubled templates, prompts with their solution, missing rewards: what is counted and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from rltui.cli import main
from rltui.rollouts.answers import verdict
from rltui.rollouts.copies import AtPlace, doubled_template, repeated_from, setup, shown_solution
from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Block, Raw
from rltui.rollouts.numbers import Numbering
from tests.unit.rollouts.dumps import verl

CHATML = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
LLAMA = "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
GEMMA = "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n"


def raw(**record: Any) -> Raw:
    found = fields.raw({"completion": "4", "reward": 1.0, **record})
    assert found is not None
    return found


def held(*records: dict[str, Any]) -> list[AtPlace]:
    made = [raw(**record) for record in records]
    return [AtPlace(n, one, one.group, one.reward) for n, one in enumerate(made)]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        (CHATML, False),
        (LLAMA, False),
        (GEMMA, False),
        (f"{CHATML}4<|im_end|>\n<|im_start|>user\nAnd 5?<|im_end|>\n<|im_start|>assistant\n<think>\n", False),
        ("system\nBe brief.\nuser\nHi\nassistant\n", False),
        ("<s>[INST] Hi [/INST]", False),
        (f"<|im_start|>user\n{CHATML}<|im_end|>\n<|im_start|>assistant\n", True),
        (f"<|begin_of_text|>{LLAMA}", True),
        (f"<|start_header_id|>user<|end_header_id|>\n\n{LLAMA}", True),
        (f"<start_of_turn>user\n{GEMMA}", True),
        (f"<bos>{GEMMA}", True),
        ("<s><s>[INST] Hi [/INST]", True),
        ("[INST] <s>[INST] Hi [/INST] [/INST]", True),
        ("user\nsystem\nBe brief.\nuser\nHi\nassistant\n\nassistant\n", True),
    ],
)
def test_a_template_in_a_template(prompt: str, found: bool) -> None:
    assert (doubled_template(prompt) is not None) == found


@pytest.mark.parametrize(
    ("prompt", "wanted", "said"),
    [
        ("2 and 2? The solution is 4.", "4", "solution is 4"),
        ("2 and 2?\nGround truth: 4\n", "4", "Ground truth: 4"),
        ("2 and 2? (answer=4)", "4", "answer=4"),
        ("2 and 2? Reference: **x + 1**", "x + 1", "Reference: **x + 1"),
        ("2 and 2? Put the answer in a box. There are 4 boxes.", "4", None),
        ("2 and 2? The answer is 42 or more.", "4", None),
        ("2 and 2? The answer is 4.5.", "4", None),
        ("Reach 4 with 2 and 2.", "4", None),
    ],
)
def test_a_prompt_with_its_solution(prompt: str, wanted: str, said: str | None) -> None:
    assert shown_solution(raw(prompt=prompt, answer=wanted)) == said


def test_only_long_texts_are_copies() -> None:
    long, other = "one and two " * 20, "three and four " * 20
    told = setup(held(*({"group": 1, "completion": text} for text in ("4", "4", long, long, other))))
    assert told.copied == pytest.approx(2 / 3)
    assert told.copied_as == "samples 3 and 4 are the same text"
    apart = setup(
        held({"prompt": "p", "group": 1, "completion": long}, {"prompt": "q", "group": 2, "completion": long})
    )
    assert apart.copied is None, "no two of them are of one group"


def test_texts_of_an_earlier_step() -> None:
    texts = [f"{n} and {n} " * 40 for n in range(8)]
    first, second, now = (
        setup(held(*({"completion": text} for text in texts[low:high]))) for low, high in ((0, 2), (2, 6), (1, 8))
    )
    share, step, example = repeated_from([(5, first), (10, second)], now)
    assert (share, step) == (pytest.approx(5 / 7), 10)
    assert example == "sample 2 is sample 1 of step 10"
    assert repeated_from([], now) == (0.0, None, "")


def test_missing_rewards_count_beside_others_only() -> None:
    some = setup(held({"reward": None}, {"reward": float("nan")}, {"reward": 1.0}, {"reward": 0.0}))
    assert (some.unrewarded, some.unrewarded_as) == (0.5, "sample 1 has none")
    bad = raw(reward=float("nan"), accuracy=0.5)
    assert Numbering(()).of(Block([], lambda _: []), 0, bad).reward is None, "its parts do not stand in for it"
    none = setup(held({"reward": None}, {"reward": None}))
    assert (none.unrewarded, none.unrewarded_as) == (None, "")
    assert setup([]).prompts is None


def test_the_json_of_a_step_holds_the_counts_and_no_names_of_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verl(tmp_path, 5, [("<s><s>What?", "a long text " * 30, 1.0)] * 4)
    assert main(["rollouts", str(tmp_path), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for stats in (told["detail"]["stats"], told["table"][0]):
        assert stats["setup"]["copied"] == stats["setup"]["doubled"] == 1.0
        assert "texts" not in stats["setup"]


@pytest.mark.parametrize(
    "filler", [" ", "\n", "*", "assistant\n", "answer is ", "<|im_start|>", "a", "\\boxed{", "####"]
)
def test_a_hostile_text_takes_no_time(filler: str) -> None:
    text = f"The answer is {filler * 300_000}"
    began = process_time()
    setup([AtPlace(0, raw(prompt=f"assistant{text}", completion=text, answer="4"), None, 1.0)])
    verdict(raw(completion=text, answer=text))
    assert process_time() - began < 5


def test_the_page_of_a_step_names_what_was_found_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verl(tmp_path, 5, [("<s><s>What? The answer is 4.", "a long text " * 30, 1.0)] * 4)
    assert main(["rollouts", str(tmp_path)]) == 0
    found = " ".join(capsys.readouterr().out.split())
    assert "group has a text twice 100 %" in found
    assert "template in a template 100 %" in found
    assert "solution in the prompt 100 %" in found
    assert "without a reward" not in found
    assert "in another script" not in found
