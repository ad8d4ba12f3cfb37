"""Which container a file is, by its first bytes. The name only helps where the content leaves it open."""

from __future__ import annotations

import re

import orjson

from rltui.readers.compressed import NotSupported, unpacked_head
from rltui.readers.console import dialects
from rltui.readers.console import trl as trl_console
from rltui.readers.console import verl as verl_console
from rltui.readers.console.generic import dict_line, step_line
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.prefix import is_wrapped, plain
from rltui.readers.console.template import TemplateLearner
from rltui.readers.keys import first_of, names
from rltui.readers.rows import number

_LOOKED_AT = 400  # lines
_TEXT = 200
"""A cell with more characters than this is prose: rows of metrics hold none."""
_TFRECORD_VERSION = b"brain.Event:"
_WANDB = b":W&B"
_SWANLAB = b":SWL"
_SQLITE = b"SQLite format 3\0"
_MLFLOW_RUN = re.compile(rb"^lifecycle_stage: [\s\S]*^run_(?:id|uuid): ", re.MULTILINE)
_NOT_LOGS = (
    ".md",
    ".rst",
    ".py",
    ".sh",
    ".yaml",
    ".yml",
    ".toml",
    ".ini",
    ".cfg",
    ".html",
    ".patch",
    ".diff",
)
_LOG_NAMES = re.compile(r"\.(?:log|out|err)(?:\.\d+)?$|(?:^|[_-])(?:log|stdout|stderr|console|nohup)\b", re.IGNORECASE)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_TRAINING = re.compile(
    rb"\(\w+ pid=\d+|Ray instance|ray init kwargs|verl\.|vllm|[Dd]eep[Ss]peed|transformers|torch(?:run|\.distributed| )"
    rb"|trl[ ./]|GRPO|grpo|\bPPO\b|\bppo_|Training Progress|Loading (?:weights|checkpoint shards)|wandb: |CUDA|NCCL"
    rb"|\d+%\|[^|\n]*\| \d+/\d+ \[|trainable params|Running training|[Uu]nsloth|'train_runtime'|huggingface"
    rb"|validation generation end|test_gen_batch|[Cc]heckpoint|\bepoch\b|learning_rate"
    rb"|(?m:^)-{4,} [^\n]*[Rr]eward: "  # rollouts printed one after the other, each under its reward
)
_REQUIREMENT = re.compile(rb"^[\w.\-\[\]]+\s*(?:[=<>~!]=|@)\s*\S+$")


def sniff(head: bytes, name: str) -> str | None:
    """Format name of `rltui.readers.registry`, None for what is no run's file. "sqlite" may hold runs of a database,
    "mlflow-files" is the `meta.yaml` of a run in a file store.

    `head` is the first part of the file (16 KiB or more where there is more), `name` its base name.
    """
    head, name = _unpacked(head, name)
    if head.startswith(_WANDB):
        return "wandb"
    if head.startswith(_SWANLAB):
        return "swanlab"
    if head.startswith(_SQLITE) or (not head and name.endswith(".db")):
        return "sqlite"
    if name.endswith(".ipynb"):
        return (
            "notebook"
            if head.lstrip().startswith(b"{") and re.search(rb'"(?:cells|nbformat|metadata)"', head)
            else None
        )
    if name == "meta.yaml":
        return "mlflow-files" if _MLFLOW_RUN.search(head) else None
    if _TFRECORD_VERSION in head[:64] or (
        ".tfevents." in name and (not head or (len(head) >= 24 and head[4:8] == b"\0\0\0\0"))
    ):
        return "tensorboard"
    if name.endswith(".wandb") and len(head) < len(_WANDB) and _WANDB.startswith(head):
        return "wandb"
    if not head.strip() or name.endswith(_NOT_LOGS) or is_binary(head):
        return None
    text = head[3:] if head.startswith(b"\xef\xbb\xbf") else head
    start = text.lstrip()
    if is_wrapped(start):
        return "console"  # lines of JSON around a console's text
    if start.startswith((b"{", b"[")) and not start.startswith((b"{'", b"[INFO", b"[20")):
        found = _json(start, head_is_all=len(head) < 1 << 14)
        if found == "jsonl" and name.endswith(".json") and len(start.strip().splitlines()) < 2:
            return None  # one object is somebody's state or results, no log
        if found is not _NOT_JSON:
            return found
    return _console(text, name) or _csv(text) or _unnamed_console(text, name)


