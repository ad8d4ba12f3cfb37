"""What is easily misread is told for this run's framework and version, and for no other."""

from __future__ import annotations

import pytest

from rltui.vocabulary.load import dialect, dialect_names, metrics
from rltui.vocabulary.resolve import trap
from rltui.vocabulary.versions import may_be_in, version_number


def test_only_the_own_framework_is_told() -> None:
    titles = {dialect(name).title for name in dialect_names()} | {"prime-rl", "Search-R1"}
    for name in dialect_names():
        own = {dialect(n).title for n in (name, *dialect(name).bases)}
        for metric in metrics():
            told = trap(metric, name)
            for title in titles - own:
                assert f"{title}:" not in told
                assert f"{title} from" not in told


def test_the_general_part_names_no_framework() -> None:
    for metric in metrics().values():
        assert not any(title in metric.trap for title in ("verl", "TRL", "slime", "tinker", "AReaL", "OpenRLHF"))


@pytest.mark.parametrize(
    ("version", "inside", "outside"),
    [
        ("0.4.1", "last micro-batch", "summed over mini-batches"),
        ("0.6.1", "divided by the number of micro-batches", "last micro-batch"),
        ("0.7.0.dev0", "summed over mini-batches", "divided by the number"),
        ("0.9.1", "logged as 0.0", "summed over mini-batches"),
    ],
)
def test_the_kl_of_verl_by_version(version: str, inside: str, outside: str) -> None:
    told = trap("kl_ref", "verl", version)
    assert inside in told
    assert outside not in told


def test_what_may_be_is_told() -> None:
    assert may_be_in(None, "0.6", "0.7")
    assert may_be_in(">=0.6", "0.7", "0.8")
    assert not may_be_in(">=0.8", "0.6", "0.7")
    assert not may_be_in("0.2-0.3", "0.4", None)
    assert version_number("verl 0.1") == (0, 1)


def test_every_trap_is_of_a_known_metric() -> None:
    for name in dialect_names():
        for entry in dialect(name).traps:
            assert entry.metric in metrics(), (name, entry.metric)
            assert entry.text
