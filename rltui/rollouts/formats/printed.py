"""Samples that a trainer printed into its log: R1-V and VLM-R1 (reward, Content, Solution), Search-R1 (Golden answers,
Extracted answer, Solution string), verl (`[prompt]`, `[response]`, `[score]`), OpenRLHF (`Sample: [...]`), ROLL (a JSON
list of prompt and response), TRL (a table, see `rich_table`).

The step is the last one that the log named before the sample. verl and OpenRLHF print a step's line at its very end, so
in their logs it is the next one. In verl's log, samples below "validation generation end" are validation samples.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, AnyStr, NamedTuple

import orjson

from rltui.readers.literals import literal
from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Block, Raw

PANEL_MARK = "─ Step ".encode()
PANEL = re.compile("(?m)^╭(?:─)+ Step (?P<step>\\d{1,12}) (?:─)+╮[ \\t\\r]*$".encode())
_CUT = "…"  # rich cuts off what is wider than its column


def panel_body(data: bytes, start: int) -> bytes:
    """The lines of a panel after its title."""
    end = data.find("\n╰".encode(), start)
    return data[start : end if end >= 0 else len(data)]


def panel_samples(text: str, step: int) -> list[Raw]:
    """The samples of a panel's table; empty if it holds another table."""
    names: list[str] = []
    found: list[Raw] = []
    for cells in _rows(text):
        if not names:
            names = cells
            if names[:2] != ["Prompt", "Completion"]:
                return []
        elif len(cells) == len(names):
            found.append(_sample(dict(zip(names, cells, strict=True)), step))
    return found


def _rows(text: str) -> Iterator[list[str]]:
    """The rows of the table, the heading first; a cell may take several lines."""
    lines: list[list[str]] = []
    for line in text.split("\n"):
        inner = line.strip().removeprefix("│").removesuffix("│").strip()
        if inner[:1] in ("┃", "│"):
            lines.append([cell[1:-1] for cell in inner[1:-1].split(inner[0])])
        elif inner[:1] in ("┡", "├", "└", "┗") and lines:
            width = len(lines[0])
            yield [_joined([cells[i] for cells in lines if len(cells) == width]) for i in range(width)]
            lines = []


def _joined(parts: list[str]) -> str:
    """The lines of a cell as one text. A line was wrapped if the next word did not fit; other line breaks are kept."""
    while parts and not parts[-1].strip():
        parts.pop()
    out = ""
    for number, part in enumerate(parts):
        out += part.strip()
        if number + 1 < len(parts):
            words = parts[number + 1].split(None, 1)
            wrapped = bool(words) and len(part.rstrip()) + 1 + len(words[0]) > len(part)
            out += " " if wrapped else "\n"
    return out


def _sample(cells: dict[str, str], step: int) -> Raw:
    numbers = {name: float(cell) for name, cell in cells.items() if re.fullmatch(r"[-+]?\d+\.\d+", cell)}
    advantage = next((numbers.pop(name) for name in list(numbers) if name.rstrip(_CUT) in "Advantage"), None)
    return Raw(step, cells["Prompt"], cells["Completion"], None, numbers, advantage, None, None, None)


MARKS = (b"eward: ", b"Golden answers:", b"Sample: [", b'"response"', b"[response] ", PANEL_MARK)
"""Every log with printed samples holds one of these."""

