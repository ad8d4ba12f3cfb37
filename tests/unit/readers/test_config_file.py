"""Config out of every place: files of three kinds, wrapped values, overrides, command lines, lists of arguments."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.readers.config_file import MAX_NODES, read_config
from tests.unit.readers.reading import read


def values(data: str, name: str) -> dict[str, object]:
    found = read_config(data.encode(), name)
    return found.values if found is not None else {}


def test_yaml_with_references_and_numbers() -> None:
    text = "a: {lr: 1e-6, n: 8, enable: false}\nb: ${a.n}\nc: out/${a.n}/x\nd: ${oc.env:HOME}\ne: null\n"
    assert values(text, ".hydra/config.yaml") == {
        "a.lr": 1e-6,
        "a.n": 8,
        "a.enable": False,
        "b": 8,
        "c": "out/8/x",
        "e": None,
    }


def test_hydra_overrides() -> None:
    text = "- actor_rollout_ref.actor.optim.lr=1e-6\n- +trainer.note='a b'\n- algorithm.use_kl_in_reward=False\n"
    assert values(text, "overrides.yaml") == {
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "trainer.note": "a b",
        "algorithm.use_kl_in_reward": False,
    }


@pytest.mark.parametrize("extra", ["wandb_version: 1\n", "_wandb: {value: {cli_version: 1}}\n"])
def test_values_wrapped_by_a_tracker(extra: str) -> None:
    text = extra + "trainer:\n  desc: null\n  value: {lr: 0.5, save_freq: -1}\nseed: {desc: '', sort: 1, value: 3}\n"
    assert values(text, "config.yaml") == {"trainer.lr": 0.5, "trainer.save_freq": -1, "seed": 3}


def test_the_command_line_in_wandbs_metadata() -> None:
    data = {"host": "h", "args": ["--beta", "0.04", "--use_vllm", "--lr=1e-6", "a.b.c=3", "--names", "x", "y"]}
    assert values(json.dumps(data), "wandb-metadata.json") == {
        "beta": 0.04,
        "use_vllm": True,
        "lr": 1e-6,
        "a.b.c": 3,
        "names": ["x", "y"],
    }


def test_toml_of_one_component() -> None:
    assert values("max_steps = 20\n[optim]\nlr = 1e-5\n", "configs/trainer.toml") == {
        "trainer.max_steps": 20,
        "trainer.optim.lr": 1e-5,
    }


def test_what_is_a_models_own_config_is_left_out() -> None:
    assert values('{"architectures": ["X"], "temperature": 0.2}', "config.json") == {}
    assert values('{"peft_type": "LORA", "r": 8}', "adapter_config.json") == {}


def test_secrets_stay_outside() -> None:
    assert "hf_abcdefghijklmnopqrstuvwxyz" not in str(
        values("hf_token: hf_abcdefghijklmnopqrstuvwxyz\nlr: 1\n", "c.yaml")
    )


@pytest.mark.parametrize("text", ["", "[", "a: [", "a: *x", "- 1", "x", "{a: {b", "!!python/object:os.system x"])
def test_damage_is_no_config(text: str) -> None:
    for name in ("c.yaml", "c.json", "c.toml"):
        assert values(text, name) == {}


def test_aliases_that_multiply_are_refused() -> None:
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]
    assert MAX_NODES < 9**8
    assert values("\n".join(["a0: &a0 [1]", *levels]), "c.yaml") == {}


@given(st.binary(max_size=200), st.sampled_from(["c.yaml", "c.json", "c.toml", "wandb-metadata.json"]))
def test_anything(data: bytes, name: str) -> None:
    read_config(data, name)


def test_arguments_in_a_log() -> None:
    text = (
        "+ python3 -m openrlhf.cli.train_ppo_ray --actor.eps_clip 0.2 --algo.kl.init_coef 1e-3 --colocate --n 8\n"
        "args: Namespace(lr=1e-06, loss='a, b', use_kl_loss=False)\n"
        "(T pid=3) ------------------------ arguments ------------------------\n"
        "(T pid=3)   advantage_estimator ............................. grpo\n"
        "(T pid=3)   eps_clip ........................................ 0.2\n"
        "(T pid=3) -------------------- end of arguments ---------------------\n"
        "run it with train.py --help\n"
    )
    found = [(config.origin, config.values) for config in read("console", text).configs]
    assert found == [
        ("command line at line 1", {"actor.eps_clip": 0.2, "algo.kl.init_coef": 1e-3, "colocate": True, "n": 8}),
        ("printed Namespace at line 2", {"lr": 1e-6, "loss": "a, b", "use_kl_loss": False}),
        ("argument list at line 3", {"advantage_estimator": "grpo", "eps_clip": 0.2}),
    ]
