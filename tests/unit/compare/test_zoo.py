"""Compare on labelled runs of one task: order, flags and front are what the labels say; the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from rltui.cli import main
from rltui.compare.build import compare
from rltui.compare.model import Comparison
from rltui.compare.read import read
from rltui.session.locate import locate
from tests.conftest import REPO, labelled_runs, schema_of
from tests.moments import A_DAY_S, judged_after

HEALTHY = ("g01-add-s0", "g54-add-s0")
SLOW = ("g43-add-s0",)  # a slow step is no fault of the policy
NOT_LEARNING = ("g37-add-s0", "g39-add-s0")
BROKEN = {
    "g10-add-s0": {"kl-blow-up", "entropy-explosion"},
    "g13-add-s0": {"entropy-collapse"},
    "g16-add-s3": {"length-explosion", "kl-blow-up"},
    "g31-add-s0": {"collapse"},
    "g34-add-s0": {"crashed"},
    "g45-add-s0": {"stalled"},
}


@pytest.fixture(scope="module")
def zoo() -> Comparison:
    """Runs on one task with one reward function."""
    root = labelled_runs()
    if root is None:
        pytest.skip("no labelled runs: set RLTUI_TEST_RUNS")
    with judged_after(root / "zoo", A_DAY_S):
        return compare(read(locate([str(root / "zoo" / n) for n in (*HEALTHY, *SLOW, *NOT_LEARNING, *BROKEN)])))


def test_the_metric_is_the_one_that_all_log(zoo: Comparison) -> None:
    assert zoo.primary.name == "reward_component_mean:accuracy_reward"
    assert zoo.primary.runs == len(zoo.runs)


def test_healthy_runs_are_good_and_stand_first(zoo: Comparison) -> None:
    assert {r.id for r in zoo.runs[:3]} == {*HEALTHY, *SLOW}
    assert {r.id for r in zoo.runs if r.group == "good"} == {*HEALTHY, *SLOW}


@pytest.mark.long
def test_what_did_not_learn_is_bad_and_not_ugly(zoo: Comparison) -> None:
    assert {r.id for r in zoo.runs if r.group == "bad"} == set(NOT_LEARNING)
    assert any("too conservative" in text for text in zoo.readings)


@pytest.mark.whole
def test_what_broke_is_ugly_for_its_label(zoo: Comparison) -> None:
    ugly = {r.id: {f.word for f in r.flags} for r in zoo.runs if r.group == "ugly"}
    assert ugly.keys() == BROKEN.keys()
    assert {run: words & BROKEN[run] for run, words in ugly.items()} == BROKEN


def test_the_front_holds_healthy_runs_only(zoo: Comparison) -> None:
    assert zoo.cost == "tokens"
    assert zoo.front[-1] == zoo.runs[0].id, "the best run is the dear end of the front"
    assert set(zoo.front) & {*HEALTHY, *SLOW}
    assert not set(zoo.front) & set(BROKEN)


@pytest.mark.whole
def test_a_run_that_fell_is_behind_since_then(zoo: Comparison) -> None:
    fell = next(r for r in zoo.runs if r.id == "g31-add-s0").band
    assert fell is not None
    assert fell.behind_since is not None
    assert 200 <= fell.behind_since <= 300


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--id", "no-such-*"], "none of the"),
        (["--where", "lr"], "use KEY"),
        (["--primary", "no/such/key"], "no/such/key: none of"),
        (["--diff", "x", "y"], "no such run"),
        (["--latest", "0"], "1 or more"),
    ],
)
def test_what_matches_nothing_is_one_line_and_exit_2(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = next(path for path in sorted((REPO / "sample_runs").iterdir()) if path.is_dir())
    assert main(["compare", str(run), *words]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.long
def test_the_command_keeps_the_schema_and_a_terminal_is_told_which_run_is_read_a_file_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(REPO / "sample_runs"), "--format", "json"]) == 0
    Draft202012Validator(schema_of("compare")).validate(json.loads(capsys.readouterr().out))
    two = [str(REPO / "sample_runs" / name) for name in ("trl-nan-crash", "verl-grpo-crash")]
    words = ["compare", *two, "--format", "json"]
    assert main(words) == 0
    plain, quiet = capsys.readouterr()
    assert not quiet
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert out == plain, "two looks at the same files"
    assert "reading 2 of 2: " in err
    assert err.endswith("\r\x1b[K"), "and the line is empty again"


def test_no_run_at_all_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(tmp_path)]) == 2
    assert "no training log recognised" in capsys.readouterr().err


def test_runs_of_public_logs_compare_without_config(labelled_run: Callable[[str], Path], tmp_path: Path) -> None:
    out = tmp_path / "c.md"
    words = [str(labelled_run("real/verl-ppo-gsm8k-gemma2-2b")), str(labelled_run("zoo/v01-add-s0"))]
    assert main(["compare", *words, "-o", str(out)]) == 0
    assert out.read_text(encoding="utf-8").startswith("# Comparison of 2 runs")


def test_runs_of_one_name_keep_apart(tmp_path: Path) -> None:
    rows = "".join(json.dumps({"step": i, "reward": 0.1 * i}) + "\n" for i in range(1, 12))
    paths = []
    for parent in ("a", "b"):
        (tmp_path / parent / "run").mkdir(parents=True)
        (tmp_path / parent / "run" / "metrics.jsonl").write_text(rows, encoding="utf-8")
        paths.append(str(tmp_path / parent / "run"))
    twice = read(locate([*paths, paths[0]]))
    assert len({run.id for run in twice}) == 3
    assert len(compare(twice).runs) == 3
