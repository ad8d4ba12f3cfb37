"""What home-made loops and callbacks call the scores of several validation sets."""

from __future__ import annotations

import pytest

from rltui.frameworks.resolve import resolve

SCORES = {
    "eval/math/accuracy": "math accuracy",
    "eval/gsm8k/reward": "gsm8k reward",
    "val/aime24/pass@1": "aime24 pass@1",
    "test/math500/acc": "math500 acc",
    "validation/openai/gsm8k/exact_match": "gsm8k exact_match",
    "eval_gsm8k_acc": "gsm8k acc",
    "val_math-500_accuracy": "math-500 accuracy",
}
DETAILS = (
    "eval/math/response_length",
    "eval/math/accuracy_std",
    "eval/format/reward",
    "eval/length_penalty/reward",
    "eval/rewards/accuracy",
    "eval_mean_token_accuracy",
    "eval_token_accuracy",
    "eval_format_accuracy",
    "eval_reward_accuracy",
    "eval_top5_accuracy",
    "eval_math_loss",
)


@pytest.mark.parametrize("key", SCORES)
def test_the_score_of_a_set_is_a_validation_score(key: str) -> None:
    meaning = resolve(key, None)
    assert (meaning.canonical, meaning.label) == ("val_score", SCORES[key])


@pytest.mark.parametrize("key", DETAILS)
def test_a_detail_of_a_validation_is_none(key: str) -> None:
    assert resolve(key, None).canonical == "val_aux"


@pytest.mark.parametrize("key", ["val/pass@8", "eval/aime/pass@16", "eval_math_pass_at_4"])
def test_several_answers_a_prompt(key: str) -> None:
    assert resolve(key, None).canonical == "val_pass_at_k"


@pytest.mark.parametrize("key", ["val/pass@1", "eval/pass_at_1"])
def test_one_answer_a_prompt(key: str) -> None:
    assert resolve(key, None).canonical == "val_score"


def test_trl_names_each_of_its_sets() -> None:
    assert [resolve(f"eval_{one}_reward", "trl").canonical for one in ("math", "code", "format")] == [
        "val_score",
        "val_score",
        "val_aux",
    ]
    assert resolve("eval_math_reward_std", "trl").canonical == "val_aux"
    assert resolve("eval/math/accuracy", "trl").canonical == "val_score"  # a callback of the user's
