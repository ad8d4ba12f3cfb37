from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.readers.lines import MANY_BYTES
from tests.unit.readers.reading import read

RAY = "\x1b[36m(TaskRunner pid=48123)\x1b[0m "


def test_values_of_all_generations() -> None:
    found = read(
        "verl-console",
        RAY + "step:7 - actor/kl_loss:np.float64(0.0016) - critic/lr(1e-4):0.100 - num_turns/max:np.int32(4)"
        " - actor/pg_loss:-0.000 - actor/lr:1e-06 - bad:nan - worse:-inf - critic/kl:np.float64(nan) - on:True\n",
    )
    assert found.rows == [
        (
            7,
            {
                "actor/kl_loss": 0.0016,
                "critic/lr(1e-4)": 0.1,
                "num_turns/max": 4.0,
                "actor/pg_loss": 0.0,
                "actor/lr": 1e-06,
                "bad": None,
                "worse": None,
                "critic/kl": None,
            },
        )
    ]


def test_text_glued_before_and_behind() -> None:
    found = read(
        "console",
        "\rTraining Progress:   1%|▏  | 3/240 [00:00<00:09, 25.08it/s]step:4 - a:1.5 - b:2[CRITICAL] batch - c:9\n"
        + RAY
        + "debug {'x': 1} step:5 - a:2.5\x1b[32m [repeated 7x across cluster]\x1b[0m\n"
        + "step:6 - a:1 - b:2 step:7 - a:3(WorkerDict pid=1) noise\n",
    )
    assert found.rows == [(4, {"a": 1.5, "b": 2.0}), (5, {"a": 2.5}), (6, {"a": 1.0, "b": 2.0}), (7, {"a": 3.0})]
    assert [(n.step, n.total) for n in found.notes if n.kind == "progress"] == [(3, 240)]


def test_a_name_with_a_dash_stays_whole() -> None:
    found = read("verl-console", "step:1 - a:1 - val-core/open - ai/acc/mean@1:0.5\n")
    assert found.rows == [(1, {"val-core/open - ai/acc/mean@1": 0.5, "a": 1.0})]


def test_prose_is_no_step_line() -> None:
    text = "Solve it. step:1 - 3 apples are left\nstep: warmup\n(AgentLoopWorker pid=3) step:2 - then add: 4 - 2\n"
    assert read("console", text).rows == []


def test_an_unterminated_last_line_counts_once() -> None:
    first = read("verl-console", "step:1 - a:1\nstep:2 - a:2")
    assert first.steps == [1, 2]
    first.take(first.reader.feed(b"\nstep:3 - a:3\n"))
    first.take(first.reader.finish())
    assert first.steps == [1, 2, 3]
    grown = read("verl-console", "step:1 - a:0.12")
    grown.take(grown.reader.feed(b"5 - b:2\n"))
    assert grown.rows[-1] == (1, {"a": 0.125, "b": 2.0})


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.floats(-1e3, 1e3).map("{:.3f}".format),
    st.floats(-1, 1).map(lambda x: f"np.float64({x!r})"),
    st.sampled_from(["nan", "inf", "-inf", "np.float64(nan)", "np.int32(4)", "True", "None", "1e-06", "[1, 2]", "x"]),
)
KEYS = st.sampled_from(["actor/lr(1e-4)", "timing_s/gen", "val-core/openai/gsm8k/acc/mean@1", "a b", "critic/kl", "m"])
LINES = st.one_of(
    st.tuples(st.integers(0, 9999), st.dictionaries(KEYS, NUMBERS, min_size=1, max_size=5)).map(
        lambda row: RAY * (row[0] % 2) + f"step:{row[0]} - " + " - ".join(f"{k}:{v}" for k, v in row[1].items())
    ),
    st.sampled_from(["", "noise", RAY + "[prompt] 3 - 1 = 2", "step:x - a:1", "  0%|   | 1/9 [00:00<?, ?it/s]", "é"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(LINES, max_size=12), st.lists(st.integers(1, 90), max_size=20), st.sampled_from(["\n", "\r\n"]))
def test_the_same_however_it_is_cut(lines: list[str], sizes: list[int], end: str) -> None:
    data = "".join(line + end for line in lines)
    whole, pieces = read("console", data), read("console", data, sizes)
    assert pieces.rows == whole.rows
    first = f"step:0 - a:1{end}"  # other lines are read in other ways only above those of verl
    one_by_one = [row for line in lines for row in read("verl-console", first + line + end).rows[1:]]
    assert read("verl-console", first + data).rows[1:] == one_by_one


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(KEYS, NUMBERS), min_size=1, max_size=6, unique_by=lambda pair: pair[0]))
def test_numbers_are_python_s(cells: list[tuple[str, str]]) -> None:
    line = "step:3 - " + " - ".join(f"{k}:{v}" for k, v in cells) + " - end:1\n"
    rows = read("verl-console", f"step:2 - a:1\n{line}").rows[1:]
    expected: dict[str, float | None] = {"end": 1.0}
    for key, text in cells:
        bare = text.removeprefix("np.float64(").removeprefix("np.int32(").removesuffix(")")
        if bare in ("nan", "inf", "-inf"):
            expected[key] = None
        elif bare not in ("True", "None", "x", "[1, 2]"):
            expected[key] = float(bare)
    if rows:
        assert rows == [(3, expected)]
    else:
        assert " " in cells[0][0] or cells[0][1].startswith("[")  # no step line is recognised by such a first piece


SHOWN = st.sampled_from(
    ["0.25", "tensor(0.25)", "Array(0.25, dtype=float32)", "np.float64(0.25)", "torch.tensor(nan)", "x"]
)


@pytest.mark.long
@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.tuples(SHOWN, SHOWN), min_size=1, max_size=6),
    st.sampled_from(["m", "tensor(0.5)", "rray(m"]),
    st.sampled_from(["", "step:0 - a/x:1.5\n"]),
)
@example([("0.25", "0.25")], "tensor(0.5)", "step:0 - a/x:1.5\n")
def test_shown_numbers_among_many_lines_are_read_as_one_by_one(
    values: list[tuple[str, str]], key: str, above: str
) -> None:
    """Many lines at once go another way than a few, which must not show."""
    lines = [f"a/x:1.5 - {key}:{one} - b:{two}\n" for one, two in values]
    one_by_one = [read("verl-console", f"step:1 - {line}").rows[0][1] for line in lines]
    count = 2 + MANY_BYTES // (min(map(len, lines)) - 1)
    text = above + "".join(f"step:{n} - {lines[n % len(lines)]}" for n in range(1, count))
    found = [row for row in read("verl-console", text).rows if row[0]]
    assert found == [(n, one_by_one[n % len(lines)]) for n in range(1, count)]


def test_a_line_that_goes_on_as_another_step() -> None:
    """`step:` within a line begins another one if it is no end of a key, or if the first name comes again."""
    for line, expected in {
        "step:1 - a:1 - b/step:2 - c:3\n": [(1, {"a": 1.0, "b/step": 2.0, "c": 3.0})],
        "step:1 - a:1 - b/step:2 - a:3\n": [(1, {"a": 1.0}), (2, {"a": 3.0})],
        "step:1 - a:1 - b:0.1step:2 - c:3\n": [(1, {"a": 1.0}), (2, {"c": 3.0})],
        "step:1 - a:1 - t/step:0.5 - x/step:2 - c:3 - a:4\n": [(1, {"t/step": 0.5, "x/step": 2.0, "c": 3.0, "a": 4.0})],
    }.items():
        assert read("verl-console", line).rows == expected, line
