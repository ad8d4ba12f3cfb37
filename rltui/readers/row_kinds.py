"""Finds out what a row of a log is by its keys and flags: training, evaluation, config, a sample, or a single value.
The words for this are in a data file (`data/rows.json`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import orjson

from rltui.data_files import Record, kept, read
from rltui.lazy_regex import lazy
from rltui.readers.keys import first_of, is_time, names
from rltui.readers.literals import NO_VALUE, literal
from rltui.readers.log_keys import log_keys
from rltui.readers.number_text import unwrapped
from rltui.readers.rows import number

TRAINED = ("loss", "grad_norm", "learning_rate", "reward")
"""Names that do not occur in a row that is only an evaluation."""
LONGEST_NAME = 60
"""The most characters in the name of a row's data set."""
LEVELS = 3
"""The most nested objects around the step of a row."""
FEW = 8
"""The most members of an object that holds one metric: name, value, unit, time and the like."""
V = TypeVar("V")
RowKind = Literal["train", "eval", "test", "config", "end"]


class RowWords(Record):
    """The words of the data file.

    `flags`: keys whose text says what a row is; `words`: the texts for each kind. `switches`: keys that are true
    for an evaluation. `sets`: keys that name the data set of an evaluation. `measures`: words in the names of what
    is measured, unless one of `coefficients` ends the name. `settings`: keys of a config. `items`: keys that count
    the samples of a step. `names` and `values`: the two columns of a table with one value in each row. `runs`:
    columns that name the run of a row; `seeds`: columns that distinguish runs of one name. `messages`: keys of a
    logger's text; `records`: keys of what a logger states about the program. `grouped`: words for what each group
    of parameters has. `held_out`: words of a label for data that is not trained on. `agents`: keys that name one of
    several models that are trained. `events`: work inside a step, as the label of a row; `saves`: events that write
    a checkpoint. `durations`: words in the names of times. `histories`: words for the rows of a whole run; `parts`:
    for parts of a table of rows. `whole`: words that may be beside a word for an end if the run is over.
    """

    flags: tuple[str, ...]
    sets: tuple[str, ...]
    switches: tuple[str, ...]
    words: dict[RowKind, tuple[str, ...]]
    measures: frozenset[str]
    coefficients: frozenset[str]
    settings: frozenset[str]
    items: frozenset[str]
    names: tuple[str, ...]
    values: tuple[str, ...]
    runs: tuple[str, ...]
    seeds: tuple[str, ...]
    messages: tuple[str, ...]
    records: frozenset[str]
    grouped: frozenset[str]
    held_out: frozenset[str]
    agents: frozenset[str]
    events: frozenset[str]
    saves: frozenset[str]
    durations: frozenset[str]
    histories: frozenset[str]
    parts: frozenset[str]
    whole: frozenset[str]


@kept
def row_words() -> RowWords:
    """Reads the data file."""
    return read(Path(__file__).with_name("data") / "rows.json", RowWords)


@cache
def _kind_by_word() -> dict[str, RowKind]:
    return {word: kind for kind, words in row_words().words.items() for word in words}


_CAMEL = lazy(r"(?<=[a-z0-9])(?=[A-Z])")


def words_of(text: str) -> list[str]:
    """The words of a name, in lower case."""
    return [word for word in re.split(r"[^a-z0-9]+", _CAMEL.sub("_", text).lower()) if word]


@lru_cache(maxsize=4096)
def is_measure(key: str) -> bool:
    """Whether a key names something that is measured: `train/reward_mean`, not `kl_coef`."""
    words = words_of(key)
    known = row_words()
    return bool(words) and words[-1] not in known.coefficients and not known.measures.isdisjoint(words)


def measures(keys: Iterable[object]) -> int:
    """How many of the keys name something that is measured."""
    return sum(1 for key in keys if isinstance(key, str) and is_measure(key))


def is_config(row: Mapping[str, object]) -> bool:
    """Whether a row without a step holds settings."""
    settings = sum(1 for key in row if key in row_words().settings)
    numbers = [key for key, value in row.items() if number(value) is not None]
    return settings >= 2 and settings > measures(numbers)