_PREFIX = re.compile(rb"(?m)^(?:\x1b\[[0-9;]*m)*\([^()\n]{0,80}pid=\d+[^()\n]{0,40}\)(?:\x1b\[[0-9;]*m)* ?")
_STEP = re.compile(rb"(?:[Gg]lobal[ _]step|pipeline step|epoch \d{1,6}, step) (\d{1,12})\b|\bstep:(\d{1,12}) - ")
_VERL_STEP = re.compile(rb"\bstep:(\d{1,12}) - ")
_OPENRLHF_STEP = re.compile(rb"\bGlobal step (\d{1,12}): \{")
_VALIDATION = b"validation generation end"
_REWARD = re.compile(
    rb"(?m)^-{4,} (?P<stamp>[^\n]{0,60}?)(?P<name>[A-Za-z][\w ]{0,40}?)? ?[Rr]eward: "
    rb"(?P<reward>[-+]?[.\d]+(?:[eE][-+]?\d+)?|nan|inf) *-*[ \t\r]*$"
)
_SEARCH = re.compile(
    rb"(?m)^-{8,}[ \t]*\n(?:Golden answers|Target): (?P<target>[^\n]*)\n"
    rb"Extracted (?:answer|equation): (?P<seen>[^\n]*)\nSolution string: "
)
_OPENRLHF = re.compile(rb"(?m)^[^\n]{0,200}?\bSample: (?P<list>\[[^\n]*\])")
_ROLL = re.compile(rb'(?m)^[^\n]{0,200}?(?P<list>\[\{"(?:prompt|response)":[^\n]*\}\])')
_VERL = re.compile(rb"(?m)^\[prompt\] ")
_VERL_FIELD = re.compile(r"(?m)^\[(?P<name>[A-Za-z][\w /-]{0,60})\] ?")
_BAR = re.compile(r"(?m)^[^\n]{0,80}?\d{1,3}%\|[^\n]*\][ \t\r]*(?:\n|\Z)")  # a tqdm bar, written into the sample's text
_PART = re.compile(r"(?m)^(?P<name>Content|Problem|Question|Image|Solution|Completion|Ground truth): ?")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def read(data: bytes) -> Block:
    """The samples in a log; an empty block if none were printed."""
    if not any(mark in data for mark in MARKS):
        return Block([], _parse)
    if b"pid=" in data:
        data = _PREFIX.sub(b"", data)
    steps = [(match.end(), int(match[1] or match[2])) for match in _STEP.finditer(data)]
    places = [place for place, _ in steps]

    def step(at: int) -> int | None:
        before = bisect_right(places, at)
        return steps[before - 1][1] if before else None

    found: list[tuple[int, str, Any, int | None]] = []
    for match, text in _with_bodies(list(_REWARD.finditer(data)), data):
        found.append((match.start(), "reward", (match, text), step(match.start())))
    for match, text in _with_bodies(list(_SEARCH.finditer(data)), data):
        found.append((match.start(), "search", (match, _to_next_row(text)), step(match.start())))
    verl = _StepEnds.of(data, _VERL_STEP)
    for match, text in _with_bodies(list(_VERL.finditer(data)), data):
        validates = data.rfind(_VALIDATION, verl.begin(match.start()), match.start()) >= 0
        found.append((match.start(), "verl", (text, validates), verl.step(match.start())))
    for match in PANEL.finditer(data):
        found.append((match.start(), "table", panel_body(data, match.end()), int(match["step"])))
    openrlhf = _StepEnds.of(data, _OPENRLHF_STEP)
    for match in _OPENRLHF.finditer(data):
        found.append((match.start(), "sample", match["list"], openrlhf.step(match.start())))
    for match in _ROLL.finditer(data):
        found.append((match.start(), "list", match["list"], step(match.start())))
    found.sort(key=lambda one: one[0])
    return Block(found, _parse)


class _StepEnds(NamedTuple):
    """The places of the lines that end a step, and their steps."""

    places: list[int]
    steps: list[int]

    @staticmethod
    def of(data: bytes, line: re.Pattern[bytes]) -> _StepEnds:
        found = list(line.finditer(data))
        return _StepEnds([match.start() for match in found], [int(match[1]) for match in found])

    def step(self, place: int) -> int | None:
        """The current step at a place in the log; None if the log has no such lines."""
        after = bisect_left(self.places, place)
        if after < len(self.steps):
            return self.steps[after]
        return self.steps[-1] + 1 if self.steps else None

    def begin(self, place: int) -> int:
        """The place where the lines of the current step begin."""
        before = bisect_left(self.places, place)
        return self.places[before - 1] if before else 0


def _with_bodies(heads: list[re.Match[AnyStr]], text: AnyStr) -> Iterator[tuple[re.Match[AnyStr], AnyStr]]:
    """Each heading with the text up to the next one."""
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(text)
        yield head, text[head.end() : end]


