"""Finds the format of a file by its first bytes. The name only counts if the content is ambiguous."""

from __future__ import annotations

import re
from collections.abc import Callable

import orjson

from rltui.lazy_regex import lazy
from rltui.readers import document, step_files
from rltui.readers.base import Record, Rows
from rltui.readers.column_kind import column_format, is_called_like_metrics
from rltui.readers.compressed import NotSupported, unpacked_head
from rltui.readers.console import dialects, line_pattern
from rltui.readers.console import trl as trl_console
from rltui.readers.console import verl as verl_console
from rltui.readers.console.generic import dict_line, step_line
from rltui.readers.console.lead import plain
from rltui.readers.console.notes import TRACEBACK, says_an_end, split_prefix
from rltui.readers.console.run_titles import names_a_run
from rltui.readers.console.wrapped import is_wrapped
from rltui.readers.formats import SAMPLES, SEVERAL
from rltui.readers.json_text import documents, is_alone, whole_part
from rltui.readers.keys import NOTEBOOK_LOSS, first_of, names, step_key, step_of
from rltui.readers.not_a_log import is_binary, is_prose
from rltui.readers.number_text import unwrapped
from rltui.readers.row_kinds import PROSE as _TEXT
from rltui.readers.row_kinds import hoisted, is_measure, is_sample, measures, run_columns, spread_out
from rltui.readers.rows import measured, number
from rltui.readers.western import as_utf8

_LOOKED_AT = 400  # lines
_TFRECORD_VERSION = b"brain.Event:"
_WANDB = b":W&B"
_SWANLAB = b":SWL"
_SQLITE = b"SQLite format 3\0"
_MLFLOW_RUN = lazy(rb"\A(?=[\s\S]*^lifecycle_stage: )(?=[\s\S]*^run_(?:id|uuid): )", re.MULTILINE)
_NOT_LOGS = (
    ".md",
    ".rst",
    ".py",
    ".sh",
    ".yaml",
    ".yml",
    ".ini",
    ".cfg",
    ".html",
    ".patch",
    ".diff",
)
_PAGES = (".md", ".markdown", ".rst")
_WEB_PAGES = (".html", ".htm", ".xhtml")
_PRINTED = ("console", "verl-console", "trl-console")
_TEXTS = (".txt", ".log", ".out", ".err")
_LOG_NAMES = lazy(r"\.(?:log|out|err)(?:\.\d+)?$|(?:^|[_-])(?:log|stdout|stderr|console|nohup)\b", re.IGNORECASE)
_LOGGED = lazy(rb"^.{0,60}\b(?:WARN|WARNING|ERROR|CRITICAL|FATAL|[Ww]arning|[Ee]rror)\b")
_TRAINING = lazy(
    rb"\(\w+ pid=\d+|Ray instance|ray init kwargs|verl\.|vllm|[Dd]eep[Ss]peed|transformers|torch(?:run|\.distributed| )"
    rb"|trl[ ./]|GRPO|grpo|\bPPO\b|\bppo_|Training Progress|Loading (?:weights|checkpoint shards)|wandb: |CUDA|NCCL"
    rb"|\d+%\|[^|\n]*\| \d+/\d+ \[|trainable params|Running training|[Uu]nsloth|'train_runtime'|huggingface"
    rb"|validation generation end|test_gen_batch|[Cc]heckpoint|\bepoch\b|learning_rate"
    rb"|(?m:^)-{4,} [^\n]*[Rr]eward: "  # rollouts printed one after the other, each below its reward
    rb'|(?m:^)[ \t]+File "(?:[^"\n]*/)?[^"/\n]*(?:train|grpo|ppo|dpo|rlhf)[^"/\n]*\.py", line \d'  # broke before a step
)
_TABLES = (".csv", ".tsv", ".tab")
_REQUIREMENT = lazy(rb"^[\w.\-\[\]]+\s*(?:[=<>~!]=|@)\s*\S+$")


