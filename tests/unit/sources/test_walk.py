"""A walk lists what may belong to a run, once, within its bounds, and says what it left out."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.agent.tree import is_checkpoint_dir
from rltui.sources.base import SourceError
from rltui.sources.local import LocalPlace, walk


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"x")


def names(root: Path, **bounds: float) -> list[str]:
    return [os.path.relpath(file.path, root) for file in walk(str(root), **bounds).files]  # type: ignore[arg-type]


def test_metric_files_are_listed_and_the_rest_is_not(tmp_path: Path) -> None:
    wanted = [
        "console.log",
        "train.log.1",
        "m.jsonl",
        "m.csv",
        ".hydra/config.yaml",
        "run-a.wandb",
        "events.out.tfevents.1.h.2.0",
        "job.o123",
        "slurm-1.out",
        "nohup",
        "outputs/trainer_state.json",
        "rollouts/1.jsonl",
        "r/c.parquet",
    ]
    plant(
        tmp_path,
        *wanted,
        "model.safetensors",
        "x.bin",
        "y.pt",
        "z.distcp",
        "train.py",
        "tokenizer.json",
        "a.png",
        "requirements.txt",
    )
    listing = walk(str(tmp_path))
    assert names(tmp_path) == sorted(wanted)
    assert listing.complete
    assert listing.error is None
    assert str(tmp_path / "rollouts") in listing.dirs
    assert listing.files[0].size == 1


def test_weights_are_not_listed_but_their_folder_is(tmp_path: Path) -> None:
    plant(
        tmp_path,
        "global_step_10/actor/model.json",
        "global_step_10/data.pt",
        "checkpoint-5/trainer_state.json",
        "checkpoint-5/run.log",
    )
    (tmp_path / "checkpoint-5" / "big.json").write_bytes(b"x" * 300_000)
    listing = walk(str(tmp_path))
    assert names(tmp_path) == ["checkpoint-5/trainer_state.json"]
    assert {str(tmp_path / "global_step_10"), str(tmp_path / "checkpoint-5")} <= set(listing.dirs)
    assert names(tmp_path / "checkpoint-5") == ["big.json", "run.log", "trainer_state.json"]  # asked for itself


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/global_step_100", True),
        ("a/checkpoint-5", True),
        ("a/iter_0000100", True),
        ("a/step_10", True),
        ("rollouts/step_10", False),
        ("a/grpo-step-2-run", False),
        ("a/checkpoints", False),
        ("a/run_1", False),
    ],
)
def test_names_of_checkpoints(path: str, expected: bool) -> None:
    assert is_checkpoint_dir(path) is expected


def test_caches_and_environments_are_skipped_and_counted(tmp_path: Path) -> None:
    plant(
        tmp_path,
        ".git/a.log",
        "node_modules/a.log",
        "__pycache__/a.log",
        ".cache/a.log",
        "lib/site-packages/a.log",
        "models--x/a.json",
        "myenv/pyvenv.cfg",
        "myenv/lib/a.log",
        "keep.log",
    )
    listing = walk(str(tmp_path))
    assert names(tmp_path) == ["keep.log"]
    assert listing.skipped["cache"] == 7
    assert listing.complete


def test_links_list_a_run_once_under_its_real_path(tmp_path: Path) -> None:
    plant(tmp_path, "wandb/run-1/run-1.wandb", "logs/real.log")
    (tmp_path / "wandb" / "latest-run").symlink_to("run-1")
    (tmp_path / "latest.log").symlink_to("logs/real.log")
    (tmp_path / "logs" / "up").symlink_to("..")
    (tmp_path / "logs" / "above").symlink_to("../..")
    (tmp_path / "dangling.log").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    listing = walk(str(tmp_path))
    assert names(tmp_path) == ["logs/real.log", "wandb/run-1/run-1.wandb"]
    assert listing.skipped["loop"] == 4
    assert listing.complete


def test_a_link_out_of_the_tree_is_followed(tmp_path: Path) -> None:
    plant(tmp_path, "scratch/run/train.log", "home/x.log")
    (tmp_path / "home" / "outputs").symlink_to(tmp_path / "scratch" / "run")
    assert names(tmp_path / "home") == ["outputs/train.log", "x.log"]


def test_bounds_are_kept_and_said(tmp_path: Path) -> None:
    plant(tmp_path, "a.log", "b/c/d/e.log", *(f"many/{i}.log" for i in range(50)))
    deep = walk(str(tmp_path), max_depth=2)
    assert not deep.complete
    assert deep.skipped == {"depth": 1}
    few = walk(str(tmp_path), max_entries=10)
    assert not few.complete
    assert few.skipped["entries"] >= 1
    assert str(tmp_path / "a.log") in [file.path for file in few.files]  # the shallow one first
    late = walk(str(tmp_path), max_seconds=0.0)
    assert not late.complete
    assert late.skipped["time"] >= 1


def test_progress_and_cancellation(tmp_path: Path) -> None:
    plant(tmp_path, "a.log", "b/c.log", "d/e.log")
    counts: list[int] = []
    assert LocalPlace().walk(str(tmp_path), found=counts.append).complete
    assert counts == [1, 2, 3]
    listing = LocalPlace().walk(str(tmp_path), found=counts.append, cancelled=lambda: len(counts) > 3)
    assert not listing.complete
    assert "cancelled" in listing.skipped


def test_permission_errors_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "a.log", "closed/b.log")
    scandir = os.scandir

    def guarded(path: str) -> object:
        if path.endswith("closed"):
            raise PermissionError(errno.EACCES, "denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    listing = walk(str(tmp_path))
    assert [os.path.basename(file.path) for file in listing.files] == ["a.log"]
    assert listing.skipped == {"permission": 1}
    whole = walk(str(tmp_path / "closed"))
    assert whole.error is not None
    assert whole.error.kind == "permission"


class Entry:
    """A directory entry that notes who asks for its size."""

    def __init__(self, entry: os.DirEntry[str], asked: list[str]) -> None:
        self.entry, self.asked, self.name, self.path = entry, asked, entry.name, entry.path

    def is_symlink(self) -> bool:
        return self.entry.is_symlink()

    def is_dir(self, *, follow_symlinks: bool) -> bool:
        return self.entry.is_dir(follow_symlinks=follow_symlinks)

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:
        self.asked.append(self.name)
        return self.entry.stat(follow_symlinks=follow_symlinks)


def test_only_what_is_of_interest_is_asked_for_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "a.log", "checkpoint-5/optimizer.pt", *(f"shard-{i}.safetensors" for i in range(30)))
    asked: list[str] = []
    scandir = os.scandir

    @contextlib.contextmanager
    def noting(path: str) -> Iterator[list[Entry]]:
        with scandir(path) as entries:
            yield [Entry(entry, asked) for entry in entries]

    monkeypatch.setattr(os, "scandir", noting)
    walk(str(tmp_path))
    assert asked == ["a.log"]


def test_a_file_a_missing_path_and_a_pipe(tmp_path: Path) -> None:
    plant(tmp_path, "odd.name")
    os.mkfifo(tmp_path / "pipe")
    assert [file.path for file in walk(str(tmp_path / "odd.name")).files] == [str(tmp_path / "odd.name")]
    for name, kind in (
        ("nothing", "missing"),
        ("pipe", "not-a-file"),
        ("odd.name/below", "missing"),
        ("nul\0", "missing"),
    ):
        error = walk(str(tmp_path / name)).error
        assert error is not None
        assert error.kind == kind


def test_a_place_reads_heads_and_stats(tmp_path: Path) -> None:
    place = LocalPlace()
    path = tmp_path / "a.log"
    path.write_bytes(b"0123456789")
    assert place.head(str(path), 4) == b"0123"
    assert place.read(str(path)) == b"0123456789"
    found = place.stat(str(path))
    assert not isinstance(found, SourceError)
    assert found.size == 10
    for bad, kind in ((tmp_path / "b", "missing"), (tmp_path, "not-a-file")):
        for call in (place.head, place.read, place.stat):
            error = call(str(bad))
            assert isinstance(error, SourceError)
            assert error.kind == kind
            assert "[Errno" not in error.text


def test_a_hostile_file_name_is_cleaned_in_the_message(tmp_path: Path) -> None:
    error = LocalPlace().stat(str(tmp_path / "a\x1b[31m\n.log"))
    assert isinstance(error, SourceError)
    assert "\x1b" not in error.text
    assert "\n" not in error.text


def test_a_run_of_a_file_store_is_one_file_until_it_is_the_root(tmp_path: Path) -> None:
    """Hundreds of small files whose names say nothing: `params/output_dir` and `metrics/loss` are no logs."""
    run = "mlruns/1/abc"
    inside = ["metrics/eval/loss", "metrics/loss", "params/output_dir"]
    plant(tmp_path, f"{run}/meta.yaml", "mlruns/1/meta.yaml", f"{run}/tags/log", f"{run}/artifacts/a.json")
    plant(tmp_path, *(f"{run}/{name}" for name in inside))
    assert names(tmp_path) == ["mlruns/1/abc/meta.yaml", "mlruns/1/meta.yaml"]
    assert names(tmp_path / run) == ["meta.yaml", *inside]
    plant(tmp_path, "project/meta.yaml", "project/metrics.csv", "project/params/run.log")
    assert names(tmp_path / "project") == ["meta.yaml", "metrics.csv", "params/run.log"]
