"""A data file that is wrong is told with file and line; nothing of it is taken in silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.data_files import DataError
from rltui.frameworks import load
from tests.conftest import REPO

CACHES = (
    load.metrics,
    load.phases,
    load.config_meanings,
    load.algorithms,
    load.prefix_groups,
    load.dialect_names,
    load.dialect,
    load._framework,
)
EPOCH = '"label": "epoch",\n    "group": "progress"'
BY_TEXT = next(
    line for line in (load._DATA / "algorithms.json").read_text().splitlines(True) if line.startswith('  "by_text"')
)
VERL, TRL = "frameworks/verl.json", "frameworks/trl.json"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the data files, in force instead of them."""
    copy = tmp_path / "data"
    shutil.copytree(load._DATA, copy)
    monkeypatch.setattr(load, "_DATA", copy)
    for cached in CACHES:
        cached.cache_clear()
    yield copy
    monkeypatch.undo()
    for cached in CACHES:
        cached.cache_clear()


def replaced(file: Path, was: str, instead: str) -> int:
    """Puts one text in the place of another, which is there once; the line where it begins."""
    text = file.read_text()
    assert text.count(was) == 1, f"{file.name} holds {was!r} {text.count(was)} times"
    file.write_text(text.replace(was, instead))
    for cached in CACHES:  # a thread of another test may have read the file before
        cached.cache_clear()
    return text[: text.index(was)].count("\n") + 1