def sniff(head: bytes, name: str) -> str | None:
    """The name of a format (see `rltui.readers.formats`); None if the file does not belong to a run. "sqlite": a
    database that may hold runs; "mlflow-files": the `meta.yaml` of a run in a file store; "json-files": one of many
    files that hold a step each.

    `head`: the first part of the file, at least 16 KiB of a larger file; `name`: its base name.
    """
    found = sniff_one(head, name)
    return SEVERAL if found in _PRINTED and names_a_run(_unpacked(head, name)[0]) else found


def sniff_one(head: bytes, name: str) -> str | None:
    """The same as `sniff`, but treats a console log that names a run as one that holds a single run."""
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
    if column_format(head, name) is not None:
        return SEVERAL if is_called_like_metrics(name) else None
    if head.strip() and name.endswith(document.ENDINGS) and not is_binary(head):
        return _saved(head, name)
    if not head.strip() or name.endswith(_NOT_LOGS) or is_binary(head):
        return None
    text = as_utf8((head[3:] if head.startswith(b"\xef\xbb\xbf") else head).replace(b"\0", b""))
    start, head_is_all = text.lstrip(), len(head) < 1 << 14
    if is_wrapped(start):
        return "console"  # JSON lines that hold a console's text
    if start.startswith((b"{", b"[", b"//", b"/*")) and not start.startswith((b"{'", b"[{'", b"[INFO", b"[20")):
        if head_is_all and step_files.is_row(start, name):
            return step_files.FORMAT
        found = _json(start, name, head_is_all)
        if found == "jsonl" and name.endswith(".json") and len(start.strip().splitlines()) < 2:
            return None  # a single object is a state or results, not a log
        if found is not _NOT_JSON:
            return found
    if not name.endswith(_TEXTS) and is_alone(start, head_is_all) and (found := _document(start, name, head_is_all)):
        return found  # as Python printed it
    if found := _broken_console(text) or _console(text, name) or _csv(text, name):
        return found
    printed = _document(start, name, head_is_all)
    if printed is None and _unnamed_console(text, name):
        return "console"  # decided here because learning its lines takes a hundred times as long
    return _learnt(text) or printed


def sniff_page(head: bytes, name: str, whole: Callable[[], bytes]) -> str | None:
    """The format of a file that the user named: a page that may hold a table or a log among other words, or a table
    that is not named like a run's file. `whole` returns the whole file, because the text of a web page begins late."""
    if column_format(head, name) is not None:
        return SEVERAL
    if name.endswith(_WEB_PAGES):
        from rltui.readers import pages  # late: imports the console's reader, and few files need it

        return "page" if pages.holds_rows(whole()) else None
    if not name.endswith(_PAGES):
        return None
    found = sniff_one(head, f"{name}.txt")
    return found if found not in _PRINTED or _tells_steps(whole()) else None


def _tells_steps(text: bytes) -> bool:
    """Whether the console reader finds several steps in a page. A single step is an example, and a page without steps
    is only about logs."""
    return len({step for record in _records(text) if isinstance(record, Rows) for step in record.steps}) > 1


def may_begin_late(head: bytes, name: str) -> bool:
    """Whether a file whose beginning shows no format is text and is named like a console log: a log may begin with
    pages of other programs' lines."""
    called = name.endswith(_TEXTS) or (not name.endswith(_NOT_LOGS) and _LOG_NAMES.search(name) is not None)
    return called and not is_binary(head)


def is_messages(head: bytes, name: str) -> bool:
    """Whether a text without metrics is named like a log and has a traceback, or warnings or errors as loggers write
    them: it may show what went wrong in a run whose metrics are in other files."""
    if not _LOG_NAMES.search(name) or is_binary(head):
        return False
    if TRACEBACK.encode() in head:
        return True
    lines = [line for line in head.split(b"\n")[:_LOOKED_AT] if line.strip()]
    return bool(lines) and 2 * sum(_LOGGED.search(line) is not None for line in lines) >= len(lines)


def sniff_end(tail: bytes, name: str) -> str | None:
    """The format of a file that `may_begin_late`, by its last bytes."""
    text = as_utf8(tail.partition(b"\n")[2].replace(b"\0", b""))
    return _console(text, name) or _learnt(text)


