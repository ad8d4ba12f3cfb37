"""Meaning that depends on config, and the pages that say what numbers alone cannot."""

from __future__ import annotations

import pytest

from rltui.frameworks.resolve import resolve
from rltui.rules.knowledge import pages, pages_for

SEARCH_R1 = {
    "actor/kl_loss": "kl_ref",
    "actor/grad_norm": "grad_norm",
    "actor/ppo_kl": "ppo_kl",
    "actor/pg_clipfrac": "clip_frac",
    "actor/pg_loss": "pg_loss",
    "actor/entropy_loss": "entropy",
    "critic/score/mean": "score_mean",
    "critic/rewards/mean": "reward_mean",
    "critic/advantages/mean": "advantage_mean",
    "response_length/mean": "response_length_mean",
    "global_seqlen/mean": "global_seqlen_mean",
}


@pytest.mark.parametrize("dialect", ["verl", "search_r1"])
def test_the_core_keys_of_search_r1_are_known(dialect: str) -> None:
    for key, canonical in SEARCH_R1.items():
        assert resolve(key, dialect).canonical == canonical, key


@pytest.mark.parametrize(
    ("keys", "canonical"),
    [
        (["train/kl_mean", "kl/mean", "train/kl"], "kl_ref"),
        (["train/entropy", "entropy", "policy/entropy"], "entropy"),
        (["train/grad_norm", "grad_norm"], "grad_norm"),
        (["eval/accuracy", "val/accuracy", "eval/success_rate", "eval/exact_match", "eval/pass@1"], "val_score"),
        (["train/reward_mean", "reward/mean", "train/reward", "episode_reward_mean"], "reward_mean"),
    ],
)
def test_keys_of_home_made_loops_are_guessed(keys: list[str], canonical: str) -> None:
    assert [resolve(key, "generic").canonical for key in keys] == [canonical] * len(keys)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("kl-in-reward-or-loss", ["score minus coefficient times", "set", "inactive", "Clipping alone"]),
        ("group-advantages", ["same advantage", "relative to the batch", "does not change that"]),
        ("multi-round", ["last trainable token", "later rounds first", "mask", "round 1", "mild"]),
        ("interventions", ["KL in the loss", "length reward", "first-round", "Noisy reward", "read the code"]),
        ("where-to-look", ["main_ppo.py", "ray_trainer.py", "core_algos.py", "dp_actor.py", "generation.py"]),
        ("four-kls", ["Reference KL", "Update KL", "Mismatch KL", "Off-policy KL"]),
        ("published-guides", ["5 to 15 %", "negative policy loss", "0.4", "Five flat steps"]),
        ("healthy-ranges", ["1e-7 to 5e-6", "4 to 16", "0.1 to 0.2", "1e-8 to 1e-4", "first few steps"]),
        ("stop-or-continue", ["near zero", "recover", "already on disk", "contradict"]),
    ],
)
def test_a_page_holds_what_it_is_for(page: str, words: list[str]) -> None:
    text = " ".join(pages()[page].text.split())
    for word in words:
        assert word in text, word


PITFALLS = ("log-space", "constants", "decoding", "reward-format", "reference", "gradient-flow", "config")


@pytest.mark.parametrize("name", PITFALLS)
def test_a_pitfall_has_symptom_check_and_fix(name: str) -> None:
    page = pages()[f"pitfall-{name}"]
    for part in ("Symptom:", "Check:", "Fix:"):
        assert part in page.text
    assert page.rules


def test_the_bug_catalogue_goes_from_a_to_h_with_an_order_of_search() -> None:
    text = pages()["bug-catalogue"].text
    assert all(f"- {letter}. " in text for letter in "ABCDEFGH")
    assert "flat → A, B, C, then D, E; worse → F; creeping → G, H" in text


def test_triage_begins_somewhere_and_skips_nothing() -> None:
    text = " ".join(pages()["triage"].text.split())
    for seen in ("base model", "loss is flat", "NaN", "rewards are zero", "nothing improves", "Gibberish"):
        assert seen in text
    assert "not what to skip" in text


def test_three_pages_say_when_to_open_them() -> None:
    for page in ("bug-catalogue", "stage-workflow", "before-done"):
        assert pages()[page].when


def test_a_run_that_does_not_improve_leads_to_the_walk_through_all_stages() -> None:
    for rule in ("reward-flat-from-start", "reward-plateau", "no-learning-signal"):
        assert "stage-workflow" in {p.id for p in pages_for(rule)}


def test_the_walk_names_the_numbers_of_each_stage() -> None:
    text = " ".join(pages()["stage-workflow"].text.split())
    for word in ("reward → advantages → log-probs → loss → generation", "0.1", "1e-6", "1e-8", "ten times"):
        assert word in text
    assert text.index("1. Reward") < text.index("2. Advantages") < text.index("3. Log-probs")
    assert "several independent bugs" in text


def test_a_fix_is_the_smallest_branch() -> None:
    text = " ".join(pages()["before-done"].text.split())
    assert "smallest branch" in text
    assert "replace a wrong constant" in text
    assert "has not passed" in text
