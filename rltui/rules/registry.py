"""Every detector, by what it looks at. A rule of the catalogue runs if it has one (`@rule` makes it)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Generic, TypeVar

from rltui.evidence.guard import Guard
from rltui.evidence.signal import Signal
from rltui.rules import (  # each registers its detectors
    advantages,  # noqa: F401
    at_once,  # noqa: F401
    checkpoints,  # noqa: F401
    config,  # noqa: F401
    critic,  # noqa: F401
    entropy,  # noqa: F401
    environment,  # noqa: F401
    generation,  # noqa: F401
    gradient,  # noqa: F401
    hardware,  # noqa: F401
    held_out,  # noqa: F401
    host,  # noqa: F401
    invariants,  # noqa: F401
    kl,  # noqa: F401
    learning,  # noqa: F401
    liveness,  # noqa: F401
    logged,  # noqa: F401
    mismatch,  # noqa: F401
    preference,  # noqa: F401
    reward,  # noqa: F401
    reward_parts,  # noqa: F401
    reward_source,  # noqa: F401
    sample_faults,  # noqa: F401
    samples,  # noqa: F401
    still,  # noqa: F401
    theory,  # noqa: F401
    throughput,  # noqa: F401
    train_behind,  # noqa: F401
)
from rltui.rules.base import REGISTERED, Detector
from rltui.rules.page import Rule

S = TypeVar("S")


def detectors(sees: type[S]) -> tuple[Detector[S], ...]:
    """The detectors that look at rows (`Look`), samples (`Sampled`), the machine (`Measured`) or the present run
    (`Standing`)."""
    return tuple(one for one in REGISTERED if one.sees is sees)


def ids(sees: type[object] | None = None) -> dict[str, None]:
    """Rules that have a detector, of this kind or of any, in the order of the modules."""
    return dict.fromkeys(one.rule for one in REGISTERED if sees is None or one.sees is sees)


class Panel(Generic[S]):
    """The detectors of one kind that a catalogue has switched on, with their thresholds."""

    def __init__(self, sees: type[S], catalogue: Mapping[str, Rule]) -> None:
        pages = ((one, catalogue.get(one.rule)) for one in detectors(sees))
        self._on = [(one, page.values()) for one, page in pages if page is not None and page.enabled]

    def ask(self, seen: S, guard: Guard, without: Container[str] = ()) -> Iterator[tuple[str, list[Signal]]]:
        """Rule and signals of each detector that could look and did not fail. `without`: rules that are not asked. None
        of these detectors keeps a memory: only rows are looked at repeatedly."""
        for one, thresholds in self._on:
            if one.rule not in without and guard.ask(one.rule, False, one.able, seen):
                found = guard.ask(one.rule, None, one.detect, seen, thresholds, {})
                if found is not None:
                    yield one.rule, found