def _unpacked(head: bytes, name: str) -> tuple[bytes, str]:
    """The head and name of a compressed file's content; of any other file, its own."""
    stem, dot, ending = name.rpartition(".")
    plain = stem if dot and ending in ("gz", "xz", "zst", "bz2") else name
    try:
        return unpacked_head(head), plain
    except NotSupported:
        return head, name


_NOT_JSON = "not JSON"
_BEHIND_BRACKETS = lazy(rb"\[[^\[\]{}\n]{0,200}\][^\s,\]}]")
_BEGINS_DOCUMENT = lazy(rb"(?://[^\n]*\s*|/\*[\s\S]{0,2000}?\*/\s*)*(?:\{\s*[\"'}]|\[\s*[\[{\"'\d\]-])")


def _json(text: bytes, name: str, head_is_all: bool) -> str | None:
    from rltui.readers.literals import lenient  # late: imports json, and few files need it

    if re.search(rb'"log_history"\s*:\s*\[', text) and not _begins_with_row(text):
        return "trainer-state"
    lines = [line for line in text.split(b"\n")[:_LOOKED_AT] if line.strip()]
    rows, first, listed = [], False, False
    for line in lines:
        listed |= line.lstrip().startswith(b"[{")
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            try:
                row = lenient(line.replace(b"\0", b"").strip().rstrip(b","))
            except (ValueError, RecursionError):
                continue
        if isinstance(row, dict):
            rows.append(row)
            first |= len(rows) == 1 and line is lines[0]
    if not first or len(lines) == 1:
        # an indented document: a trainer state whose log begins later, or somebody's config
        if not rows and re.search(rb'"(?:best_metric|best_global_step|best_model_checkpoint)"\s*:', text[:2000]):
            return "trainer-state"
        found = _document(text, name, head_is_all)
        if found is not None:
            return found
    if text.startswith(b"[") and re.match(rb"\[\s*\{", text):
        return None
    if not rows and _BEHIND_BRACKETS.match(text):
        return _NOT_JSON
    if not rows:
        begun = _begun(text) if len(lines) == 1 and not text.endswith(b"\n") else None
        if begun is not None and first_of("step", begun) is not None and _is_metrics(begun) and not is_sample(begun):
            return "jsonl"
        if not re.match(rb'[{\[]\s*["{\[\]}]|\[\s*-?\d[\d.eE+-]*\s*,', text):
            return _NOT_JSON
        return _learnt(text) if name.endswith(_TEXTS) else None  # a log's lines may be lists
    if len(rows) == 1 and len(lines) == 1 and head_is_all and first_of("step", rows[0]) is None:
        return None  # a single object without a step: results or config
    if 2 * len(rows) < len(lines) and (console := _console(text, name) or _learnt(text)) is not None:
        return console  # a console log with a config in its first line, or with answers among its lines
    if listed and (console := _learnt(text)) is not None:
        return console  # rows that were printed at once, among other lines
    rows = [spread_out(hoisted(row)) for row in rows if "log_history" not in row]
    metrics = [row for row in rows if _is_metrics(row)]
    samples = sum(map(is_sample, metrics))
    if metrics and len(metrics) - samples > (1 if samples else 0):
        named_by = {columns: run_columns(columns) for columns in {tuple(row) for row in metrics}}
        runs = {tuple(str(row[column]) for column in by) for row in metrics if (by := named_by[tuple(row)])}
        return SEVERAL if len(runs) > 1 or (runs and not head_is_all) else "jsonl"
    return SAMPLES if any(first_of("step", row) is not None and measures(row) for row in metrics) else None


def _document(text: bytes, name: str, head_is_all: bool) -> str | None:
    """The format of a document, or of the part at hand, if it holds rows of metrics; else None."""
    from rltui.readers.document_rows import begins_columns, held

    if not _BEGINS_DOCUMENT.match(text):
        return None
    for parse in (documents, whole_part) if head_is_all else (whole_part,):
        try:
            found = parse(text)
        except (ValueError, RecursionError):
            continue
        seen = held(found[0] if len(found) == 1 else found, name)
        if seen is None and not head_is_all and len(found) == 1 and begins_columns(found[0]):
            return "json"
        may_name_runs = not head_is_all and seen is not None and bool(seen.rows) and bool(run_columns(seen.rows[0]))
        return None if seen is None else SEVERAL if seen.runs or may_name_runs else "json"
    return None