def _unpacked(head: bytes, name: str) -> tuple[bytes, str]:
    """Head and name of what a packed file holds."""
    stem, dot, ending = name.rpartition(".")
    plain = stem if dot and ending in ("gz", "xz", "zst") else name
    try:
        return unpacked_head(head), plain
    except NotSupported:
        return head, name


_NOT_JSON = "not JSON"


def _json(text: bytes, head_is_all: bool) -> str | None:
    from rltui.readers.json_number import lenient  # json: for few files

    if re.search(rb'"log_history"\s*:\s*\[', text) and not _begins_with_row(text):
        return "trainer-state"
    if re.match(rb"\[\s*\{", text):
        element = _first_element(text)
        is_row = element is not None and first_of("step", element) is not None and _is_metrics(element)
        return "json-list" if element is not None and is_row and not _is_sample(element) else None
    lines = [line for line in text.split(b"\n")[:_LOOKED_AT] if line.strip()]
    rows = []
    for line in lines:
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            try:
                row = lenient(line)
            except (ValueError, RecursionError):
                continue
        if isinstance(row, dict):
            rows.append(row)
    if not rows:
        begun = _begun(text) if len(lines) == 1 and not text.endswith(b"\n") else None
        if begun is not None and first_of("step", begun) is not None and _is_metrics(begun) and not _is_sample(begun):
            return "jsonl"
        # an indented document: a trainer state whose log begins later, or somebody's config
        if re.search(rb'"(?:best_metric|best_global_step|best_model_checkpoint)"\s*:', text[:2000]):
            return "trainer-state"
        return None if re.match(rb'[{\[]\s*["{\[\]}]|\[\s*-?\d[\d.eE+-]*\s*,', text) else _NOT_JSON
    if len(rows) == 1 and len(lines) == 1 and head_is_all and first_of("step", rows[0]) is None:
        return None  # one object without a step: results or config
    rows = [row for row in rows if "log_history" not in row]
    return "jsonl" if any(map(_is_metrics, rows)) and not any(map(_is_sample, rows)) else None


def _first_element(text: bytes) -> dict[str, object] | None:
    """The first object of a list."""
    import json

    decoded = text.decode("utf-8", "replace")
    try:
        element, _ = json.JSONDecoder().raw_decode(decoded, decoded.index("{"))
    except (ValueError, RecursionError):
        return None
    return element if isinstance(element, dict) else None


def _begun(text: bytes) -> dict[str, object] | None:
    """The cells of one long row, as far as they are there before it is cut off; None where it is cut off in prose."""
    end = max(text.rfind(b',"'), text.rfind(b', "'))
    if len(text) - end > 5 * _TEXT:
        return None
    for closed in (b"}", b"}}", b"}}}"):
        try:
            row = orjson.loads(text[: max(end, 0)] + closed)
        except orjson.JSONDecodeError:
            continue
        return row if isinstance(row, dict) else None
    return None


def _begins_with_row(text: bytes) -> bool:
    """Whether the first line is a row of its own: the trainer's state at the end of a log of rows makes no document."""
    first, newline, _ = text.partition(b"\n")
    try:
        row = orjson.loads(first) if newline else None
    except orjson.JSONDecodeError:
        return False
    return isinstance(row, dict) and "log_history" not in row and _is_metrics(row)


def _is_metrics(row: dict[str, object]) -> bool:
    data = row.get("data")
    cells = data if isinstance(data, dict) else row
    numbers = sum(1 for value in cells.values() if number(value) is not None)
    nested = sum(1 for value in cells.values() if isinstance(value, dict))
    if first_of("step", row) is None:
        return numbers >= 2 and 2 * numbers >= len(cells)
    return numbers + nested >= 1