@pytest.mark.parametrize(
    ("name", "was", "instead", "words"),
    [
        # a type
        (VERL, '"ppo_kl": ["actor/ppo_kl"]', '"ppo_kl": "actor/ppo_kl"', "metrics.ppo_kl: Expected `array`, got `str`"),
        (VERL, '["critic/lr", "critic/lr(1e-4)"]', '["critic/lr", 4]', "metrics.critic_lr.1: Expected `str`"),
        (TRL, '"loss_type_only_averages": true', '"loss_type_only_averages": "yes"', "Expected `bool | null`"),
        ("metrics.json", '"label": "epoch"', '"label": null', "epoch.label: Expected `str`, got `null`"),
        ("phases.json", '"usual": [0.4, 0.8]', '"usual": [0.4]', "rollout.usual: Expected `array` of length 2"),
        ("groups.json", '"off_policy": "off-policy"', '"off_policy": "of-policy"', "off_policy: Invalid enum value"),
        ("config.json", '"lora_rank": "LoRA rank"', '"lora_rank": 1', "lora_rank: Expected `str`, got `int`"),
        ("algorithms.json", '["GRPO", "GRPOTrainer"]', '["GRPO"]', "by_text.16: Expected `array` of length 2"),
        # a field that nobody knows
        (VERL, '"keep_samples": ', '"keep_sample": ', "Object contains unknown field `keep_sample`"),
        ("frameworks/slime.json", '"code": {', '"codes": {', "unknown field `codes`"),
        ("metrics.json", '"healthy": "rises, then levels off"', '"healty": "rises"', "unknown field `healty`"),
        ("phases.json", '"why": "above 15 %, the GPUs', '"because": "above 15 %, the GPUs', "field `because`"),
        ("algorithms.json", '"by_text": ', '"by_texts": ', "unknown field `by_texts`"),
        # a value
        ("metrics.json", EPOCH, EPOCH.replace("progress", "x"), "epoch.group: Invalid enum value"),
        ("frameworks/generic.json", '"console": ["yes", "real"', '"console": ["surely", "real"', "Invalid enum value"),
        # names that no other file holds
        (VERL, '"ppo_kl": [', '"ppo_kll": [', "no metric is called 'ppo_kll'"),
        (VERL, '{"metric": "lr", "before"', '{"metric": "lrr", "before"', "'lrr'"),
        (VERL, '"clip_dual": ["actor', '"clip_duel": ["actor', "no setting is called 'clip_duel'"),
        (VERL, '"update_actor": [', '"update_actors": [', "no phase is called 'update_actors'"),
        (VERL, '"vf_loss": "logged', '"vf_los": "logged', "no metric is called 'vf_los'"),
        ("frameworks/rllm.json", '"extends": "verl"', '"extends": "veryl"', "no framework is called 'veryl'"),
        ("frameworks/rllm.json", '"family": "verl"', '"family": "v"', "no framework is called 'v'"),
        # regexes
        (VERL, '"^val-core/"', '"^val-(core/"', "no regex"),
        (TRL, '(?:^|/)checkpoint-(\\\\d+)$', '(?:^|/checkpoint-(\\\\d+)$', "no regex"),
        # no JSON
        ("frameworks/roll.json", '"title": "ROLL",', '"title": "ROLL"', "malformed"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_and_line(data: Path, name: str, was: str, instead: str, words: str) -> None:
    first = replaced(data / name, was, instead)
    with pytest.raises(DataError) as error:
        load.check()
    lines = {first + i for i in range(instead.count("\n") + 1)} | ({first + 1} if "malformed" in words else set())
    assert error.value.file == str(data / name)
    assert error.value.line in lines
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("name", "was", "field", "holder"),
    [
        (VERL, '  "title": "verl",\n', "title", "{"),
        (TRL, '    "console": ["yes", "real"],\n', "console", '  "support": {'),
        ("metrics.json", '    "label": "epoch",\n', "label", '  "epoch": {'),
        ("phases.json", '"label": "sample dump", ', "label", '  "dump_samples": {'),
        ("algorithms.json", BY_TEXT, "by_text", "{"),
    ],
)
def test_what_is_missing_is_told_with_the_line_of_its_object(
    data: Path, name: str, was: str, field: str, holder: str
) -> None:
    replaced(data / name, was, "")
    with pytest.raises(DataError) as error:
        load.check()
    line = (data / name).read_text().splitlines()[error.value.line - 1]
    assert error.value.file == str(data / name)
    assert line.startswith(holder)
    assert f"missing required field `{field}`" in str(error.value)


def test_files_that_build_on_each_other_are_told(data: Path) -> None:
    replaced(data / "frameworks/verl_0_2.json", '"extends": "verl"', '"extends": "search_r1"')
    with pytest.raises(DataError, match=r"(?s)json:4: extends: a circle: search_r1, verl_0_2"):
        load.check()


def test_all_data_files_are_as_they_should_be() -> None:
    assert load.check() == len(list(load._DATA.rglob("*.json")))


def test_a_command_with_a_wrong_data_file_names_file_and_line(tmp_path: Path) -> None:
    """Not coerced: a text instead of a list once became a list of letters, and the metric was lost in silence."""
    package = tmp_path / "rltui"
    (package / "frameworks").mkdir(parents=True)
    for entry in (REPO / "rltui").iterdir():
        if entry.name != "frameworks":
            os.symlink(entry, package / entry.name)
    for module in (REPO / "rltui" / "frameworks").glob("*.py"):
        os.symlink(module, package / "frameworks" / module.name)
    shutil.copytree(REPO / "rltui" / "frameworks" / "data", package / "frameworks" / "data")
    wrong = package / "frameworks" / "data" / VERL
    line = replaced(wrong, '["actor/entropy", "actor/entropy_loss"]', '"actor/entropy"')
    words = f"data/{VERL}:{line}: metrics.entropy: Expected `array`, got `str`"
    (tmp_path / "train.log").write_text("".join(f"step:{s} - actor/entropy:0.{s}\n" for s in range(1, 9)))
    state = tmp_path / "state"
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rltui", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)

    done = run("report", "train.log")
    assert done.returncode != 0
    assert words in done.stderr + "".join(p.read_text() for p in state.rglob("*") if p.is_file())
    told = [row for row in run("doctor").stdout.splitlines() if " frameworks " in row]
    assert len(told) == 1
    assert words in told[0]
    assert "off" in told[0]
