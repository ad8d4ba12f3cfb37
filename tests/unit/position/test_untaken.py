"""What a console log holds beside its rows is counted, with the reason and where the first is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.readers.console.reader import ConsoleReader
from rltui.readers.console.untaken import MAX_FORMS

WORDS = "reading the data"
OTHER = "saw a throughput of {i}.5 tok/s at port {i}"
NAMELESS = "so (3)+({i}), q.e.d."
ONCE = ("vocabulary of 32000 words", "a seed was drawn: 17")
STYLES = {
    "one line": "step {i}/40 | loss: 0.{i:02} | reward: 0.5",
    "learnt": "update {i} was run: loss 0.{i:02}, reward 0.5",
    "lines below": "[{i}/40] loss=0.{i:02}\n  reward: 0.5\n  kl: 0.1",
    "block": "==== Step {i}/40 ====\n  loss: 0.{i:02}\n  reward: 0.5",
    "heading": "Iteration {i}\nloss: 0.{i:02}\nreward: 0.5\nkl: 0.1",
    "dict": "{{'step': {i}, 'loss': 0.{i:02}, 'reward': 0.5}}",
    "broken dict": "{{'step': {i}, 'loss': 0.{i:02},\n 'reward': 0.5}}",
    "verl": "step:{i} - actor/pg_loss:0.{i:02} - critic/score/mean:0.5",
    "bar": "{i}%|####      | {i}/100 [00:10<01:30,  1.02s/it, loss=0.{i:02}, reward=0.5]",
}


def text_in(style: str) -> str:
    lines = [WORDS, *ONCE]
    for i in range(1, 41):
        lines += STYLES[style].format(i=i).split("\n")
        lines += [OTHER.format(i=i)] if i % 4 == 2 else []
        lines += ["", NAMELESS.format(i=i), WORDS] if i % 10 == 3 else []
    return "\n".join(lines) + "\n"


def counts(text: str) -> list[tuple[int, str, str]]:
    """Number, place and text of what the lines above make."""
    lines = text.split("\n")
    made = ((OTHER, range(2, 41, 4)), (NAMELESS, range(3, 41, 10)))
    told = [(len(at), f"line {lines.index(form.format(i=at[0])) + 1}", form.format(i=at[0])) for form, at in made]
    return [*told, (2, "line 2", ONCE[0]), (5, "line 1", WORDS)]


@pytest.mark.parametrize("style", STYLES)
def test_each_line_is_a_row_or_is_counted(style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = text_in(style)
    (tmp_path / "train.log").write_text(text)
    assert main(["report", str(tmp_path / "train.log"), "--format", "json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert run["steps"]["rows"] == 40
    [source] = run["sources"]
    assert [(one["count"], one["first"], one["text"]) for one in source["left_out"]] == counts(text)


@pytest.mark.parametrize("style", STYLES)
def test_the_same_however_it_comes(style: str) -> None:
    text = text_in(style)
    reader = ConsoleReader()
    for at in range(0, len(text), 23):
        reader.feed(text[at : at + 23].encode())
    reader.finish()
    assert [(one.count, one.first, one.text) for one in reader.left_out()] == counts(text)


@pytest.mark.long
def test_forms_without_end_are_counted_all() -> None:
    reader = ConsoleReader()
    names = [f"{a}{b}{c}" for a in "abcdefghijklmnop" for b in "abcdefghijklmnop" for c in "abcdefghij"]
    assert len(names) > MAX_FORMS
    reader.feed("".join(f"{name} of 17\n{name} alone\n" for name in names).encode())
    assert [one.count for one in reader.left_out()] == [len(names), len(names)]


def test_markdown_tells_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.log").write_text(text_in("one line"))
    assert main(["report", str(tmp_path / "train.log"), "--long"]) == 0
    out = capsys.readouterr().out
    assert (
        "10 × recurring line with named numbers, but no step, as at line 6: “saw a throughput of 2.5 tok/s at port 2”"
        in out
    )
