"""Where the run is, what was read of it, and its config."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rltui.prose import joined
from rltui.tui.panes import header
from rltui.tui.panes.findings import config_value
from rltui.tui.rows import Row, put, wrap
from rltui.tui.screens.text import Block, TextScreen
from rltui.tui.view import GLYPH, ROLE

if TYPE_CHECKING:
    from rltui.evidence.model import Finding


ATTEMPTS_SHOWN = 5


class ConfigScreen(TextScreen):
    """Where the run is, what was read of it, and its config with the source of every value."""

    NAME = "config"
    HEAD = "Run and config"

    def content(self, width: int) -> list[Block]:
        report = self.view.report
        if report is None:
            return []
        run = report.run
        blocks: list[Block] = []
        rows: list[Row]
        ended = {end.step: f" ({end.because})" for end in run.ends}
        for name, value in (
            ("path", run.path),
            ("state", f"{run.state}{': ' + run.state_because if run.state_because else ''}"),
            ("restarts", ", ".join(f"at step {step}{ended.get(step, '')}" for step in run.restarts)),
            ("replaced", joined(one.text for one in run.attempts[-ATTEMPTS_SHOWN:])),
            ("as of", report.as_of or ""),
        ):
            if value:
                lines = wrap(value, max(20, width - 14)) or [""]
                first: Row = [put(f" {name}", 12, "dim"), (lines[0], "fg")]
                blocks.append((f"{name} {value}", [first, *[[(" " * 12, "fg"), (line, "fg")] for line in lines[1:]]]))
        link = self.view.recording.link if self.view.recording else None
        if link is not None:
            words = joined((link.state, link.text, link.note))
            role = "fg" if link.state == "connected" else "warn"
            rows = [
                [put(" link" if i == 0 else "", 12, "dim"), (line, role)]
                for i, line in enumerate(wrap(words, width - 14))
            ]
            blocks.append((f"link {words}", rows))
        counts = "   if several hold a number, the first counts" if sum(s.used for s in run.sources) > 1 else ""
        blocks.append(("", [[], [put(f" SOURCES{counts}", width - 1, "dim")]]))
        for source in run.sources:
            read: Row = [(" ", "fg"), put(source.format, 22, "fg"), put(f"{source.rows} rows", 12, "dim")]
            beside = len(source.path) <= width - 36
            rows = [[*read, (source.path, "fg")]] if beside else [read]
            rows += [] if beside else [[(" " * 12, "fg"), (line, "fg")] for line in wrap(source.path, width - 14)]
            age = "" if source.note.startswith("as of ") else self._age(source.path)  # the note of a live run has it
            told = (source.note, age)
            if any(told):
                text = " · ".join(part for part in told if part)
                rows += [
                    [(" " * 23, "fg"), (line, "warn" if source.skipped else "dim")] for line in wrap(text, width - 24)
                ]
            blocks.append((f"{source.format} {source.path} {source.note}", rows))
        name_w, value_w = (24, 36) if width >= 140 else (24, 22) if width >= 100 else (20, 14)
        usual = Counter(entry.source for entry in report.config.values()).most_common(1)
        whence = usual[0][0] if usual else ""
        head: Row = [put(" CONFIG", name_w + 1, "dim"), put("value", value_w, "dim"), ("key", "dim")]
        lead = wrap(f"from {whence}, if no other source is named" if whence else "", width - 2)
        blocks.append(("", [[], head, *[[(" ", "fg"), (line, "dim")] for line in lead]]))
        if not report.config:
            why = "no config was found in the logs or beside them, so rules that need it could not run"
            blocks.append(("", [[(" ", "fg"), (line, "dim")] for line in wrap(why, width - 2)]))
        for name, entry in sorted(report.config.items(), key=lambda item: not item[1].active):
            role = "fg" if entry.active else "dim"
            value = config_value(entry.value)
            where = entry.key if entry.source == whence else f"{entry.key}   {entry.source}"
            rows = [
                [
                    (" ", "fg"),
                    put(name, name_w, role),
                    put(value, value_w - 1, "strong" if entry.active else "dim"),
                    (" ", "fg"),
                    put(where, max(0, width - name_w - value_w - 1), "dim"),
                ]
            ]
            if not entry.active or entry.note:
                note = entry.note or "not on the active path"
                rows += [
                    [(" " * (name_w + 1), "fg"), (line, "dim")] for line in wrap(note, max(20, width - name_w - 2))
                ]
            objects = self._objections(entry.key)
            for finding in objects:
                text = f"{GLYPH[finding.severity]} {finding.title}"
                rows.append([(" " * (name_w + 1), "fg"), (text, ROLE[finding.severity])])
            words = " ".join(finding.title for finding in objects)
            blocks.append((f"{name} {entry.key} {value} {words}", rows))
        if report.other_config:
            blocks.append(("", [[], [put(" OTHER SETTINGS, under their own keys", width - 1, "dim")]]))
        key_w = name_w + value_w
        for key, held in sorted(report.other_config.items()):
            value = config_value(held)
            other: Row = [
                (" ", "fg"),
                put(key, key_w - 1, "fg"),
                (" ", "fg"),
                put(value, max(0, width - key_w - 2), "strong"),
            ]
            blocks.append((f"{key} {value}", [other]))
        return blocks

    def _age(self, path: str) -> str:
        """The age of a file's newest row, and the known delay of its writer. Only for a run that is followed."""
        frame = self.view.recording
        source = next((s for s in frame.run.sources if s.path == path), None) if frame and frame.live else None
        if source is None:
            return ""
        if not source.used or not self.view.now:
            return ""
        time, what = (source.newest, "newest row") if source.newest is not None else (source.mtime, "written")
        age = f"{what} {header.age_text(self.view.now - time)} ago" if time is not None else ""
        return joined((age, source.lag))

    def _objections(self, key: str) -> list[Finding]:
        """Open findings that have this config key as a supported cause."""
        return [
            f
            for f in self.view.open_findings()
            if any(c.config_key == key and c.status == "supported" for c in f.causes)
        ]