def _saved(text: bytes, name: str) -> str | None:
    """The format of a YAML or TOML file, or of the part at hand, if it holds rows of metrics; else None."""
    from rltui.readers.document_rows import held

    for parse in (document.saved_rows, document.saved_part):
        try:
            seen = held(parse(text, name), name)
        except (ValueError, RecursionError):
            continue
        return None if seen is None or seen.runs else "json"
    return None


def _begun(text: bytes) -> dict[str, object] | None:
    """The complete cells of one long row that is cut off; None if it is cut off within prose."""
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
    """Whether the first line is a complete row: a log of rows that ends with the trainer's state is not a document."""
    first, newline, _ = text.partition(b"\n")
    try:
        row = orjson.loads(first) if newline else None
    except orjson.JSONDecodeError:
        return False
    return isinstance(row, dict) and "log_history" not in row and _is_metrics(row)


def _is_metrics(row: dict[str, object]) -> bool:
    data = row.get("data")
    cells = data if isinstance(data, dict) else row
    if step_key(row) is not None:
        return any(isinstance(value, dict) or measured(key, value) is not None for key, value in cells.items())
    numbers = sum(1 for key, value in cells.items() if measured(key, value) is not None)
    return numbers >= 2 and 2 * numbers >= len(cells)


def _console(text: bytes, name: str) -> str | None:
    if b"step:" in text and any(b":" in line for line in verl_console.cut(text)[1]):
        return "verl-console"
    if b"'epoch'" in text and any(trl_console.cells(part) for part in re.split(rb"[\r\n]", text)):
        return "trl-console"
    patterns = line_pattern.in_use()
    if patterns and (name.endswith(_TEXTS) or _LOG_NAMES.search(name)):
        return "console"  # the user described its step lines
    lines = text.decode("utf-8", "replace").splitlines()[: 5 * _LOOKED_AT]
    messages = [(prefix, plain(message)) for prefix, message in map(split_prefix, lines)]
    for _, message in messages:
        if any(pattern.cells(message) for pattern in patterns):
            return "console"
        shown = unwrapped(message)
        if step_line(shown) is not None or ("{" in shown and dict_line(shown) is not None):
            return "console"
    if dialects.knows(messages):
        return "console"
    return None


def _learnt(text: bytes) -> str | None:
    """Returns "console" if this is a console log whose step lines belong to no known dialect; else None."""
    return "console" if any(isinstance(record, Rows) for record in _records(text)) else None


def _records(text: bytes) -> list[Record]:
    """The records that the console reader finds in the first lines."""
    from rltui.readers.console.reader import ConsoleReader

    reader = ConsoleReader()
    reader.only_rows()
    return [*reader.feed(b"\n".join(text.split(b"\n")[: 5 * _LOOKED_AT])), *reader.rest(), *reader.finish()]


def _broken_console(text: bytes) -> str | None:
    """Returns "wrapped-console" if a terminal broke the log's lines at its width, so that joined lines hold more
    numbers; else None."""
    from rltui.readers.console import hard_wraps

    if not (whole := hard_wraps.whole(text)):
        return None
    return "wrapped-console" if _told(whole) > _told(text) else None


def _told(text: bytes) -> int:
    """The number of values that the console reader finds in the first lines."""
    rows = [record for record in _records(text) if isinstance(record, Rows)]
    return sum(sum(x == x for x in column) for one in rows for column in one.values.values())


