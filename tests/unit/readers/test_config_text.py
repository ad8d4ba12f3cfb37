from __future__ import annotations

from pprint import pformat

from tests.unit.readers.reading import read

RAY = "\x1b[36m(TaskRunner pid=46086)\x1b[0m "
CONFIG = {
    "actor_rollout_ref": {
        "actor": {"clip_ratio": 0.2, "kl_loss_coef": 0.001, "use_kl_loss": True, "save": ["model", "extra"]},
        "model": {"path": "/models/" + "long name " * 20, "override_config": {}},
    },
    "data": {"train_files": None, "max_response_length": 1024},
    "trainer": {"logger": ["console", "wandb"], "wandb_api_key": "0123456789abcdef0123456789abcdef01234567"},
}  # fmt: skip


def test_a_printed_dict_with_a_prefix_on_every_line() -> None:
    lines = pformat(CONFIG).split("\n")
    assert len(lines) > 8
    text = "".join(f"{RAY}{line}\n(WorkerDict pid=9) noise\n" for line in lines)
    found = read("verl-console", "first\n" + text + "step:1 - a:1\n", [50] * 10)
    assert len(found.configs) == 1
    values = found.configs[0].values
    assert values["actor_rollout_ref.actor.kl_loss_coef"] == 0.001
    assert values["actor_rollout_ref.actor.use_kl_loss"] is True
    assert values["actor_rollout_ref.actor.save"] == ["model", "extra"]
    assert values["data.train_files"] is None
    assert str(values["actor_rollout_ref.model.path"]).startswith("/models/long name")
    assert values["trainer.wandb_api_key"] == "[redacted]"
    assert found.configs[0].origin == "printed dict at line 2"
    assert found.steps == [1]


def test_text_that_is_no_literal_is_passed_over() -> None:
    enum = "{'a': {'b': <Enum.X: 1>,\n       'c': 2},\n 'd': 3}\n"
    text = enum + "step:1 - a:1\n{'a': {'b': 1,\nnot the rest\nstep:2 - a:1\n"
    found = read("console", text)
    assert found.configs == []
    assert found.steps == [1, 2]


def test_overrides_on_a_command_line() -> None:
    found = read(
        "console",
        "+ python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=256 "
        "actor_rollout_ref.actor.optim.lr=1e-6 +actor_rollout_ref.actor.use_kl_loss=True "
        "trainer.logger=['console','wandb'] "
        'trainer.project_name="my run" data.val_files=null\n',
    )
    assert found.configs[0].values == {
        "algorithm.adv_estimator": "grpo",
        "data.train_batch_size": 256,
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "actor_rollout_ref.actor.use_kl_loss": True,
        "trainer.logger": ["console", "wandb"],
        "trainer.project_name": "my run",
        "data.val_files": None,
    }
    assert found.configs[0].origin == "command line at line 1"


def test_a_code_line_is_no_command_line() -> None:
    assert read("console", "x = actor_rollout_ref.actor.lr\nactor_rollout_ref.model=3 only\n").configs == []


def test_other_lines_within_a_printed_dict() -> None:
    lines = [
        "(T pid=1) {'a': {'b': 1,",
        "(T pid=1) a warning",
        "(W pid=2) other",
        "(T pid=1)        'c': [1, 2]},",
        "(T pid=1)  'd': 2}",
    ]
    assert [c.values for c in read("console", "\n".join([*lines, ""])).configs] == [{"a.b": 1, "a.c": [1, 2], "d": 2}]


def test_a_printed_config_that_never_ends_counts_as_far_as_it_goes() -> None:
    held = [f"(T pid=1)        'c{i}': {i}," for i in range(30)]
    lines = ["(T pid=1) {'a': {'b': 1,", *held, *(f"(T pid=1) line {i}" for i in range(30))]
    found = read("console", "\n".join([*lines, ""])).configs
    assert [c.origin for c in found] == ["printed dict at line 1, cut off"]
    assert found[0].values == {"a.b": 1, **{f"a.c{i}": i for i in range(30)}}
