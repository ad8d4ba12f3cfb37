"""Completions are written by a model under optimisation: nothing in them may reach a terminal or leave a secret."""

from __future__ import annotations

import contextlib
import io
import json
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rltui.cli import main
from rltui.records import as_dict
from rltui.report.rollouts_page import Listed, Query, RolloutBrowser
from rltui.rollouts.formats import dump
from rltui.rollouts.formats.base import TEXT_LIMIT
from tests.unit.rollouts.dumps import GOOD, VERL_LOG, index, lines, trl

HOSTILE = (
    "\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07 [bold]not bold[/bold] [link=file:///etc]x[/link]\r\n"
    "\u202eright to left\u202c \u2066isolate\u2069 zero\u200bwidth \x9b31m \x07 \x00 "
    "key hf_abcdefghijklmnopqrstuvwxyz012345 password=hunter2secret"
)
SECRETS = ("hf_abcdefghijklmnopqrstuvwxyz012345", "hunter2secret")


def run_cli(*words: str) -> tuple[int, str]:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main(["rollouts", *words])
    return code, out.getvalue()


def hostile_run(root: Path) -> Path:
    (root / "train.log").write_text(VERL_LOG)
    row = {"input": HOSTILE, "output": HOSTILE * 3, "score": 0.0, "gts": HOSTILE, "pred": HOSTILE, f"x{HOSTILE}": 1.0}
    lines(root / "rollouts" / "3.jsonl", [row, {"input": HOSTILE, "output": GOOD, "score": 1.0, "gts": HOSTILE}])
    return root


def is_safe(text: str) -> bool:
    """No control character but the newline, nothing that reorders or hides."""
    return all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in text)


@pytest.mark.parametrize("form", ["text", "json"])
def test_hostile_completions_change_only_their_own_cell(tmp_path: Path, form: str) -> None:
    code, out = run_cli(str(hostile_run(tmp_path)), "--format", form)
    assert code == 0
    assert is_safe(out)
    assert not any(secret in out for secret in SECRETS)
    assert "right to left" in out
    if form == "json":
        detail = json.loads(out)["detail"]
        assert detail["worst"]["reward"] == 0.0
        assert is_safe(json.dumps(detail, ensure_ascii=False))
        texts = json.dumps(detail)
        assert "\\u001b" not in texts
        assert "\\u202e" not in texts


def test_every_form_of_dump_is_cleaned_at_the_door(tmp_path: Path) -> None:
    lines(tmp_path / "swift" / "completions.jsonl", [{"step": ["1"], "prompt": [HOSTILE], "completion": [HOSTILE]}])
    lines(
        tmp_path / "step_2" / "train" / "all" / "traces.jsonl",
        [{"traces": [{"nodes": [{"message": {"role": HOSTILE, "content": HOSTILE}}], "rewards": {HOSTILE: 1.0}}]}],
    )
    trl(tmp_path, 3, [(HOSTILE, HOSTILE, 0.0, 0.0)])
    found = index(tmp_path)
    assert len(found.entries) == 3
    for entry in found.entries:
        step = found.read(entry)
        shown = json.dumps([repr(one) for one in step.page(range(len(step)))], ensure_ascii=False)
        assert is_safe(shown)
        assert not any(secret in shown for secret in SECRETS)


def test_a_text_of_a_megabyte_is_bounded(tmp_path: Path) -> None:
    lines(tmp_path / "rollouts" / "1.jsonl", [{"input": "a", "output": "x y " * 300_000, "score": 0.0}])
    (tmp_path / "train.log").write_text(VERL_LOG)
    found = index(tmp_path)
    one = found.read(found.entries[0]).rollout(0)
    assert one.completion is not None
    assert len(one.completion) <= TEXT_LIMIT
    code, out = run_cli(str(tmp_path))
    assert code == 0
    assert max(map(len, out.split("\n"))) < 300


