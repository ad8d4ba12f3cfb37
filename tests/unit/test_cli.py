"""The command line's contract: exit codes, one clear line for what is wrong, the same bytes for the same input."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from rltui.cli import main
from tests.conftest import REPO, report_schema

SAMPLES = REPO / "sample_runs"
CRASH = SAMPLES / "verl-grpo-crash"
HEALTHY = SAMPLES / "trl-grpo-healthy"


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main([str(w) for w in words])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["report", "nope.log"], ["nope.log", "no such file"]),
        (["report"], ["RUN"]),
        (["report", REPO / "pyproject.toml"], ["pyproject.toml", "hold no metrics by step", "--format-in"]),
        (["report", SAMPLES], ["7 runs", "--newest", "--all", "trl-nan-crash"]),
        (["report", HEALTHY, "--now", "yesterday"], ["--now", "ISO 8601"]),
        (["report", HEALTHY, "--format-in", "bogus"], ["bogus", "jsonl"]),
        (["report", REPO / "pyproject.toml", "--format-in", "wandb"], ["pyproject.toml: nothing in it reads as wandb"]),
        (["report", HEALTHY, "--map", "score"], ["--map", "METRIC=KEY"]),
        (["report", HEALTHY, "--map", "reward_maen=x"], ["--map reward_maen=x", "did you mean reward_mean?"]),
        (["report", HEALTHY, "--map", "score=x"], ["--map score=x", "nearest: score_mean"]),
        (["report", HEALTHY, "--map", "my_rwd=x"], ["--map my_rwd=x", "Known ones are step, reward_mean"]),
        (["report", HEALTHY, "--map", "phase:rolout=x"], ["did you mean phase:rollout?"]),
        (["watch", HEALTHY, "--map", "reward_maen=x"], ["did you mean reward_mean?"]),
        (["compare", HEALTHY, "--map", "reward_maen=x"], ["did you mean reward_mean?"]),
        (["report", HEALTHY, "--window", "0"], ["--window"]),
        (["report", HEALTHY, "-o", "absent/dir/file"], ["absent/dir/file"]),
        (["report", ""], ["RUN is empty"]),
        (["report", "s3://bucket/run"], ["s3://bucket/run", "ssh://"]),
        (["runs", "absent"], ["absent", "no such directory"]),
    ],
)
def test_wrong_use_is_one_clear_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str | Path], says: list[str]
) -> None:
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert err.startswith("rltui: ")
    assert "Traceback" not in err
    for word in says:
        assert word in err


def test_a_mapped_key_that_the_run_does_not_log_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "report", CRASH, "--map", "score_mean=critic/rewrads/mean")
    assert code == 0  # it may come yet
    for text in (out, err):
        assert "--map score_mean=critic/rewrads/mean: this run logs no such key" in text
        assert "critic/rewards/mean" in text
    assert run(capsys, "report", HEALTHY, "--map", "kl_ref=kl")[2] == ""


def test_a_mapped_key_may_have_the_prefix_of_its_container(capsys: pytest.CaptureFixture[str]) -> None:
    def keys(*words: str) -> str:
        return str(
            json.loads(run(capsys, "report", HEALTHY, "--format", "json", *words)[1])["metrics"]["val_score"]["key"]
        )

    assert keys("--map", "val_score=train/completion_length") == keys("--map", "val_score=completion_length")


def test_a_file_without_permission_is_named(
    capsys: pytest.CaptureFixture[str], as_a_user: tuple[Path, Callable[[], AbstractContextManager[None]]]
) -> None:
    folder, unprivileged = as_a_user
    log = folder / "train.log"
    log.write_text("step:1 - actor/pg_loss:0.1\n")
    assert run(capsys, "report", log)[0] == 0  # and everything is imported
    log.chmod(0)
    with unprivileged():
        code, _, err = run(capsys, "report", log)
    assert code == 2
    assert "train.log" in err
    assert "permission" in err.lower()


def test_a_list_says_what_it_could_not_read(
    capsys: pytest.CaptureFixture[str], as_a_user: tuple[Path, Callable[[], AbstractContextManager[None]]]
) -> None:
    """A directory that nobody may list holds no known number of runs; one below it, or a log there, is told."""
    folder, unprivileged = as_a_user
    for name in ("open", "closed", "mute"):
        (folder / "all" / name).mkdir(parents=True)
        (folder / "all" / name / "train.log").write_text("step:1 - actor/pg_loss:0.1\nstep:2 - actor/pg_loss:0.2\n")
    code, out, err = run(capsys, "runs", folder / "all")
    assert (code, err) == (0, "")
    (folder / "all" / "closed").chmod(0)
    (folder / "all" / "mute" / "train.log").chmod(0)
    with unprivileged():
        code, out, err = run(capsys, "runs", folder / "all")
    assert code == 0
    assert "open" in out
    assert f"{folder}/all: 1 folder below it cannot be read: permission denied" in err
    assert f"{folder}/all/mute/train.log" in err
    (folder / "all").chmod(0)
    with unprivileged():
        code, out, err = run(capsys, "runs", folder / "all")
    assert (code, out) == (2, "")
    assert "permission denied" in err
    (folder / "all").chmod(0o755)
    (folder / "all" / "closed").chmod(0o755)


@pytest.mark.long
def test_every_sample_run_gives_a_valid_report(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "report", SAMPLES, "--all", "--format", "json")
    reports = json.loads(out)
    assert code == 0
    assert len(reports) == 7
    for report in reports:
        report_schema().validate(report)


def test_the_same_input_and_time_give_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("report", CRASH, "--format", "json", "--now", "2026-11-21T10:00:00Z")
    assert run(capsys, *words)[1] == run(capsys, *words)[1]


def test_fail_on_turns_a_finding_into_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "report", CRASH, "--fail-on", "critical")[0] == 1
    assert run(capsys, "report", CRASH)[0] == 0
    assert run(capsys, "report", HEALTHY, "--fail-on", "critical")[0] == 0


def test_at_looks_at_no_later_row(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "report", CRASH, "--format", "json", "--at", "40")
    report = json.loads(out)
    assert report["run"]["steps"]["last"] == 40
    assert all(f["onset_step"] is None or f["onset_step"] <= 40 for f in report["findings"])
    assert "run-crashed" not in {f["id"] for f in report["findings"]}


@pytest.mark.long
def test_last_and_since_narrow_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.loads(run(capsys, "report", HEALTHY, "--format", "json")[1])
    last = json.loads(run(capsys, "report", HEALTHY, "--format", "json", "--last", "10")[1])
    since = json.loads(run(capsys, "report", HEALTHY, "--format", "json", "--since", "240")[1])
    count = {k: m["count"] for k, m in last["metrics"].items()}
    assert max(count.values()) == 10
    assert since["run"]["steps"]["first"] >= 240
    assert last["metrics"]["reward_mean"]["last_value"] == whole["metrics"]["reward_mean"]["last_value"]
    assert last["verdict"] == whole["verdict"]
    code, out, err = run(capsys, "report", HEALTHY, "--since", "9999")
    assert (code, out) == (2, "")
    assert "--since 9999: the run has only reached step 250" in err


def test_append_only_adds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status = tmp_path / "STATUS.md"
    status.write_text("# mine\n")
    run(capsys, "report", CRASH, "--append", status)
    first = status.read_text()
    run(capsys, "report", CRASH, "--append", status)
    assert first.startswith("# mine\n")
    assert status.read_text().startswith(first)
    assert len(status.read_text()) > len(first)


def test_map_reads_a_key_as_a_metric(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(f'{{"step": {i}, "my/goal": {i / 40}, "loss": 0.1}}\n' for i in range(1, 41)))
    _, out, _ = run(capsys, "report", log, "--format", "json", "--map", "reward_mean=my/goal")
    assert json.loads(out)["metrics"]["reward_mean"]["key"] == "my/goal"


def test_runs_lists_what_needs_attention_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "runs", SAMPLES, "--format", "json")
    listed = json.loads(out)["runs"]
    assert code == 0
    assert [r["id"] for r in listed][-1] == "trl-grpo-healthy"
    assert {r["id"] for r in listed} == {p.name for p in SAMPLES.iterdir() if p.is_dir()}


def test_an_empty_directory_is_told_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = run(capsys, "runs", tmp_path)
    assert code == 0
    assert "rltui demo" in out


@pytest.mark.long
def test_without_a_terminal_a_run_is_reported_and_nothing_lists_the_runs(tmp_path: Path) -> None:
    def piped(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rltui", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=SAMPLES, check=False)

    assert "trl-nan-crash" in piped().stdout
    assert "trl-nan-crash" in piped("demo").stdout
    assert piped("verl-grpo-crash").stdout.lstrip().startswith("#")


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ("", "standard input ended before the first line"),
        ("\n\n", "ended before the first line"),
        ("hello\n", "no training log"),
    ],
)
def test_a_pipe_without_a_log_is_one_clear_line_and_exit_code_2(sent: str, says: str) -> None:
    command = [sys.executable, "-m", "rltui", "report", "-"]
    done = subprocess.run(command, input=sent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["a\x1b[31mred\x1b]0;title\x07", "b\x9b31mc\x85", "\udcff\udcfe"])
def test_no_name_of_a_file_reaches_the_terminal_as_a_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    for folder in (name, "plain"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.jsonl").write_text('{"step": 1, "reward": 0.5, "kl": 0.1}\n')
    for words in (["runs"], ["report"], ["report", "--all"], ["report", "--all", "--format", "json"], ["compare"]):
        _, out, err = run(capsys, *words, tmp_path)
        told = (out + err).encode()  # which lone surrogates would refuse
        assert told
        assert all(chr(c).isprintable() or c == 10 for c in told if c < 128)
        assert not set("\x85\x9b") & set(told.decode())


def test_doctor_says_what_works(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    assert "NVML" in out


def test_each_of_several_runs_is_named_by_what_to_type(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    row = '{"step":%d,"reward":0.5,"kl":0.1}\n'
    for project in ("a", "b"):
        folder = tmp_path / "wandb" / f"offline-run-20261120_10000{len(project)}-{project * 8}"
        (folder / "files").mkdir(parents=True)
        (folder / f"run-{project * 8}.wandb").write_bytes(b":W&B\xbe\xe1\x00")
        (folder / "files" / "output.log").write_text(row % 1)
    code, _, err = run(capsys, "report", tmp_path / "wandb")
    named = [line.split()[0] for line in err.splitlines()[1:]]
    assert code == 2
    assert len(set(named)) == 2
    for path in named:
        assert run(capsys, "report", path)[0] == 0


def test_python_does_not_comment_on_what_a_log_holds(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    config = "{'trainer': {'total_training_steps': 9,\n  'pattern': '\\W+'}}\n"
    log.write_text(config + "".join(f"step:{n} - actor/entropy:0.5 - critic/rewards/mean:0.{n}\n" for n in range(1, 6)))
    command = [sys.executable, "-W", "always", "-m", "rltui", "report", str(log), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPO)
    assert done.stderr == ""
    assert json.loads(done.stdout)["run"]["steps"]["total"] == 9


@pytest.mark.parametrize("command", ["runs", "compare"])
def test_options_may_stand_between_the_runs(capsys: pytest.CaptureFixture[str], command: str) -> None:
    code, between, err = run(capsys, command, HEALTHY, "--format", "json", CRASH)
    assert (code, err) == (0, "")
    assert run(capsys, command, "--format", "json", HEALTHY, CRASH) == (0, between, "")
    assert len(json.loads(between)["runs"]) == 2
