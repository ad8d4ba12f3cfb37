"""From which value on, and how soon, each rule speaks: its fault laid over a run in growing doses.

A dose is a scale of one of its metrics or settings, a mixture of near miss and fault, the number of rows since the
fault began, or another finding that is open beside it. A line of `turning/` says at which dose which level is reached;
whoever moves a threshold, a window or a comparison moves a turning point, and reads which. After a change that is
meant: `python -m tests.unit.knowledge`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rltui.evidence.look import Look
from rltui.rules.base import REGISTERED
from rltui.rules.catalogue import caused_by, rules
from tests.unit.diagnosis.series import learning_run
from tests.unit.rules.cases import BY_GROUP
from tests.unit.rules.given import Case, N, Rows, feed_of

TURNING = Path(__file__).with_name("turning")
LOOKS = (25, 50, 100, 150, 200, 240, 260, 270, 280, 290, N)
SCALES = (0.003, 0.01, 0.03, 0.1, 0.2, 0.5, 0.8, 1.25, 2.0, 5.0, 10.0, 30.0, 100.0)
MIXED = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9, 1.15, 1.5, 2.5)
LASTS = (1, 2, 3, 4, 6, 9, 13, 20, 30, 45, 70, 110, 170, 250)


def column(values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([np.nan if v is None else float(v) for v in values])


def cells(values: Any, holes: Any) -> list[float | None]:
    """`values`, with the holes that the column had: a missing cell is not a logged NaN."""
    return [None if hole is None else float(v) for v, hole in zip(values, holes, strict=True)]


def course(rule: str, given: Rows) -> str:
    """The level at each look, one digit a look; "-" where what the rule needs is not there."""
    return beside(rule, given, [given.opened])[0]


def beside(rule: str, given: Rows, opened: Sequence[Mapping[str, int]]) -> list[str]:
    """The course for each set of findings that are open beside it. What rows tell is asked once for all."""
    (one,) = (d for d in REGISTERED if d.rule == rule and d.sees is Look)
    page, feed = rules()[rule].values(), feed_of(given.run())
    out = [""] * len(opened)
    notes: list[dict[str, float]] = [{} for _ in opened]
    for n in LOOKS:
        for i, (others, memory) in enumerate(zip(opened, notes, strict=True)):
            look = Look(feed, n, others)
            out[i] += str(max((s.level for s in one.detect(look, page, memory)), default=0)) if one.able(look) else "-"
    return out


def said(rule: str, given: Rows) -> str:
    """Onset and numbers of the last sentence."""
    (one,) = (d for d in REGISTERED if d.rule == rule and d.sees is Look)
    memory: dict[str, float] = {}
    feed = feed_of(given.run())
    told = [one.detect(Look(feed, n, given.opened), rules()[rule].values(), memory) for n in LOOKS]
    return "; ".join(f"@{s.onset_step} {' '.join(re.findall(NUMBER, s.said))}".strip() for s in told[-1])


NUMBER = r"-?\d[\d,.]*(?:e-?\d+)?(?<![,.])"


def stretches(agreed: str, doses: Sequence[str]) -> list[tuple[int, int]]:
    """First and last of the doses of which a line says that they give the same; none if it is of other doses."""
    ends = [part.split(" ")[0].split("..") for part in agreed.partition(": ")[2].split(" | ")]
    if any(end not in doses for one in ends for end in one):
        return []
    found = [(doses.index(one[0]), doses.index(one[-1])) for one in ends]
    whole = [0, *(last + 1 for _, last in found)] == [*(first for first, _ in found), len(doses)]
    return found if whole else []


def turns(ask: Callable[[float], str], doses: Sequence[float], agreed: str = "") -> str:
    """Doses that say the same stand together: `0.1 to 0.5: 00122`. Of those that do so in the line that was `agreed`
    the first, the one in the middle and the last are asked: that holds both sides of each turning point. `-m whole`
    asks all."""
    names = [f"{dose:g}" for dose in doses]
    told: dict[int, str] = {}
    for first, last in stretches(agreed, names) or [(i, i) for i in range(len(doses))]:
        told |= {i: ask(doses[i]) for i in sorted({first, (first + last) // 2, last})}
        told |= {i: told[first] for i in range(first, last) if i not in told}
    out: list[list[str]] = []
    for dose, found in ((names[i], told[i]) for i in range(len(doses))):
        if out and out[-1][2] == found:
            out[-1][1] = dose
        else:
            out.append([dose, dose, found])
    return " | ".join(f"{a} {found}" if a == b else f"{a}..{b} {found}" for a, b, found in out)


def of_case(case: Case, agreed: Callable[[], str]) -> Iterator[str]:
    """The lines of one case of a rule that sees rows. `agreed`: the line that stands in the place of the next one."""
    fault, near = case.fault, case.near
    assert isinstance(fault, Rows)
    assert isinstance(near, Rows)
    rule, base = case.rule, learning_run(0, N)
    ask = partial(course, rule)
    yield f"fault: {ask(fault)} {said(rule, fault)}".rstrip()
    yield f"near: {ask(near)}"
    full, less = ({**base, **given.columns} for given in (fault, near))
    both = [name for name in full if name in less and any(v is not None for v in less[name])]  # type: ignore[attr-defined]
    differ = [name for name in both if list(full[name]) != list(less[name])]  # type: ignore[call-overload]
    if differ:

        def mixed(dose: float) -> str:
            laid = {n: column(less[n]) + dose * (column(full[n]) - column(less[n])) for n in differ}
            return ask(replace(fault, columns={**fault.columns, **{n: cells(v, full[n]) for n, v in laid.items()}}))

        yield "mixed: " + turns(mixed, MIXED, agreed())

        def lasting(since: float) -> str:
            rows = int(since)
            laid = {n: [*list(less[n])[: N - rows], *list(full[n])[N - rows :]] for n in differ}  # type: ignore[call-overload]
            return ask(replace(fault, columns={**fault.columns, **laid}))

        yield "rows since: " + turns(lasting, LASTS, agreed())
    scaled = dict.fromkeys([*fault.columns, *(name for name in rules()[rule].metrics if name in base)])
    for name in scaled:
        values = full[name]
        if all(v is None for v in values):  # type: ignore[attr-defined]
            continue

        def times(dose: float, name: str = name, values: Any = values) -> str:
            return ask(replace(fault, columns={**fault.columns, name: cells(dose * column(values), values)}))

        yield f"{name} times: " + turns(times, SCALES, agreed())
        without = {key: value for key, value in fault.columns.items() if key != name}
        yield f"{name} missing: " + ask(replace(fault, columns={**without, name: [None] * N}))
    for key, value in fault.config.items():
        if isinstance(value, int | float) and not isinstance(value, bool):

            def set_to(dose: float, key: str = key, value: float = value) -> str:
                return ask(replace(fault, config={**fault.config, key: value * dose}))

            yield f"setting {key} times: " + turns(set_to, SCALES, agreed())
    relations = rules()[rule].relations
    others = list(dict.fromkeys([rule, *caused_by(rule), *relations.leads_to, *relations.suppresses]))
    open_at = [(other, level) for other in others for level in (1, 2)]
    plain, *found = beside(rule, fault, [fault.opened, *({other: level} for other, level in open_at)])
    quiet, *near_open = beside(rule, near, [near.opened, *({other: 2} for other in others)])
    told = dict(zip(open_at, found, strict=True))
    for other, at_near in zip(others, near_open, strict=True):
        for level in (1, 2):
            if told[other, level] != plain:
                yield f"{other} open at {level}: {told[other, level]}"
        if at_near != quiet:
            yield f"near, {other} open: {at_near}"


def swept() -> dict[str, str]:
    """Rule -> its group, of those that look at rows."""
    return {case.rule: group for group, cases in BY_GROUP.items() for case in cases if case.fault.sees is Look}


def lines_of(rule: str, agreed: Sequence[str] = ()) -> list[str]:
    """All lines of a rule. `agreed`: as they were; without it every dose is asked."""
    cases = (case for cases in BY_GROUP.values() for case in cases if case.rule == rule and case.fault.sees is Look)
    out: list[str] = []
    for case in cases:
        for line in of_case(case, lambda: agreed[len(out)] if len(out) < len(agreed) else ""):
            out.append(line)
    return out


def write() -> None:
    """Makes `turning/` anew."""
    TURNING.mkdir(exist_ok=True)
    texts: dict[str, list[str]] = {}
    for rule, group in swept().items():
        texts.setdefault(group, []).append("\n".join([f"# {rule}", *lines_of(rule)]))
    for group, parts in texts.items():
        (TURNING / f"{group}.txt").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
