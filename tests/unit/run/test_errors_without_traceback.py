"""An error that is printed without its traceback ends a run if it is the last that its log says. One that was caught,
of a kind that the training had survived, or that says how it goes on, ends none. Through `rltui report`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.unit.run.test_crashes import rows

LONG_AGO = 1_700_000_000

ENDS = {
    "files": ("OSError: [Errno 24] Too many open files: '/data/shard-17.arrow'", "Too many files were open"),
    "of a library, behind a dotted name": (
        "wandb.errors.CommError: Run initialization has timed out after 90.0 sec.",
        "A network service did not answer",
    ),
    "with its rank before it": ("[rank3]: RuntimeError: shape '[8, 512]' is invalid", "Its log ends with an error"),
    "as a logger writes it": ("2026-11-02 10:00:00,123 ERROR ValueError: bad mask", "Its log ends with an error"),
    "of native code": ("thread 'main' panicked at src/lib.rs:10:5: index out of bounds", "Native code crashed"),
    "in the words of a loop": ("Fatal: could not reach the trainer", "Its log ends by saying that it failed"),
    "a cloud that takes its machine back": (
        "Received SIGTERM, instance is being reclaimed (spot interruption notice). Exiting.",
        "The job was preempted",
    ),
}
FIRST_WORDS = {
    "a library of another build": (
        "ImportError: /x/flash_attn_2_cuda.so: undefined symbol: _ZN3c10",
        "A module is missing or of the wrong version",
    ),
    "an engine without room": (
        "ValueError: To serve at least one request with the models's max seq len (32768), (4.00 GiB KV cache is needed,"
        " which is larger than the available KV cache memory (2.11 GiB).",
        "The sampler found too little GPU memory",
    ),
    "a model behind a gate": ("OSError: You are trying to access a gated repo.", "A service refused access"),
    "too many requests": (
        "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://x.co/api",
        "A network service did not answer",
    ),
}
SURVIVED = {
    "in the middle": rows(1, 30) + "ValueError: could not parse answer 'x'\n" + rows(31, 60),
    "of a kind that was survived": (
        rows(1, 30) + "ValueError: cannot parse 'x'\n" + rows(31, 60) + "ValueError: no number in 'y'\n"
    ),
    "that says what it goes on with": rows(1, 60) + "JudgeError: timed out after 30 s, scoring it as 0\n",
    "that is tried again": rows(1, 60) + "httpx.ReadTimeout: timed out, retrying in 2 s\n",
    "a metric": rows(1, 60) + "ValueError: 0.25\n",
}


def reported(folder: Path, log: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    path = folder / "train.log"
    path.write_text(log, encoding="utf-8")
    os.utime(path, (LONG_AGO, LONG_AGO))
    assert main(["report", "--format", "json", str(path)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert isinstance(report, dict)
    return report


@pytest.mark.parametrize("case", ENDS)
def test_it_ends_the_run_that_it_is_the_last_word_of(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line, title = ENDS[case]
    report = reported(tmp_path, f"{rows(1, 60)}{line}\n", capsys)
    assert report["run"]["state"] == "crashed"
    (ended,) = (f for f in report["findings"] if f["id"] == "run-crashed")
    assert title in ended["summary"]
    assert ended["onset_step"] == 60


@pytest.mark.parametrize("case", FIRST_WORDS)
def test_it_ends_a_run_that_never_began(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line, title = FIRST_WORDS[case]
    report = reported(tmp_path, f"INFO starting trainer\n{line}\n", capsys)
    assert report["run"]["state"] == "crashed"
    assert title in report["answer"]["why"] + report["verdict"]["text"]


@pytest.mark.parametrize("case", SURVIVED)
def test_one_that_was_caught_ends_none(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reported(tmp_path, SURVIVED[case], capsys)["run"]["state"] != "crashed"


def test_one_in_a_log_that_still_grows_ends_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "train.log"
    path.write_text(rows(1, 60) + "ValueError: could not parse answer 'x'\n", encoding="utf-8")
    main(["report", "--format", "json", str(path)])
    assert json.loads(capsys.readouterr().out)["run"]["state"] != "crashed"
