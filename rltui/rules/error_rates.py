"""How often each rule was right and wrong on simulated runs: `python -m tests.evaluation drill --write` measures it.

A simulated run is healthy or has one known fault, and is looked at repeatedly while it grows. A rule speaks if it has
an open warning or critical finding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from rltui.data_files import Record, kept, read

FILE = Path(__file__).with_name("data") / "error_rates.json"

Count = Annotated[int, Meta(ge=0)]


class RuleRates(Record):
    """What one rule did. `planted`: runs whose fault it may name and in which it could run; `found`: those in which it
    named the fault; `named`: those in which it or another right rule did; `unable`: further runs with such a fault that
    do not log what the rule needs. `median_rows`: rows with the fault until the rule spoke, over the runs in which it
    did. `false_alarms`: times that it began to speak while nothing was wrong, in `healthy_steps` steps of runs in which
    it could run. `false_resolves`: times that no rule named such a fault any more although the fault lasted."""

    planted: Count
    found: Count
    named: Count
    unable: Count
    median_rows: Annotated[float, Meta(ge=1)] | None
    false_alarms: Count
    healthy_steps: Count
    false_resolves: Count

    def __post_init__(self) -> None:
        if not self.found <= self.named <= self.planted:
            raise ValueError("more runs are found than named, or more named than planted")
        if (self.median_rows is None) != (self.found == 0):
            raise ValueError("median_rows is of the runs that were found, and null if there is none")


class VerdictRates(Record):
    """What all rules and the verdict did. `planted`: runs with a fault that lasts; `named`: those in which a right rule
    spoke, after `median_rows` rows. `false_clears`: those whose final verdict was to go on, without any warning.
    `false_stops`: runs whose verdict was to stop or pause when nothing called for it; `calm`: runs in which nothing
    ever does. `flips`: changes between "go on" and "stop or pause", in all runs."""

    planted: Count
    named: Count
    median_rows: Annotated[float, Meta(ge=1)] | None
    false_alarms: Count
    healthy_steps: Count
    false_resolves: Count
    false_clears: Count
    false_stops: Count
    calm: Count
    flips: Count


class ErrorRates(Record):
    """`command` measures everything again; `looks`: how often each run was looked at. Seeds count up from `first_seed`,
    one for each run."""

    how: Annotated[str, Meta(min_length=1)]
    command: Annotated[str, Meta(min_length=1)]
    first_seed: Count
    runs: Count
    kinds: Count
    looks: Count
    verdict: VerdictRates
    rules: dict[str, RuleRates]


@kept
def error_rates() -> ErrorRates:
    return read(FILE, ErrorRates)


def in_words(rates: RuleRates | None) -> str:
    """A rule's rates in words. `rates` is None for a rule without known rates."""
    unknown = "Its error rate has not been measured"
    if rates is None:
        return f"{unknown}."
    steps = f"{rates.healthy_steps:,} healthy steps"
    alarms = f"False alarms: {rates.false_alarms or 'none'} in {steps}." if rates.healthy_steps else ""
    if not rates.planted:
        which = "with such a fault logs what it needs" if rates.unable else "had such a fault"
        return f"{unknown}: no simulated run {which}. {alarms}".rstrip()
    rows = "" if rates.median_rows is None else f", after {rates.median_rows:g} rows (median)"
    said = [f"Measured: found in {rates.found} of {rates.planted} simulated runs with a fault that it may name{rows}."]
    if others := rates.named - rates.found:
        said.append(f"In {others} more another rule named the fault.")
    if missed := rates.planted - rates.named:
        said.append(f"No rule named it in {missed}.")
    if rates.unable:
        said.append(f"It could not run in {rates.unable} further ones, for lack of what it needs.")
    said.append(alarms)
    if rates.false_resolves:
        times = "once" if rates.false_resolves == 1 else f"{rates.false_resolves} times"
        said.append(f"Ended too early {times}: no rule named such a fault any more while it stood.")
    return " ".join(said)
