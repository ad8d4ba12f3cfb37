"""Which files are one run: layouts of the frameworks, built as listings, and the labelled runs where there are any."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rltui.discovery.found import RunCandidate, group
from rltui.sources.base import FileStat, Listing
from rltui.sources.local import LocalPlace
from tests.known_gaps import cases

ROOT = "/runs/x"


def listing(*paths: str, dirs: tuple[str, ...] = ()) -> Listing:
    """A listing of ROOT with these files, their folders, and more folders (of weights, which list no file)."""
    files = tuple(FileStat(f"{ROOT}/{path}", 100, 0.0, f"1:{number}") for number, path in enumerate(paths))
    folders = {ROOT}
    for name in [*(os.path.dirname(file.path) for file in files), *(f"{ROOT}/{name}" for name in dirs)]:
        while name.startswith(ROOT):
            folders.add(name)
            name = os.path.dirname(name)
    return Listing(ROOT, files, tuple(sorted(folders)), complete=True)


def sniff(path: str) -> str | None:
    """The format by name, as a sniffer would find it by content."""
    name = os.path.basename(path)
    for pattern, found in (
        (r"note|readme", None),
        (r"\.wandb$", "wandb"),
        (r"tfevents", "tensorboard"),
        (r"trainer_state", "trainer-state"),
        (r"\.jsonl$", "jsonl"),
        (r"\.csv$", "csv"),
        (r"server|setup", "console"),
        (r"\.(log|out|err|txt)(\.\d)?$", "verl-console"),
    ):
        if re.search(pattern, name):
            return found
    return None


def runs(*paths: str, dirs: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Id -> the run's metric files, relative to ROOT."""
    return {
        c.id: sorted(os.path.relpath(p, ROOT) for p, _ in c.files) for c in group(listing(*paths, dirs=dirs), sniff)
    }


TB = "events.out.tfevents.{}.vm.1.0"
W1, W2 = "wandb/offline-run-20261120_231711-aaaa1111", "wandb/offline-run-20261120_235959-bbbb2222"


def wandb(folder: str) -> tuple[str, str]:
    return f"{folder}/run-{folder[-8:]}.wandb", f"{folder}/files/output.log"


HF = (
    "console.log",
    "outputs/trainer_state.json",
    "outputs/checkpoint-100/trainer_state.json",
    "outputs/checkpoint-100/config.json",
)

ONE_RUN = {
    "hugging face with everything": (*HF, f"outputs/runs/Nov20_23-17-11_vm/{TB.format(1)}", *wandb(W1)),
    "restarted, with shared checkpoints": (
        *HF,
        f"outputs/runs/Nov20_23-17-11_vm/{TB.format(1)}",
        f"outputs/runs/Nov20_23-59-59_vm/{TB.format(2)}",
        *wandb(W1),
        *wandb(W2),
    ),
    "verl with its own jsonl": (
        "console.log",
        f"tensorboard_log/proj/exp/{TB.format(1)}",
        "proj/exp.jsonl",
        *wandb(W1),
    ),
    "tinker": ("bash/logs.log", "bash/metrics.jsonl"),
    "roles only": ("train.log", "eval.log", "train_metrics.jsonl", "gpu_monitor.log"),
    "stdout and stderr of a job": ("grpo_123.out", "grpo_123.err"),
    "rotated": ("train.log", "train.log.1", "train.log.2"),
    "a log and those of its helpers": ("exp3.log", "vllm_server.log", "setup.log"),
    "text of no known trainer beside a container": ("metrics.jsonl", "exp3.log", "my_server_x.log"),
    "one W&B id in two folders": (*wandb(W1), "wandb/run-20261121_010101-aaaa1111/run-aaaa1111.wandb"),
    "TensorBoard with hparams below": (f"runs/exp/{TB.format(1)}", f"runs/exp/1712/{TB.format(2)}"),
    "hydra": ("outputs/2026-11-20/23-17-11/.hydra/config.yaml", "outputs/2026-11-20/23-17-11/train.log"),
    "only a checkpoint": ("checkpoint-250/trainer_state.json",),
}


