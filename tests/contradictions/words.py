"""Rules: sentences say what the numbers beside them say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.contradictions.engine import rule
from tests.contradictions.readers import close
from tests.contradictions.surfaces import Json, Said

NUMBER = r"([-−+]?\d(?:[\d.,]*\d)?(?:e[-−+]?\d+)?)"
FROM_TO = re.compile(
    r"\b(?P<word>fell|falls|dropped|shrank|rose|rises|grew|gained)\b"
    rf"[^.;]{{0,24}}?(?:from )?{NUMBER}(?: \w+)? (?:to|→) {NUMBER}"
)
DOWN = ("fell", "falls", "dropped", "shrank")
REWARDS = ("reward_mean", "score_mean", "val_score")


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


@rule
def fell_and_rose(said: Said) -> Iterator[str]:
    """ "Fell from A to B" has B below A, "rose" above it."""
    for where, text in said.sentences():
        for found in FROM_TO.finditer(text):
            a, b = number(found[2]), number(found[3])
            if (b > a) if found["word"] in DOWN else (b < a):
                yield f"{where}: {found[0]!r}"


@rule
def now_is_the_newest(said: Said) -> Iterator[str]:
    """ "Now A" is the newest value of a metric, as the table has it; a level of several rows is told with its rows, or
    as what is so lately."""
    newest = [m["last_value"] for m in said.report["metrics"].values() if m["last_value"] is not None]
    for where, text in said.sentences():
        for found in re.finditer(rf"(?:^|, )now {NUMBER}", text):
            if not any(_rounds(value, found[1]) for value in newest):
                yield f"{where}: {found[0]!r} is the newest value of no metric"


@rule
def reward_and_its_numbers(said: Said) -> Iterator[str]:
    """A sentence that the reward "fell" or "rose" without numbers, and without since when, speaks of the whole run:
    first and last of the metrics table move so, too. A sentence that names a peak, a start or rows may say something
    else: it speaks of that span."""
    rewards = [m for name in ("reward_mean", "score_mean") if (m := said.metric(name)) is not None]
    if not rewards:
        return
    for where, text in said.sentences():
        for found in re.finditer(
            r"\b(?:the )?(?:train )?(?:reward|score) (fell|rose|gained nothing)\b(?P<more>[^.;]*)", text, re.I
        ):
            span = re.search(r"\d", found["more"]) or re.search(
                r"rows|since|peak|from its|lately|in which", text[: found.end()]
            )
            if span:
                continue
            moves = [(m["first"], m["last"], _noise(m)) for m in rewards if m["first"] is not None]
            up = [b - a > noise for a, b, noise in moves]
            down = [a - b > noise for a, b, noise in moves]
            if found[1].lower() == "fell" and up and all(up):
                yield f"{where}: {found[0].strip()!r}; first → last {moves[0][0]:.4g} → {moves[0][1]:.4g}"
            if found[1].lower() == "rose" and down and all(down):
                yield f"{where}: {found[0].strip()!r}; first → last {moves[0][0]:.4g} → {moves[0][1]:.4g}"
            if found[1].lower() == "gained nothing" and up and all(up):
                yield f"{where}: {found[0].strip()!r}; first → last {moves[0][0]:.4g} → {moves[0][1]:.4g}"


def _noise(metric: Json) -> float:
    """A tenth of the metric's range: less is no movement that a sentence need speak of."""
    return float(0.1 * (metric["max"] - metric["min"]))


@rule
def shape_and_numbers(said: Said) -> Iterator[str]:
    """A shape that only rises or only falls has first and last in that order, but for a tenth of the range; "constant"
    has no range. A shape of two parts ("level, then falls") may end anywhere."""
    for name, m in said.report["metrics"].items():
        if m["first"] is None or m["last"] is None or not m["shape"]:
            continue
        word = m["shape"].split(",")[0].strip()
        two = "then" in m["shape"]
        if word == "rises" and not two and m["last"] < m["first"] - _noise(m):
            yield f"{name} {m['shape']!r}: {m['first']:.4g} → {m['last']:.4g}"
        if word == "falls" and not two and m["last"] > m["first"] + _noise(m):
            yield f"{name} {m['shape']!r}: {m['first']:.4g} → {m['last']:.4g}"
        if word == "constant" and m["max"] != m["min"]:
            yield f"{name} constant: {m['min']:.4g} to {m['max']:.4g}"


@rule
def evidence_and_table(said: Said) -> Iterator[str]:
    """First, mid and last of a finding's evidence are those of the metrics table: one window, one number. Evidence of
    what is no row of the table (samples, machines, a part of a phase) stands for itself. A finding that is over keeps
    the numbers of its time."""
    for finding in said.active:
        for evidence in finding["evidence"]:
            found = said.metric(evidence["metric"])
            if found is None or evidence["key"] not in (None, found["key"]):
                continue
            for part in ("first", "mid", "last"):
                if not close(evidence[part], found[part]):
                    yield f"{finding['id']}: {evidence['metric']} {part} {evidence[part]}, table: {found[part]}"


SHARES = (
    (re.compile(r"(\S+) % of the groups (?:have no reward variance|agree)( over the last \d+ rows)?"), "dead_groups"),
    (re.compile(r"(\S+) % of the responses (?:are|count as) cut[^:,;.]*?( over the last \d+ rows)?(?=[:,;.])"), "cut"),
)