def _is_sample(row: dict[str, object]) -> bool:
    """A rollout, a dataset's example, a result of one item: text is what it is about."""
    texts = names("text")
    if first_of("step", row) is not None and sum(1 for key in names("update") if number(row.get(key)) is not None) > 1:
        return False  # an update's numbers, with what it was made of beside them
    for key, value in row.items():
        if isinstance(value, str) and (key in texts or len(value) > _TEXT):
            return True
        if isinstance(value, list) and value and (key in texts or isinstance(value[0], str | dict) or len(value) > 64):
            return True
    return False


def _console(text: bytes, name: str) -> str | None:
    if b"step:" in text and any(b":" in line for line in verl_console.cut(text)[1]):
        return "verl-console"
    if b"'epoch'" in text and any(trl_console.cells(part) for part in re.split(rb"[\r\n]", text)):
        return "trl-console"
    lines = text.decode("utf-8", "replace").splitlines()[: 5 * _LOOKED_AT]
    messages = [(prefix, plain(message)) for prefix, message in map(split_prefix, lines)]
    for _, message in messages:
        if step_line(message) is not None or ("{" in message and dict_line(message) is not None):
            return "console"
    if dialects.knows(messages):
        return "console"
    learner = TemplateLearner()
    learnt = [learner.line(message.strip()) for _, message in messages]
    return "console" if any(learnt) or learner.settle() else None


def _csv(text: bytes) -> str | None:
    import csv

    from rltui.readers.csv_file import DecimalMark, header, is_preamble

    lines = [line for line in text.split(b"\n")[:20] if line.strip() and not is_preamble(line)]
    if len(lines) < 1:
        return None
    try:
        separator, columns = header(lines[0])
        rows = [
            next(csv.reader([line.decode("utf-8", "replace").strip("\r")], delimiter=separator))
            for line in lines[1:-1] or lines[1:]
        ]
    except (csv.Error, StopIteration):
        return None
    if (
        len(columns) < 2
        or len(set(columns)) < len(columns)
        or any(number(name) is not None or len(name) > _TEXT for name in columns)
    ):
        return None
    lowered = {column.lower() for column in columns}
    stated = first_of("step", columns) or first_of("step", lowered)
    fitting = [row for row in rows if len(row) == len(columns)]  # a bad row among them is skipped by the reader
    if stated is None or 2 * len(fitting) < len(rows) or lowered & set(names("text")):
        return None
    mark = DecimalMark()
    for row in fitting:
        mark.learn(row)
    cells = [mark.plain(cell) for row in fitting for cell in row if cell]
    numbers = sum(1 for cell in cells if cell is None or number(cell) is not None)
    return "csv" if 2 * numbers >= len(cells) else None


def _unnamed_console(text: bytes, name: str) -> str | None:
    """A log that shows no metric yet: the marks of training software have to stand in it."""
    lines = [line for line in text.split(b"\n")[:_LOOKED_AT] if line.strip()]
    if sum(1 for line in lines if _REQUIREMENT.match(line.strip())) * 2 > len(lines):
        return None
    marks = len(set(_TRAINING.findall(text)))
    return "console" if marks >= 2 or (marks and _LOG_NAMES.search(name)) else None


def is_binary(head: bytes) -> bool:
    """Whether this is no text."""
    return b"\0" in head[:1024] or len(_BINARY.findall(head[:4096])) * 50 > min(len(head), 4096)


_OTHER_PACKINGS = {b"BZh": "bzip2", b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z", b"\x04\x22\x4d\x18": "lz4"}


def why_not(head: bytes) -> str:
    """One phrase. `head` as for `sniff`, which gave None."""
    if not head:
        return "it is empty so far"
    other = next((name for magic, name in _OTHER_PACKINGS.items() if head.startswith(magic)), None)
    if other is not None:
        return f"packed with {other}: unpack it; gzip, xz and zstd are read as they are"
    try:
        plain = unpacked_head(head)
    except NotSupported as missing:
        return str(missing)
    if not plain.strip(b"\0"):
        return "nothing but zeros in its beginning" if plain else "nothing comes out of it so far"
    if is_binary(plain):
        return "binary data of no known container"
    if not plain.strip():
        return "nothing but blank lines so far"
    return "text without metrics by step in its beginning"