@pytest.mark.parametrize("name", ONE_RUN)
def test_one_run(name: str) -> None:
    paths = ONE_RUN[name]
    found = runs(*paths)
    assert len(found) == 1
    metric_files = [p for p in paths if not p.endswith(("config.json", ".yaml"))]
    assert next(iter(found.values())) == sorted(metric_files)


SEVERAL = {
    "a folder of runs": (("a/console.log", f"a/{W1}/run-aaaa1111.wandb", "b/console.log"), {"a", "b"}),
    "two folders of jsonl": (
        ("baseline-20260427/train_metrics.jsonl", "ablation-20260429/train_metrics.jsonl"),
        {"baseline-20260427", "ablation-20260429"},
    ),
    "a flat folder of logs": (("logs/a.log", "logs/b.log", "logs/c.log"), {"a", "b", "c"}),
    "a flat folder, one log of no known trainer": (("a.log", "b.log", "server_c.log"), {"a", "b", "c"}),
    "labelled pairs": (("a.log", "b.log", "a.jsonl", "b_metrics.jsonl"), {"a", "b"}),
    "TensorBoard experiments": ((f"runs/exp1/{TB.format(1)}", f"runs/exp2/{TB.format(2)}"), {"exp1", "exp2"}),
    "verl experiments": (
        (f"tensorboard_log/p/e1/{TB.format(1)}", f"tensorboard_log/p/e2/{TB.format(2)}", "p/e1.jsonl", "p/e2.jsonl"),
        {"e1", "e2"},
    ),
    "a project's wandb folder": ((*wandb(W1), *wandb(W2)), {"20261120_231711-aaaa1111", "20261120_235959-bbbb2222"}),
    "job logs without checkpoints": (("slurm-100.out", "slurm-101.out"), {"100", "101"}),
    "two trainers": (("a/checkpoint-5/trainer_state.json", "b/checkpoint-5/trainer_state.json"), {"a", "b"}),
    "an older run inside": (("train.log", "old/train.log"), {"x", "old"}),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_runs(name: str) -> None:
    paths, ids = SEVERAL[name]
    found = runs(*paths)
    assert set(found) == ids
    assert sorted(p for files in found.values() for p in files) == sorted(paths)


def test_without_checkpoints_an_unstamped_log_goes_with_the_newest_launch() -> None:
    found = runs("console.log", *wandb(W1), *wandb(W2))
    assert "console.log" in found["20261120_235959-bbbb2222"]
    assert "console.log" not in found["20261120_231711-aaaa1111"]


def test_launches_that_share_checkpoints_are_said_to_be_one_run() -> None:
    (found,) = group(
        listing("console.log", *wandb(W1), *wandb(W2), dirs=("ckpt/global_step_50", "ckpt/global_step_100")), sniff
    )
    assert "2 launches" in found.note
    assert [os.path.basename(path) for path in found.checkpoints] == ["global_step_100", "global_step_50"]


def test_files_are_in_the_order_in_which_they_are_believed() -> None:
    (found,) = group(listing(*HF, "metrics.jsonl", *wandb(W1), f"tb/{TB.format(1)}"), sniff)
    assert [form for _, form in found.files] == [
        "jsonl",
        "tensorboard",
        "wandb",
        "verl-console",
        "verl-console",
        "trainer-state",
        "trainer-state",
    ]


def test_of_many_trainer_states_only_the_last_two_and_the_final_one_are_read() -> None:
    states = [f"outputs/checkpoint-{step}/trainer_state.json" for step in (50, 100, 1000, 900)]
    found = runs(*states, "outputs/trainer_state.json")
    assert found["x"] == [
        "outputs/checkpoint-1000/trainer_state.json",
        "outputs/checkpoint-900/trainer_state.json",
        "outputs/trainer_state.json",
    ]


def test_rollouts_configs_and_checkpoints_are_listed_apart() -> None:
    (found,) = group(
        listing(
            "console.log",
            "rollout_data/1.jsonl",
            "rollout_data/2.jsonl",
            "val/10.jsonl",
            "outputs/completions/completions_00010.parquet",
            ".hydra/config.yaml",
            "args.json",
            f"{W1}/files/config.yaml",
            f"{W1}/files/wandb-metadata.json",
            f"{W1}/run-aaaa1111.wandb",
            f"{W1}/files/media/table/completions_1_ab.table.json",
            f"{W1}/logs/debug.log",
            "wandb/debug.log",
            "README.md",
            dirs=("ckpt/global_step_50", "ckpt/global_step_100"),
        ),
        sniff,
    )
    assert [os.path.basename(path) for path, _ in found.files] == ["run-aaaa1111.wandb", "console.log"]
    assert len(found.rollouts) == 5
    assert {os.path.relpath(path, ROOT) for path in found.configs} == {
        ".hydra/config.yaml",
        "args.json",
        f"{W1}/files/config.yaml",
        f"{W1}/files/wandb-metadata.json",
    }
    assert len(found.checkpoints) == 2


def test_what_lies_with_one_of_several_runs_is_its_own() -> None:
    found = {
        c.id: c for c in group(listing("a/console.log", "a/args.json", "b/console.log", "b/rollouts/1.jsonl"), sniff)
    }
    assert found["a"].configs == (f"{ROOT}/a/args.json",)
    assert found["b"].configs == ()
    assert found["b"].rollouts == (f"{ROOT}/b/rollouts/1.jsonl",)


def test_a_flat_log_is_named_by_its_file_and_a_folder_by_its_path() -> None:
    found = {c.id: c.root for c in group(listing("logs/a.log", "logs/b.log", "c/train.log"), sniff)}
    assert found == {"a": f"{ROOT}/logs/a.log", "b": f"{ROOT}/logs/b.log", "c": f"{ROOT}/c"}


def test_nothing_recognisable_is_no_run() -> None:
    assert group(listing("README.md", "notes.txt", "config.yaml"), sniff) == []


def test_a_listed_file_is_a_run_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "completions_7.jsonl"
    path.write_text("{}\n")
    (found,) = group(LocalPlace().walk(str(path)), sniff)
    assert found.files == ((str(path), "jsonl"),)


def test_ids_are_unique() -> None:
    candidates = group(listing("a.log", "b.log", "logs/a.log", "x/a.log", "x/b.log"), sniff)
    counts = Counter(c.id for c in candidates)
    assert max(counts.values()) == 1


# --- Labelled runs -----------------------------------------------------------------------------------------------


def crude_sniff(path: str) -> str | None:
    """By content, as crudely as suffices here; the product's sniffer is tested by itself."""
    data, name = Path(path).read_bytes(), os.path.basename(path)
    if data.startswith(b":W&B"):
        return "wandb"
    if name == "meta.yaml" or name.endswith(".db"):
        return None  # trackers' own runs: tests/unit/session/test_container_feeds.py
    if name.endswith(".json"):
        table = data.lstrip().startswith(b"[") and b'"step"' in data
        return "trainer-state" if b'"log_history"' in data else "json" if table else None
    for mark, found in ((rb"step:\d+ - ", "verl-console"), (rb"\{'(?:loss|reward)'", "trl-console")):
        if re.search(mark, data):
            return found
    return sniff(path) if name.endswith((".jsonl", ".csv")) or "tfevents" in name else "console"


@pytest.mark.parametrize("label", cases("grouped"))
def test_a_labelled_directory_is_one_run(label: dict[str, Any], runs_dir: Path) -> None:
    assert len(group(LocalPlace().walk(str(runs_dir / label["path"])), crude_sniff)) == 1


def test_a_folder_of_labelled_runs_is_as_many_runs(runs_dir: Path) -> None:
    place = LocalPlace()
    zoo: list[RunCandidate] = group(place.walk(str(runs_dir / "zoo")), crude_sniff)
    assert [c.id for c in zoo] == sorted(path.name for path in (runs_dir / "zoo").iterdir())
    assert sum("launches" in c.note for c in zoo) >= 1
