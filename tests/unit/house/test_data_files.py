"""Every data file of the package has a type that knows each of its values: what is wrong is told with its line."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from rltui.compare.tables import PrimaryOrder, Readings
from rltui.data_files import DataError, Record, decode, decode_toml, read
from rltui.diagnosis.constants import NumberFormats
from rltui.diagnosis.kl_reward import KlRewardTable
from rltui.diagnosis.reliability import Reliability
from rltui.diagnosis.remarks import Confirmations, Remarks
from rltui.diagnosis.tail import Tail
from rltui.discovery.file_roles import FileWords
from rltui.evidence.forecast import KnownForecast
from rltui.frameworks.parts import TrueComponents
from rltui.hardware.processes import Roles
from rltui.manual.glossary import Glossary
from rltui.readers.config_file import ConfigFiles
from rltui.readers.console.notes import NoteRules
from rltui.readers.formats import Format
from rltui.readers.keys import Keys
from rltui.readers.log_keys import LogKeys
from rltui.readers.name_words import TemplateWords
from rltui.readers.row_kinds import RowWords
from rltui.rollouts.formats.fields import KnownNames
from rltui.rollouts.samples import Limits
from rltui.rules.coverage import ExpectedMetrics, Kinds
from rltui.rules.error_rates import ErrorRates
from rltui.run.attempts import Crashes
from rltui.tui.headings import Overview
from rltui.tui.tour import Stops
from tests.conftest import REPO

PACKAGE = REPO / "rltui"


class SecretNames(Record):
    """`rltui.text` reads its words without this type: it is loaded before anything is drawn."""

    secret_words: frozenset[str]
    key_owners: frozenset[str]
    token_owners: frozenset[str]
    text_token_kinds: frozenset[str]


TYPES: dict[str, Any] = {
    "compare/primary.json": PrimaryOrder,
    "compare/readings.json": Readings,
    "diagnosis/data/confirmations.json": Confirmations,
    "diagnosis/data/constants.json": NumberFormats,
    "diagnosis/data/kl_reward.json": KlRewardTable,
    "diagnosis/data/reliability.json": Reliability,
    "diagnosis/data/remarks.json": Remarks,
    "diagnosis/data/tail.json": Tail,
    "discovery/file_words.json": FileWords,
    "evidence/data/forecasts.json": dict[str, KnownForecast],
    "hardware/process_roles.json": Roles,
    "manual/data/glossary.json": Glossary,
    "readers/console/notes.toml": NoteRules,
    "run/crashes.toml": Crashes,
    "readers/console/template_words.json": TemplateWords,
    "readers/data/config_files.json": ConfigFiles,
    "readers/data/formats.json": dict[str, Format],
    "readers/data/keys.json": Keys,
    "readers/data/log_keys.json": LogKeys,
    "readers/data/rows.json": RowWords,
    "rollouts/formats/fields.json": KnownNames,
    "rollouts/samples.json": Limits,
    "rules/data/applies.json": Kinds,
    "rules/data/error_rates.json": ErrorRates,
    "rules/data/expected.json": ExpectedMetrics,
    "rules/data/inputs.json": dict[str, tuple[str, str]],
    "frameworks/true_components.json": TrueComponents,
    "secret_names.json": SecretNames,
    "tui/overview.toml": Overview,
    "tui/tour.toml": Stops,
}
ELSEWHERE = ("frameworks/data/", "rules/pages/")
"""Read against types of several files at once, and tested beside them."""
NO_DATA = ("report/schema.json", "compare/schema.json", "settings/example.toml")
"""Given to the user as they are."""
PLAIN = ("text.py",)
"""What reads a data file without a type: the secret names."""


def parsed(name: str) -> Any:
    text = (PACKAGE / name).read_text(encoding="utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Of a list of many its first is enough."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list) and path and value and not isinstance(value[0], dict):
        for i, inner in enumerate(value[:3]):
            yield from leaves(inner, (*path, i))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    else:
        yield path


def test_every_data_file_has_a_type() -> None:
    found = {path.relative_to(PACKAGE).as_posix() for end in ("json", "toml") for path in PACKAGE.rglob(f"*.{end}")}
    assert {name for name in found if not name.startswith(ELSEWHERE)} == {*TYPES, *NO_DATA}


@pytest.mark.parametrize("name", TYPES)
def test_it_is_read(name: str) -> None:
    assert read(PACKAGE / name, TYPES[name])


@pytest.mark.parametrize("name", TYPES)
def test_a_wrong_value_anywhere_is_told_with_its_line(name: str) -> None:
    paths = list(leaves(parsed(name)))
    assert paths
    for path in paths:
        tree = at = parsed(name)
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = {"": []}
        text = json.dumps(tree, indent=1).encode()
        with pytest.raises(DataError) as error:
            decode(text, TYPES[name], name)
        assert '"": []' in text.decode().splitlines()[error.value.line], (path, str(error.value))


def test_no_module_reads_a_data_file_without_a_type() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "load" not in source or not ("__file__" in source or "files(" in source):
            continue  # parsing takes long
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("loads", "load"):
                read_here = ast.unparse(node)
                if "__file__" in read_here or "files(" in read_here:
                    found.append(path.relative_to(PACKAGE).as_posix())
    assert found == sorted(PLAIN)


TABLES = """# a comment
title = "a"

[[rule]]
kind = "end"
any = ["x"]

[[rule]]
kind = "oom"
any = [
  "y",
]
unless = 'a|b'
"""


class Rule(Record):
    kind: str
    any: tuple[str, ...]
    unless: str = ""


class Rules(Record):
    title: str
    rule: tuple[Rule, ...]


@pytest.mark.parametrize(
    ("was", "instead", "line", "words"),
    [
        ('title = "a"', "title = 1", 2, "title: Expected `str`, got `int`"),
        ('kind = "oom"', 'kind = ["oom"]', 9, "rule.1.kind: Expected `str`, got `array`"),
        ('kind = "oom"\n', "", 8, "rule.1: Object missing required field `kind`"),
        ('"y"', "7", 10, "rule.1.any.0: Expected `str`, got `int`"),
        ("unless =", "unles =", 13, "rule.1.unles: Object contains unknown field `unles`"),
        ('"x"]', '"x"', 8, ""),
    ],
)
def test_a_table_that_is_wrong_is_told_with_its_line(was: str, instead: str, line: int, words: str) -> None:
    assert decode_toml(TABLES.encode(), Rules, "t.toml").rule[1].any == ("y",)
    assert TABLES.count(was) == 1
    with pytest.raises(DataError) as error:
        decode_toml(TABLES.replace(was, instead).encode(), Rules, "t.toml")
    assert str(error.value).startswith(f"t.toml:{line}: ")
    assert words in str(error.value)


def test_doctor_reads_every_data_file_that_is_read_once() -> None:
    """In a process of its own: what other tests have imported counts here, too."""
    script = "from rltui import data_files, doctor; doctor.data_files(); print(len(data_files.READERS))"
    ran = subprocess.run([sys.executable, "-c", script], cwd=REPO, capture_output=True, text=True, check=True)
    kept = sum(path.read_text("utf-8").count("\n@kept\n") for path in PACKAGE.rglob("*.py"))
    assert int(ran.stdout) == kept