def of_a_step(pairs: Mapping[str, object]) -> bool:
    """Whether the pairs of a line belong to a step and are not settings: one of them is the step, or there are at least
    as many measures as settings."""
    if first_of("step", pairs) is not None:
        return True
    settings = sum(1 for key in pairs if key in row_words().settings)
    measured = measures(key for key, value in pairs.items() if number(value) is not None)
    return measured > 0 and measured >= settings


_YES = frozenset(("true", "1", "yes"))


def flag_of(keys: Collection[str]) -> tuple[str, ...]:
    """The keys that may show what a row is."""
    known = row_words()
    return tuple(key for key in (*known.flags, *known.switches, *_of_evaluation()) if key in keys)


@cache
def _of_evaluation() -> tuple[str, ...]:
    """The keys of data sets that by themselves show that a row is an evaluation."""
    words = {word for kind in ("eval", "test") for word in row_words().words[kind]} | {"benchmark", "bench"}
    return tuple(key for key in row_words().sets if not words.isdisjoint(words_of(key)))


def kind_of(row: Mapping[str, object], flags: Iterable[str]) -> RowKind | None:
    """The kind of a row by its flags; None if their text is not known."""
    for key in flags:
        value = row[key]
        if key in _of_evaluation() and isinstance(value, str) and value:
            return "eval"
        if (value is True or str(value).lower() in _YES) and key in row_words().switches:
            return "test" if "test" in key else "eval"
        if isinstance(value, str) and key in row_words().flags and len(value) < 60:
            said = words_of(value)
            found = next((kind for word in said if (kind := _kind_by_word().get(word))), None)
            if found is not None and (found != "end" or _is_of_the_run(said)):
                return found
    return None


def _is_of_the_run(said: Iterable[str]) -> bool:
    """Whether words for an end mean that the run is over (`run finished`), not a part of a step (`rollout_done`)."""
    ends = row_words().words["end"]
    return all(word in ends or word in row_words().whole for word in said)


def is_message(row: Mapping[str, object]) -> bool:
    """Whether the row is a line of text, without a number."""
    held = any(isinstance(row.get(key), str) for key in row_words().messages)
    return held and not any(number(value) is not None for value in row.values())


def beside(keys: Iterable[str]) -> frozenset[str]:
    """The keys that are not metrics, because they state what the row is or where it belongs."""
    known = row_words()
    aside = {*names("step"), *names("total"), *names("time"), *known.flags, *known.switches, "epoch"}
    return frozenset(key for key in keys if key in aside)


_EVALUATION = lazy(r"(?:eval|val|valid|validation|test|dev)(?:uation)?[-_/.]", re.IGNORECASE)


def as_evaluation(row: Mapping[str, V], kind: str) -> dict[str, V]:
    """The row with `eval/` (or `test/`) before each metric name that does not already say so, and with the name of the
    data set, because a step may have rows of several data sets."""
    aside, of = beside(row) - {key for key in names("time") if _is_duration(row.get(key))}, set_of(row)
    if not of:
        return {key if key in aside or _EVALUATION.match(key) else f"{kind}/{key}": value for key, value in row.items()}
    return {
        key if key in aside else f"{kind}/{of}/{_EVALUATION.sub('', key)}": value
        for key, value in row.items()
        if key.lower() not in row_words().sets
    }


def _is_duration(value: object) -> bool:
    """Whether a cell that may hold a point in time holds a duration."""
    return isinstance(value, int | float) and not is_time(value)


def set_of(row: Mapping[str, object]) -> str:
    """The name of a row's data set; "" if it states none."""
    named = (row[key] for key in _named_sets(tuple(row)))
    return next((name for name in named if isinstance(name, str) and name and len(name) <= LONGEST_NAME), "")


