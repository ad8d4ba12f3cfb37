"""The result of one check, and all results as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Literal

from rltui.text import clean
from rltui.verify.adapters import raised

STAGES = ("reward", "advantages", "log-probs", "loss", "generation")
Mark = Literal["", "?", "!!", "skip"]


@dataclass(frozen=True)
class Check:
    """`stage`: one of the five stages of the pipeline. `value`: what was measured. `how`: what it was compared with.

    `mark`: "" passes, "?" is doubtful and needs a look, "!!" is a certain violation, "skip" was not checked.
    """

    stage: str
    name: str
    mark: Mark
    value: str
    how: str = ""


def guarded(stage: str, name: str, probe: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """The checks of a probe. An exception counts as a failed check. So does `SystemExit`, because the probe runs the
    user's functions."""
    found: list[Check] = []
    try:
        found.extend(probe())
    except (Exception, SystemExit) as error:
        found.append(Check(stage, name, "!!", raised(error), "the probe must not raise"))
    yield from found


SCHEMA = "rltui.verify/1"
CLEAN = "No unambiguous invariant violations. Review lines marked ?"


def as_text(checks: Sequence[Check]) -> str:
    """One line per check, with its mark in the first column. The last line is the result."""
    lines: list[str] = []
    width = max((len(c.name) for c in checks), default=0)
    for stage, group in groupby(checks, key=lambda c: c.stage):
        lines += ["", stage]
        for c in group:
            how = f"   [{c.how}]" if c.how else ""
            lines.append(f"{c.mark:>5} {c.name:<{width}}  {clean(c.value)}{how}".rstrip())
    wrong = [c for c in checks if c.mark == "!!"]
    skipped = [c.name for c in checks if c.mark == "skip"]
    doubtful = sum(c.mark == "?" for c in checks)
    lines += [
        "",
        f"{len(checks) - len(skipped)} checks, {len(wrong)} marked !!, {doubtful} marked ?, {len(skipped)} skipped",
    ]
    looked = {c.stage for c in checks if c.mark != "skip"}
    blind = [stage for stage in STAGES if stage not in looked]
    lines.append(f"{len(looked)} of {len(STAGES)} stages were looked at")
    if blind:
        lines[-1] += f". Not looked at, so neither right nor wrong: {', '.join(blind)}"
    if skipped:
        lines.append(f"Skipped, so neither right nor wrong: {', '.join(skipped)}")
    lines.append(f"Violated: {', '.join(f'{c.stage}: {c.name}' for c in wrong)}" if wrong else CLEAN)
    return "\n".join(lines[1:]) + "\n"


def as_json(checks: Sequence[Check]) -> str:
    """`{"schema", "violations": [name...], "checks": [...]}`, with the same marks as in the text."""
    plain = [{**asdict(c), "value": clean(c.value)} for c in checks]
    wrong = [f"{c.stage}: {c.name}" for c in checks if c.mark == "!!"]
    return json.dumps({"schema": SCHEMA, "violations": wrong, "checks": plain}, indent=1, ensure_ascii=False) + "\n"
