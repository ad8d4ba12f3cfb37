"""Bars and lines of known forms are passed by many at once. What is read is what is read of each line alone."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from rltui.readers.base import Record
from rltui.readers.console.bar_rows import BarRows
from rltui.readers.console.known_bars import KnownBars
from rltui.readers.console.line_filter import LineFilter, shape_of
from rltui.readers.console.printed_rows import holds_mark, may_hold_mark
from rltui.readers.console.progress_bar import ProgressBar, bar
from rltui.readers.console.quiet_lines import QuietLines
from rltui.readers.console.reader import ConsoleReader

NAMES = ["Training Progress", "", "train", "Epoch 1/3", "Epoch 2/3", "Processed prompts", "eval", "GRPO", "gather"]
BEFORE = ["", "\x1b[36m(TaskRunner pid=4812)\x1b[0m ", "(main pid=3) ", "2026-07-14 10:11:12 "]
POSTFIXES = [", loss=0.312", ", loss=0.3, reward=0.25", ", 3.2 GB", ", v_num=3", ", step=4"]
GLUED = [
    "\x1b[A",
    " ",
    "step:7 - actor/kl:0.1 - critic/rewards/mean:0.25",
    "{'loss': 0.3, 'epoch': 0.5}",
    "WARNING: CUDA out of memory",
    "loss 0.3 reward 0.5",
    "step 9 loss 0.3",
    "[{'step': 1, 'loss': 0.3}, {'step': 2, 'loss': 0.2}]",
]
OTHERS = [
    "INFO 07-14 engine ok",
    "",
    " " * 40,
    "#### 18",
    "12 34",
    "[",
    "]",
    "```",
    "{",
    "WARNING something 3",
    "Traceback (most recent call last):",
    '  File "x.py", line 3, in f',
    "ValueError: x",
    "resuming from checkpoint",
    "***** Running Evaluation *****",
    "max_steps: 435",
    "lr: 0.1",
    "Killed",
    "loss=0.3 reward=0.25",
    "{'loss': 0.3, 'reward': 0.25}",
]


def shown(draw: random.Random, name: str, done: int, total: int, odd: float) -> str:
    """A bar as tqdm draws it; `odd`: how often one is not like others."""
    share = done / max(total, 1)
    filled = (draw.choice("█#━") if draw.random() < odd else "█") * min(10, int(10 * share))
    rate, left = f"{draw.uniform(1, 99):.2f}s/it", f"{draw.randrange(60):02}:{draw.randrange(60):02}"
    rate = draw.choice((rate, f"{draw.uniform(1, 99):.2f}it/s", "?it/s")) if draw.random() < odd else rate
    left = draw.choice((left, f"{draw.randrange(9)}:03:07", "?")) if draw.random() < odd else left
    text = f"{name}: " if name else ""
    drawn = "" if draw.random() < odd / 4 else f"|{filled:10}|"
    text += f"{100 * share:3.0f}%{drawn} {done}/{total} [{draw.randrange(60):02}:07<{left}, {rate}"
    text += f"{draw.choice(POSTFIXES) if draw.random() < odd else ''}]"
    text = (draw.choice(BEFORE) if draw.random() < odd else "") + text
    if draw.random() < odd:
        text += draw.choice(GLUED)
    if draw.random() < odd / 4:
        text = f"loss 0.{draw.randrange(99)} reward 0.5{text.lstrip()}"
    return text[: draw.randrange(1, len(text))] if draw.random() < odd / 4 else text


def log(seed: int) -> bytes:
    """A log with bars that rise, fall, restart, change their totals, and take turns, and with other lines between."""
    draw = random.Random(seed)
    odd, step = draw.choice((0.0, 0.02, 0.1)), 0
    others = draw.sample(OTHERS, 3)
    ends = draw.choice((("\n",), ("\r",), ("\n", "\n", "\n", "\r", "\r\n")))
    used = draw.sample(NAMES, draw.choice((1, 1, 2, 4)))
    totals = {name: draw.choice((10, 100, 435, 7, 123456, 0, 1)) for name in NAMES}
    done = dict.fromkeys(NAMES, 0)
    kind = draw.choice(("verl", "trl", "plain", "dict", "none"))
    out = []
    for _ in range(draw.choice((40, 200, 400))):
        if draw.random() < 0.6:
            for _ in range(draw.choice((1, 1, 2, 9))):
                name = draw.choice(used)
                way = draw.random()
                done[name] += -done[name] if way < 0.02 else -min(3, done[name]) if way < 0.05 else way < 0.6
                totals[name] = draw.choice((10, 99, 435)) if way > 0.98 else totals[name]
                done[name] = 0 if done[name] > totals[name] else done[name]
                out.append(shown(draw, name, done[name], totals[name], odd) + draw.choice(ends))
        elif draw.random() < 0.5:
            step = max(0, step - 4) if draw.random() < 0.03 else step + 1
            a, b = draw.random(), draw.random()
            row = {
                "verl": f"step:{step} - actor/kl_loss:{a:.5f} - critic/rewards/mean:np.float64({b:.4f})\n",
                "trl": f"{{'loss': {a:.4f}, 'grad_norm': {b:.3f}, 'reward': {b:.3f}, 'epoch': {step / 20:.2f}}}\n",
                "plain": f"step {step} | loss {a:.3f} | reward {b:.3f}\n",
                "dict": f"{{'loss': {a:.3f}, 'reward': {b:.3f}}}\n",
            }.get(kind, "\n")
            out.append((draw.choice(BEFORE[:3]) if kind == "verl" else "") + row)
        else:
            out.append(draw.choice(others) + "\n")
    return "".join(out).encode()


Told = tuple[list[str], list[tuple[str, int]], str]


def told(data: bytes, size: int) -> Told:
    reader = ConsoleReader()
    records: list[Record] = []
    for at in range(0, len(data), size):
        records += reader.feed(data[at : at + size])
    records += reader.finish()
    return [repr(one) for one in records], sorted(reader.skipped.items()), repr(reader.left_out())


SIZES = (211, 3000, 1 << 20)


@pytest.mark.parametrize(
    ("seed", "size"),
    [
        pytest.param(seed, size, marks=() if size == SIZES[seed % len(SIZES)] else pytest.mark.whole)
        for seed in range(60)
        for size in SIZES
    ],
)
def test_bars_are_read_as_one_by_one(seed: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each log in pieces of one size here, of all sizes with `-m whole`."""
    data = log(seed)
    found = told(data, size)
    monkeypatch.setattr(ConsoleReader, "_is_quiet", lambda reader, follows: False)
    assert found == told(data, size)


def calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[object]:
    """What a method returns from now on."""
    given: list[object] = []
    usual: Callable[..., object] = getattr(owner, name)

    def counted(*args: object) -> object:
        given.append(usual(*args))
        return given[-1]

    monkeypatch.setattr(owner, name, counted)
    return given


def test_most_bars_are_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a bar that rises between two rows only the first and the last state are painted."""
    bars, painted = calls(monkeypatch, KnownBars, "read"), calls(monkeypatch, BarRows, "paint")
    steps = ("".join(f"train:  1%|# | {10 * i + k}/9000 [00:01<?, {k}it/s]\n" for k in range(10)) for i in range(200))
    told("".join(f"{bars}step:{i} - kl:0.1\n" for i, bars in enumerate(steps)).encode(), 1 << 20)
    assert sum(one is not None for one in bars) > 1900
    assert len(painted) < 500


def test_lines_of_known_forms_are_found_together() -> None:
    """A form that becomes known within a block is known from the next line on; one that is forgotten, is not."""
    lines = [b"a 1", b"b 2", b"a 3", b"", b"b 4", b"[ [1, 2]", b"a 5"] * 40
    filter = LineFilter()
    filter.look_for([], False, False)
    block = QuietLines(b"\n".join(lines), filter)
    assert block.until(0) == 0
    filter.forget(b"a ", filter.dull)
    filter.forget(b"[ [, ]", filter.dull)
    for _ in range(2):  # the second time, these lines were sorted again
        for i, line in enumerate(lines):
            known = line[:1] not in (b"b", b"[")
            assert (block.until(i) > i) is known
            assert not any(lines[at][:1] in (b"b", b"[") for at in range(i, block.until(i)))
    assert [block.until(i) for i in range(7)] == [1, 1, 4, 4, 4, 5, 8]
    assert block.start(2) == len(b"a 1\nb 2\n")
    filter.look_for([], False, False)
    assert block.until(0) == 0


@pytest.mark.parametrize(
    "line",
    [
        "train:  10%|# | 1/10 [00:01<00:09, 1.0it/s]",
        "  3%|▎ | 14/435 [12:07<5:58:01, 51.02s/it]",
        "\x1b[36m(TaskRunner pid=4812)\x1b[0m Training Progress: 100%|█| 9/9 [00:01<?, ?it/s, loss=0.3]",
    ],
)
def test_a_bar_like_one_before_shows_the_same(line: str) -> None:
    known = KnownBars()
    first = bar(line.encode())
    assert first is not None
    assert known.read(line.encode()) is None
    known.learn(line.encode(), first)
    assert known.read(line.encode()) == first
    later = line.replace("1/10", "2/10").replace("14/435", "15/435").replace("9/9", "9/19")
    assert known.read(later.encode()) == bar(later.encode()) != first
    assert known.read(line.encode() + b"\x1b[A") == bar(line.encode() + b"\x1b[A")
    for other in (line[:-1], line + " loss 0.3", "x" + line, line.replace("%", ""), line.replace("|", "| {'a'", 1)):
        assert known.read(other.encode()) is None


def test_a_bar_without_its_graphic_is_no_known_bar() -> None:
    known, line = KnownBars(), b"eval: 3% 10/435 [00:01<00:09, 1.0it/s]"
    known.learn(line, ProgressBar(10, 435, "eval", False))
    assert known.read(b"  3%|# | 10/435 [00:01<00:09, 1.0it/s]") is None


@pytest.mark.parametrize(
    "text", [b"[[1, 2]]", b"[ {'step': 1}]", b'"a": [1, 2]', b"array([0.1,", b"[", b"[ \r", b"```py"]
)
def test_lists_and_code_are_marked(text: bytes) -> None:
    line = b"x " + text
    assert holds_mark(line, 0, len(line))
    assert not holds_mark(line, 0, 1)
    assert may_hold_mark(shape_of(line))
    assert not holds_mark(b"[12:07<5:58:01, 51.02s/it] a `b`", 0, 20)