@pytest.mark.parametrize("listed", ["groups", "samples", "steps"])
def test_every_row_of_the_screen_is_clean(tmp_path: Path, listed: Listed) -> None:
    hostile_run(tmp_path)
    straddling = "y " * 60 + "z" * 860 + " " + SECRETS[0]
    lines(tmp_path / "rollouts" / "4.jsonl", [{"input": HOSTILE, "output": straddling, "score": 1.0}] * 2)
    browser = RolloutBrowser(index(tmp_path), "verl")
    for step in (3, 4):
        page = browser.page(Query(step=step, listed=listed, inside=0 if listed == "steps" else None))
        assert page.lines
        shown = json.dumps(as_dict(page), ensure_ascii=False, default=str)
        assert is_safe(shown)
        assert not any(secret in shown for secret in SECRETS)


def test_no_report_shows_what_a_sample_hides(tmp_path: Path) -> None:
    hostile_run(tmp_path)
    for words in (("--search", "right to left"), ("--sort", "reward"), ("--only", "invalid"), ("--same-prompt",)):
        code, out = run_cli(str(tmp_path), *words)
        assert code == 0
        assert is_safe(out)
        assert not any(secret in out for secret in SECRETS)
    for form in ("markdown", "json"):
        with contextlib.redirect_stdout(io.StringIO()) as written:
            assert main(["report", str(tmp_path), "--format", form]) == 0
        assert is_safe(written.getvalue())
        assert not any(secret in written.getvalue() for secret in SECRETS)


def test_a_field_nested_too_deeply_is_named_by_its_type(tmp_path: Path) -> None:
    nested: object = 1
    for _ in range(900):
        nested = [nested]
    lines(tmp_path / "rollouts" / "1.jsonl", [{"input": "a", "output": "b", "score": 1.0, "deep": nested}])
    found = index(tmp_path)
    assert found.read(found.entries[0]).rollout(0).completion == "b"


NAMES = ("1.jsonl", "completions_00001.parquet", "x_1_ab.table.json", "samples.json", "train.log", "traces.jsonl")
_FIELDS_OF_TEXTS = ("prompt", "completion", "content", "message", "role", "tool_calls", "traces", "nodes", "columns")
_FIELDS_OF_NUMBERS = ("reward", "rewards", "score", "step", "steps", "group", "traj_idx", "input_lengths", "data")
FIELDS = (*_FIELDS_OF_TEXTS, *_FIELDS_OF_NUMBERS, "stop_reason")
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


def walk_all(name: str, data: bytes, cut: bool = False) -> None:
    block = dump.read(name, data, cut=cut)
    count = sum(1 for _ in block.raws())
    for place in range(min(count, 5)):
        assert is_safe(repr(block.rollout(place)).replace("\\n", ""))
    assert block.skipped >= 0


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(NAMES), st.lists(SHAPES, max_size=4), st.booleans())
def test_json_of_any_shape_breaks_no_reader(name: str, values: list[object], cut: bool) -> None:
    walk_all(name, "\n".join(map(json.dumps, values)).encode("utf-8", "surrogatepass"), cut)
    walk_all(name, json.dumps(values).encode("utf-8", "surrogatepass"), cut)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(NAMES), st.binary(max_size=200), st.integers(0, 10_000), st.integers(0, 255))
def test_damaged_bytes_break_no_reader(name: str, noise: bytes, at: int, byte: int) -> None:
    sound = _sound()[name.rpartition(".")[2] if name != "train.log" else "log"]
    at %= len(sound)
    walk_all(name, noise)
    walk_all(name, sound[:at])
    walk_all(name, sound[:at] + bytes([byte]) + sound[at + 1 :])
    walk_all(name, sound[:at] + noise + sound[at:])


@cache
def _sound() -> dict[str, bytes]:
    """Made when it is asked for: importing this module starts no threads of polars, of which a fork would have none."""
    import polars

    buffer = io.BytesIO()
    polars.DataFrame({"step": [1], "prompt": ["p"], "completion": ["c"], "reward": [1.0]}).write_parquet(buffer)
    rows = b'{"input": "a", "output": "b", "score": 1.0, "step": 1}\n' * 3
    log = (
        b"------------- 07-21 Accuracy reward: 1.0 -------------\nContent: six\nSolution: 6\n"
        b"Global step 1: x\n Sample: ['a', 0.5]\n"
        b"--------------------------------\nGolden answers: a\nExtracted answer: b\nSolution string: c\n"
    )
    return {
        "jsonl": rows,
        "json": b"[" + rows.strip().replace(b"\n", b",") + b"]",
        "parquet": buffer.getvalue(),
        "log": log,
    }