def _parse(record: tuple[int, str, Any, int | None]) -> list[Raw]:
    _, kind, value, step = record
    if kind == "reward":
        head, body = value
        return _under_reward(head, body, step)
    if kind == "search":
        match, text = value
        prompt, completion = _split_chat(_decoded(text).strip("\n"))
        seen, target = _decoded(match["seen"]), _decoded(match["target"])
        return [_raw(step, prompt, completion, None, {}, None if seen == "None" else seen, {"reference": target})]
    if kind == "verl":
        text, validates = value
        return [_verl(_decoded(text), step)._replace(split="validation" if validates else "train")]
    if kind == "table":
        return panel_samples(_decoded(value), step or 0)
    if kind == "sample":
        return _openrlhf(_decoded(value), step)
    return [_raw(step, one.prompt, one.completion, one.reward, one.components) for one in _roll(value)]


def _under_reward(head: re.Match[bytes], body: bytes, step: int | None) -> list[Raw]:
    text = _decoded(body).strip("\n")
    parts = list(_PART.finditer(text))
    named = {part["name"].lower(): body.strip("\n") for part, body in _with_bodies(parts, text)}
    completion = named.pop("content", None) or named.pop("completion", None)
    if completion is None:
        completion = "" if parts else text
    prompt = named.pop("problem", None) or named.pop("question", None)
    extra = {"reference" if name in ("solution", "ground truth") else name: value for name, value in named.items()}
    if stamp := _decoded(head["stamp"]).strip():
        extra["time"] = stamp
    reward = fields.total(float(head["reward"]))
    name = _decoded(head["name"] or b"").strip()
    return [_raw(step, prompt, completion, reward, {name: reward} if name and reward is not None else {}, None, extra)]


def _verl(text: str, step: int | None) -> Raw:
    """A sample that verl's reward managers print: each field on its own line, prompt and response over several lines.
    The lines after the last field belong to the log."""
    text = _BAR.sub("", text)
    fields_at = list(_VERL_FIELD.finditer(text))
    named = {field["name"]: body for field, body in _with_bodies(fields_at, text)}
    if "response" not in named:
        raise ValueError("no sample")
    prompt = text[: fields_at[0].start()].strip("\n")
    completion = named.pop("response").strip("\n")
    short = {name: body.split("\n", 1)[0].strip() for name, body in named.items()}
    values = {
        name: float(value) for name, value in short.items() if _NUMBER.fullmatch(value) and name != "ground_truth"
    }
    reward = values.pop("score", None)
    extra = {"reference" if name == "ground_truth" else name: v for name, v in short.items() if name not in values}
    extra.pop("score", None)
    return _raw(step, prompt, completion, reward, values, extra.pop("pred", None), extra)


def _openrlhf(text: str, step: int | None) -> list[Raw]:
    """A sample in the form `['the whole text', 0.5]`; the number may also be `tensor(0.5)` or `[0.5]`."""
    quoted = re.match(r"\[\s*((['\"])(?:\\.|(?!\2).)*\2)", text)
    if quoted is None:
        raise ValueError("no sample")
    prompt, completion = _split_chat(str(literal(quoted[1])))
    number = _NUMBER.search(text, quoted.end())
    return [_raw(step, prompt, completion, float(number[0]) if number else None, {})]


def _roll(value: bytes) -> list[Raw]:
    listed = orjson.loads(value)
    found = [fields.raw(one) for one in listed if isinstance(one, dict)]
    return [one for one in found if one is not None]


_ASSISTANT = re.compile(
    r"<\|im_start\|>assistant\n?|<\|start_header_id\|>assistant<\|end_header_id\|>\s*|<｜Assistant｜>"
)


def _split_chat(text: str) -> tuple[str | None, str]:
    """A text of prompt and completion, split at the first turn of the assistant."""
    turn = _ASSISTANT.search(text)
    return (text[: turn.end()], text[turn.end() :]) if turn else (None, text)


def _to_next_row(text: bytes) -> bytes:
    """The text up to the next line of metrics or the next step, where a Search-R1 sample ends."""
    ends = [at for mark in (b"\nepoch ", b"\nACTIVE_TRAJ_NUM", b"\nstep:", b"\n-----") if (at := text.find(mark)) >= 0]
    return text[: min(ends)] if ends else text


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _raw(
    step: int | None,
    prompt: str | None,
    completion: str | None,
    reward: float | None,
    components: Any,
    seen: str | None = None,
    extra: Any = None,
) -> Raw:
    return Raw(step, prompt, completion, reward, components, None, None, None, None, seen, extra or {})
