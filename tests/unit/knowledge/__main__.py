"""Writes names, answers, turning points and facts anew, as the package has them now."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.unit.knowledge.facts import FACTS, all_facts
from tests.unit.knowledge.names import NAMES, called, dialects, runs_of, write
from tests.unit.knowledge.questions import write as write_answers
from tests.unit.knowledge.told import write as write_told
from tests.unit.rules.contexts import write as write_contexts
from tests.unit.rules.sweeps import write as write_turning_points

FACTS.mkdir(exist_ok=True)
for part, lines in all_facts().items():
    (FACTS / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
NAMES.mkdir(exist_ok=True)
for name, dialect in dialects().items():
    text, told = "", set()
    if not runs_of(dialect):  # one that only tells itself from the dialect whose names it has
        continue
    for asked in runs_of(dialect):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), asked)
            framework, lines = called(Path(folder))
        told.add(framework)
        text += "\n".join([json.dumps(asdict(asked) | {"framework": framework}, ensure_ascii=False), *lines, "", ""])
    (NAMES / f"{name}.txt").write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    wanted = dialect.get("framework") or dialect.get("name") or name
    print(f"{name}: {wanted}", "" if told == {wanted} else f"read as {told}")
write_answers()
write_turning_points()
write_contexts()
write_told()