def _csv(text: bytes, name: str) -> str | None:
    import csv

    from rltui.readers.csv_table import (
        SPACES,
        cut,
        is_points,
        is_preamble,
        looks_like_metrics,
        rejoined,
        step_column,
        table_of,
        text_of,
    )
    from rltui.readers.decimal_mark import DecimalMark

    lines = [line for line in text.split(b"\n")[:60] if line.strip()]
    if b'"' in text:
        lines = rejoined(lines)
    if is_points(lines[:-1], name):
        return SEVERAL  # one metric of a run
    table = table_of(lines, name)
    if table is None or any(len(column) > _TEXT for column in table.columns):
        return None
    if not table.steps and any(number(column) is not None for column in table.columns):
        return None
    body = [text_of(line).strip("\r") for line in lines if not is_preamble(line)]
    try:
        if (
            first := next(
                (i for i in range(len(body)) if table_of(map(str.encode, body[i : i + 2]), name) == table), None
            )
        ) is not None:
            del body[:first]  # words above the table
        by_pandas = len(body) > 1 and body[1].split() == [table.step]
        if by_pandas:
            del body[1]  # the name of the index
        rows = [cut(line, table.separator) for line in body[1:-1] or body[1:]]
    except csv.Error:
        return None
    again = next((place for place, row in enumerate(rows) if table.step in row and row != [*table.columns]), len(rows))
    rows = rows[: max(again, 1)]  # up to the next header
    spaced = table.separator == SPACES
    by_pandas |= spaced and any(len(row) == len(table.columns) + 1 and row[0].isdecimal() for row in rows)
    of_a_notebook = NOTEBOOK_LOSS in table.columns
    by_a_loop = table.is_plain and not (by_pandas or of_a_notebook or name.endswith(_TABLES))
    by_a_loop &= not any(line.lstrip().startswith(b"#") for line in lines)
    rows = [row[1:] if spaced and len(row) == len(table.columns) + 1 else row for row in rows]
    columns = {column.lower() for column in table.columns}
    fitting = [row for row in rows if len(row) == len(table.columns)]  # the reader skips the bad rows
    named = step_column(table.columns) is not None
    if (
        len(columns) < 2
        or 2 * len(fitting) < len(rows)
        or columns & set(names("text"))
        or not (table.metrics or table.long or table.steps)
    ):
        return None
    if table.steps and not any(is_measure(row[0]) for row in fitting):
        return None
    if not named and not table.steps and not (fitting and table.long is None and looks_like_metrics(table)):
        return None
    if spaced and not (named and fitting and looks_like_metrics(table)):
        return None
    mark = DecimalMark()
    for row in fitting:
        mark.learn(row)
    kept = [place for place, column in enumerate(table.columns) if column in table.metrics or column == table.step]
    looked_at = kept if not named else range(len(table.columns))
    cells = [(table.columns[place], mark.plain(row[place])) for row in fitting for place in looked_at if row[place]]
    numbers = sum(1 for name, cell in cells if cell is None or measured(name, cell) is not None)
    numbers += sum(
        1 for name, cell in cells if name == table.step and number(cell) is None and step_of(cell)[0] is not None
    )
    some = len(cells) if not named and not table.steps else len(cells) / 2  # all cells, if nothing names the step
    if numbers < some and not (table.long and named):
        return None
    several = (
        table.run is not None
        or table.long
        or len(table.run_prefixes()) > 1
        or table.metric((table.run_prefixes() or [""])[0])
    )
    at = table.columns.index(table.step) if table.step is not None else None
    stated = [row for row in fitting if at is None or step_of(row[at])[0] is not None]
    if by_a_loop and not several and _told(text) >= len(table.metrics) * len(stated):
        return "console"  # a loop prints its lines below a header, with other lines between them
    return SEVERAL if several else "csv"


def _unnamed_console(text: bytes, name: str) -> str | None:
    """Returns "console" if this is a log without metrics that has marks of training software, or shows why a program
    ended; else None."""
    lines = [line for line in text.split(b"\n")[:_LOOKED_AT] if line.strip()]
    if sum(1 for line in lines if _REQUIREMENT.match(line.strip())) * 2 > len(lines):
        return None
    marks = len(set(_TRAINING.findall(text)))
    named = _LOG_NAMES.search(name) is not None
    if not named and is_prose(text):
        return None
    return "console" if marks >= 2 or (named and (marks or says_an_end(text.decode("utf-8", "replace")))) else None