@rule
def shares_in_sentences(said: Said) -> Iterator[str]:
    """A share is one number: each sentence says that of the fact table, and of which rows it is. A table's last window
    may differ: it is the last tenth of the rows, the share that of the newest."""
    for pattern, name in SHARES:
        fact = (said.report.get("facts") or {}).get(name)
        for where, text in said.sentences():
            for found in pattern.finditer(text):
                if fact is None or abs(number(found[1]) - 100 * fact["value"]) > 0.51:
                    yield f"{where}: {found[0]!r}, facts: {fact and fact['value']}"
                elif found[2] is None or f" {fact['rows']} rows" not in found[2]:
                    yield f"{where}: {found[0]!r} does not say that it is of {fact['rows']} rows"


def _rounds(value: float | None, shown: str) -> bool:
    """Whether a value may be shown so: as near as two in a hundred, or as the digits that are there allow."""
    decimals = len(shown.partition(".")[2]) if shown[-1:].isdigit() and "e" not in shown else 0
    half = 0.5 * 10.0**-decimals if "." in shown else 0.0
    return value is None or close(number(shown), value, 0.02) or abs(number(shown) - value) <= 1.01 * half


@rule
def reward_in_the_verdict(said: Said) -> Iterator[str]:
    """ "Reward A → B" in the verdict are first and last of the metric that the table calls the reward, or, of too few
    rows, its first and newest value, as there. If score and reward are both logged and move apart, a number of the
    score is not called reward."""
    for where, text in said.sentences()[:2]:
        found = re.search(rf"\bReward {NUMBER} → {NUMBER}", text)
        rewards = [m for name in ("reward_mean", "score_mean") if (m := said.metric(name)) is not None]
        if found is None or not rewards:
            continue
        own = rewards[0]  # the reward, if it is logged
        first, last = ("first_value", "last_value") if own["overlap"] else ("first", "last")
        if not (_rounds(own[first], found[1]) and _rounds(own[last], found[2])):
            yield f"{where}: {found[0]!r}, table: {own['label']} {own[first]:.4g} → {own[last]:.4g}"


@rule
def moved_and_table(said: Said) -> Iterator[str]:
    """What moved, moved from first to last of the table."""
    for one in said.report.get("moved") or ():
        found = said.metric(one["metric"])
        if found is not None and not (close(one["first"], found["first"]) and close(one["last"], found["last"])):
            yield f"{one['metric']} {one['first']} → {one['last']}, table: {found['first']} → {found['last']}"


@rule
def validation_in_sentences(said: Said) -> Iterator[str]:
    """Validation that "still rises" stands no lower than its best by more than a tenth of its range, and does not stand
    beside a finding that it fell."""
    table = said.metric("val_score")
    fell = [f["id"] for f in said.loud if f["id"] in ("val-regression", "train-val-divergence")]
    for where, text in said.sentences():
        if "validation still rises" not in text.lower() and "only rising validation" not in text:
            continue
        if fell:
            yield f"{where}: validation still rises, beside {fell[0]}"
        if table and table["count"] > 4 and table["max"] - table["last"] > 0.34 * (table["max"] - table["min"]):
            yield f"{where}: validation still rises, last {table['last']:.4g}, best {table['max']:.4g}"


GAINED = r"(?:rose|has risen|still ri\w+|rises)"
NO_GAIN = {
    "no sure gain on validation": rf"\bvalidation\b[^.]*\b{GAINED}\b",
    "no gain shown": rf"\b(?:reward|score|validation)\b[^.]*\b{GAINED}\b",
    "all clear": r"\bvalidation\b[^.]*\b(?:fell|lower than it was)\b",
}


@rule
def headline_and_courses(said: Said) -> Iterator[str]:
    """The verdict does not open with "no gain" and go on to tell of one, nor call clear what it then says was lost."""
    text = said.report["verdict"]["text"]
    head, _, courses = text.partition(":")
    for opens, against in NO_GAIN.items():
        found = re.search(against, courses.replace("0.", "0,"), re.I)
        if opens in head.lower() and found is not None:
            yield f"{head!r} beside {found[0]!r}"
    rose = re.search(r"\b(?:Reward|Score) rose\b", text)
    if rose is None:
        return
    for where, sentence in said.sentences():
        if re.search(r"\breward (?:shows no sure gain|has not moved beyond its noise)", sentence, re.I):
            yield f"verdict: {rose[0]!r}; {where}: {sentence!r}"
    best = said.report["verdict"]["best_checkpoint"]
    rewards = [m["key"] for name in REWARDS[:2] if (m := said.metric(name)) is not None]
    if best is not None and best["metric"] in rewards and best.get("beats_start") is False:
        yield f"verdict: {rose[0]!r}; the best step, {best['step']}, does not beat the start"


@rule
def epochs_of_one_metric(said: Said) -> Iterator[str]:
    """A metric is not both constant or absent and the evidence of a movement: evidence of a loud finding has points."""
    for finding in said.loud:
        for evidence in finding["evidence"]:
            found = said.metric(evidence["metric"])
            if found is not None and found["count"] == 0 and evidence["last"] is not None:
                yield f"{finding['id']}: {evidence['metric']} last {evidence['last']}, the table has no point of it"