@lru_cache(maxsize=1024)
def _named_sets(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys under which a row may name its data set, the most reliable first, as the row spells them."""
    there = {key.lower(): key for key in reversed(keys)}
    return tuple(there[key] for key in row_words().sets if key in there)


def of_a_set(key: str, name: str) -> str:
    """The key of a metric for one data set: `gsm8k/acc`, and `eval/gsm8k/acc` for `eval/acc`."""
    said = _EVALUATION.match(key)
    return f"{name}/{key}" if said is None else f"{said[0]}{name}/{key[said.end() :]}"


def long_columns(keys: Collection[str]) -> tuple[str, str] | None:
    """The columns of a metric's name and value, if each row holds one value: `tag` and `value`, `metricName` and
    `metricValue`, `metric.name` and `value`. Else None."""
    known, there = row_words(), _spelt_alike(keys)
    name = next((there[key] for key in known.names if key in there), None)
    value = next((there[key] for key in known.values if key in there), None)
    return None if name is None or value is None else (name, value)


def _spelt_alike(keys: Iterable[str]) -> dict[str, str]:
    """Keys by their words: `metric_name` for `metricName` and `Metric Name`. If several keys have the same words, the
    first one counts."""
    out: dict[str, str] = {}
    for key in keys:
        out.setdefault("_".join(words_of(key)) or key.lower(), key)
    return out


def hoisted(row: dict[str, object], depth: int = LEVELS) -> dict[str, object]:
    """The row with its step at the top, if the step was in an inner object (`{"meta": {"step": 3}, "metrics":
    {...}}`) or deeper, at most `depth` levels down."""
    if first_of("step", row) is not None:
        return row
    for key, value in row.items():
        if isinstance(value, dict) and value:
            inner = hoisted(value, depth - 1) if depth > 1 else value
            if first_of("step", inner) is not None:
                return {**{k: v for k, v in row.items() if k != key}, **inner}
    return row


def unquoted(row: dict[str, object]) -> dict[str, object]:
    """The row with objects that were logged as text (`"metrics": "{'loss': 0.1}"`) turned back into objects."""
    quoted = {
        key: inner
        for key, value in row.items()
        if isinstance(value, str) and value[:1] == "{" and value[-1:] == "}" and key not in names("text")
        for inner in [_object(value)]
        if inner is not None
    }
    return {**row, **quoted} if quoted else row


def _object(text: str) -> dict[str, object] | None:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            found = literal(unwrapped(text))
        except NO_VALUE:
            return None
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else None


def spread_out(row: dict[str, object]) -> dict[str, object]:
    """The row with the metrics from a list of names and values, `"metrics": [{"name": "loss", "value": 0.1}]`, or from
    objects that hold one metric each, as cells of the row."""
    row = _out_of_objects(row)
    listed = {key: value for key, value in row.items() if isinstance(value, list) and value and _is_named(value)}
    if not listed:
        return row
    out = {key: value for key, value in row.items() if key not in listed}
    for value in listed.values():
        for one in value:
            out = one_value(one) | out  # the row's own cells count before those of the list
    return out


def _out_of_objects(row: dict[str, object]) -> dict[str, object]:
    """The row with metrics taken out of objects that hold a name and a value, `"metric": {"name": "loss", "value":
    0.1}`, or only the name for the row's value. A row that also has other numbers is left alone: there, such an object
    may be a part of the row, `"optimizer": {"name": "adam", "value": 3}`."""
    objects = {key: value for key, value in row.items() if isinstance(value, dict) and 0 < len(value) <= FEW}
    if not objects:
        return row
    rest = {key: value for key, value in row.items() if key not in objects}
    aside = beside(rest)
    told = {key: one_value(value) for key, value in objects.items()}
    named = {key: one for key, one in told.items() if one is not objects[key]}
    free = not any(number(value) is not None for key, value in rest.items() if key not in aside)
    if named and free:
        out = {key: value for key, value in row.items() if key not in named}
        for one in named.values():
            out = {**one, **out}
        return out
    for key, value in objects.items():
        whole = {**{k: v for k, v in row.items() if k != key}, **value}
        if not any(number(x) is not None for x in value.values()) and (one := one_value(whole)) is not whole:
            return one
    return row


def may_be_named(row: Mapping[str, object]) -> bool:
    """Whether an object in a row is so small that it may hold the name and the value of a metric."""
    return any(isinstance(value, dict) and len(value) <= FEW for value in row.values())


def _is_named(values: list[object]) -> bool:
    return all(isinstance(one, dict) and one_value(one) is not one for one in values)


def one_value(row: dict[str, object]) -> dict[str, object]:
    """A row that has the name and the value of one metric becomes a row with this metric; any other row is
    unchanged."""
    found = long_columns(row)
    if found is None or not isinstance(name := row[found[0]], str) or number(row[found[1]]) is None:
        return row
    return {**{key: row[key] for key in row if key in beside(row)}, name: row[found[1]]}


def run_column(columns: Iterable[str]) -> str | None:
    """The column that names the run of each row."""
    columns = list(map(str, columns))
    there, keys = _spelt_alike(columns), log_keys()
    others = bool(set(row_words().values) & there.keys())  # then `name` is a metric's, not a run's
    others |= not (set(columns).isdisjoint(keys.level) or set(columns).isdisjoint(keys.message))  # a logger's
    return next((there[name] for name in row_words().runs if name in there and not (name == "name" and others)), None)


def seed_column(columns: Iterable[str], run: str | None) -> str | None:
    """The column that distinguishes the runs of one name, beside the column that names the runs."""
    there = _spelt_alike(map(str, columns))
    return next((there[name] for name in row_words().seeds if name in there and there[name] != run), None)


def run_columns(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that name the run of each row: its name and, beside it, its seed."""
    columns = [*columns]
    run = run_column(columns)
    return tuple(column for column in (run, run and seed_column(columns, run)) if column is not None)


def of_seed(run: str, seed: object) -> str:
    """The name of a run with this seed, if several runs have the same name."""
    return f"{run}-seed{seed}"


def is_of_run(row: Mapping[str, object], run: str) -> bool:
    """Whether a row belongs to this run, or names no run."""
    column = run_column(row)
    if column is None or str(row[column]) == run:
        return True
    seed = seed_column(row, column)
    return seed is not None and of_seed(str(row[column]), row[seed]) == run


def by_name(row: dict[str, Any]) -> dict[str, Any]:
    """The row with lists of named results, `"eval": [{"name": "gsm8k", "acc": 0.4}, ..]`, turned into objects by name;
    any other row is unchanged. A list without names, with texts or with a name twice is left alone: its results cannot
    be told apart."""
    found = {key: named for key, value in row.items() if isinstance(value, list) and (named := _named_results(value))}
    return {**row, **found} if found and first_of("step", row) is not None else row


def _named_results(values: list[Any]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for one in values[: MANY + 1]:
        texts = [key for key, cell in one.items() if isinstance(cell, str)] if isinstance(one, dict) else []
        if len(texts) != 1 or texts[0] in names("text") or len(out) == MANY:
            return {}
        name = str(one[texts[0]])
        numbers = {key: cell for key, cell in one.items() if number(cell) is not None}
        if name in out or len(name) > NAME or not numbers or len(numbers) < len(one) - 1 or one_value(one) is not one:
            return {}  # an item with the name and the value of a metric is not a named result
        out[name] = numbers
    return out


NAME = 40
"""A text with more characters does not name a data set."""


def is_sample(row: Mapping[str, object]) -> bool:
    """Whether the row is mainly text: a rollout, an example of a data set, the result of one item."""
    cells = [(key, value) for key, value in row.items() if isinstance(value, str | list)]
    if not cells:
        return False
    texts = names("text")
    if first_of("step", row) is not None and sum(1 for key in names("update") if number(row.get(key)) is not None) > 1:
        return False  # the numbers of an update, with some of its data beside them
    for key, value in cells:
        if isinstance(value, str) and (key in texts or len(value) > PROSE):
            return True
        if isinstance(value, list) and value:
            tokens = len(value) > MANY and not is_measure(key)
            if key in texts or isinstance(value[0], str | dict) or tokens:
                return True
    return False


PROSE = 200
"""A cell with more characters than this is prose, which rows of metrics do not hold."""
MANY = 64
"""A list of more numbers than this holds tokens, unless its name is that of a metric."""


def of_training(row: Collection[str]) -> bool:
    """Whether a row of the HF Trainer is a training step, by its names. The names of an evaluation begin with `eval_`,
    but home-made loops also log such names among the numbers of a step."""
    return any(name in row for name in TRAINED) or not any(name.startswith("eval_") for name in row)
