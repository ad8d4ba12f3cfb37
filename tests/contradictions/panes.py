"""Rules: the screens behind the main one show the report's run, step time, machine, samples and comparison."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.contradictions.digits import WRITTEN, rounds
from tests.contradictions.engine import rule
from tests.contradictions.surfaces import Said

STATE = re.compile(r"\b(stalled|hung|slow|crashed|finished|live|state unknown)\b|[●▸] \d")
CRUMB = re.compile(r"\s{2}(?P<last>\d+)(?:/(?P<total>\d+)  (?P<share>\d+) %)?\s")
THOUSANDS = re.compile(r"(?<=\d)[, \u202f ](?=\d{3}\b)")


@rule
def top_line_of_every_screen(said: Said) -> Iterator[str]:
    """The top line of each screen has the steps of the report, and the state that the main screen's has. The help and
    the comparison tell of no step."""
    if "main" not in said.screens:
        return
    steps, main = said.report["run"]["steps"], said.screens["main"].splitlines()[0].replace(said.name, "")
    alive = STATE.search(main)
    for name, text in said.screens.items():
        if name in ("main", "compare", "help"):
            continue
        head = text.splitlines()[0]
        line = THOUSANDS.sub("", head[head.rfind("›") + 1 :].strip() + " ")
        shown = CRUMB.search(line)
        if shown is not None and steps["last"] is not None:
            if int(shown["last"]) != steps["last"]:
                yield f"the {name} screen: step {shown['last']}, report: {steps['last']}"
            if shown["total"] is not None and int(shown["total"]) != steps["total"]:
                yield f"the {name} screen: plan {shown['total']}, report: {steps['total']}"
        now = STATE.search(line)
        if alive is not None and now is not None and None not in (alive[1], now[1]) and alive[1] != now[1]:
            yield f"the {name} screen: {now[1]!r}, the main screen: {alive[1]!r}"


@rule
def config_screen_and_report(said: Said) -> Iterator[str]:
    """The screen of the run has its state, the rows of each source that has any, and the config's values by key. A
    value that is long is cut; a run that is followed may be called hung where the report calls it stalled."""
    text = said.screens.get("config", "")
    run = said.report["run"]
    state = re.search(r"^ +state +(\w+)(?:: (.*?))? *$", text, re.M)
    if state is not None and said.state != "stalled" and state[1] != said.state:
        yield f"the config screen: {state[1]}, report: {said.state}"
    restarts = re.search(r"^ +restarts +(.+?) *$", text, re.M)
    told = [int(step) for step in re.findall(r"at step (\d+)", restarts[1])] if restarts is not None else []
    if (text and told != run["restarts"][: len(told)]) or (run["restarts"] and text and not told):
        yield f"the config screen: restarts {told}, report: {run['restarts']}"
    body = text.partition("SOURCES")[2].partition(" CONFIG ")[0]
    for format, rows in re.findall(r"^ +([\w-]+) +(\d+) rows ", body, re.M):
        own = [source["rows"] for source in run["sources"] if source["format"] == format]
        if own and int(rows) not in own:
            yield f"the config screen: {format} {rows} rows, report: {own}"
    by_name = said.report["config"]
    for name, value, key in re.findall(r"^ +(\w+) {2,}(\S.*?) {2,}(\S+)", text.partition(" CONFIG ")[2], re.M):
        entry = by_name.get(name)
        if entry is None or entry["key"] != key.rstrip("…"):
            continue
        shown = (
            rounds(value, entry["value"]) if isinstance(entry["value"], float) else value.rstrip("…") in _plain(entry)
        )
        if not shown:
            yield f"the config screen: {name} {value}, report: {entry['value']}"


def _plain(entry: dict[str, object]) -> str:
    return re.sub(r"\s+", " ", str(entry["value"]))


@rule
def machine_screen_and_table(said: Said) -> Iterator[str]:
    """What the run logs of its memory has the newest value and the range of the table; and nothing is foretold of a run
    that has ended."""
    text = said.screens.get("gpu", "")
    if said.state in ("finished", "crashed") and re.search(r"changed by \w", text):
        yield f"the GPU screen foretells of a run that is {said.state}"
    labels = {(m["label"] or m["key"]): m for m in said.report["metrics"].values()}
    body = text.partition("Logged by the run")[2]
    for label, now, low, high in re.findall(
        rf"^ +(\S.*?) +[▁▂▃▄▅▆▇█ ]+ +({WRITTEN})(?: \S+)? +({WRITTEN})–({WRITTEN})", body, re.M
    ):
        own = labels.get(label)
        if own is None:
            continue
        for text_of, value in ((now, own["last_value"]), (low, own["min"]), (high, own["max"])):
            if not rounds(text_of, value):
                yield f"the GPU screen: {label} {text_of}, table: {value}"


@rule
def samples_screen_and_report(said: Said) -> Iterator[str]:
    """The screen of samples shows some if the report knows of some, and says that there are none if it does not. The
    report reads but the ends of a long log, and says so."""
    text = said.screens.get("rollouts", "")
    none, known = "No generated text found" in text, said.report["rollouts"]["count"]
    if text and none and known:
        yield f"the screen of samples: none, report: {known}"
    bounded = "the ends of" in said.report["rollouts"].get("note", "")
    if text and not none and not known and not bounded and "reading" not in text:
        yield "the screen of samples shows some, the report knows of none"


@rule
def step_time_screen_and_report(said: Said) -> Iterator[str]:
    """The seconds and the share of each phase are those of the report, and it names a bottleneck if the report does."""
    text = said.screens.get("phases", "")
    body = text.partition("One step")[2].partition("Seconds over the steps")[0]
    for item in said.report["phases"]["items"]:
        line = re.search(rf"^[ ▌]+{re.escape(item['name'])}  .*$", body, re.M)
        if line is None:
            continue
        found = re.search(rf"(<?)({WRITTEN}) +({WRITTEN}) %", re.sub(r"[█░▉▊▋▌▍▎▏▐]", " ", line[0]))
        if found is None:
            continue
        less, seconds, share = found.groups()
        if not (item["seconds"] < float(seconds) if less else rounds(seconds, item["seconds"])):
            yield f"the screen of step time: {item['name']} {less}{seconds} s, report: {item['seconds']}"
        if item["share"] is not None and not rounds(share, item["share"], 100.0):
            yield f"the screen of step time: {item['name']} {share} %, report: {item['share']}"


@rule
def comparison_screen_and_compare(said: Said) -> Iterator[str]:
    """A run's row on the screen of the comparison has the numbers of its line in `compare`, and stands in its group."""
    if said.row is None or said.compared is None:
        return
    group, line = said.row.split("\n", 1)
    if group != said.compared["group"]:
        yield f"the comparison's screen: {group}, compare: {said.compared['group']}"
    numbers = re.findall(rf"(?<= )({WRITTEN}|–)(?= )", re.sub(r"^.*?[▁▂▃▄▅▆▇█] ", " ", line))
    for text, name in zip(numbers[:3], ("best", "se", "last"), strict=False):
        value = said.compared[name]
        if (text == "–") != (value is None) or (value is not None and not rounds(text, value)):
            yield f"the comparison's screen: {name} {text}, compare: {value}"
