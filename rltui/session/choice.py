"""Decides which files of a run are read, which are left out and why, and what the report says about each."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rltui.evidence.guard import error_text
from rltui.prose import joined
from rltui.readers.compressed import line_reader
from rltui.readers.formats import formats
from rltui.readers.sample_means import AVERAGED
from rltui.run.source_info import SourceInfo
from rltui.session.ends import ALL, Extent

if TYPE_CHECKING:
    from rltui.discovery.found import Found
    from rltui.session.container_feeds import AnyFeed


MANY = 10
"""If more rows than this repeat a step, a second run is likely; fewer are corrections."""


def left_out(found: Found) -> dict[str, str]:
    """The files of a run that are not read, and why: a console log that W&B captured if the trainer's own log is there,
    and all but the largest trainer_state.json (each holds the whole history up to its checkpoint)."""
    files = found.listing.by_path
    formats = dict(found.candidate.files)
    consoles = [p for p, f in formats.items() if f.endswith("console")]
    captured = [p for p in consoles if "/wandb/" in p.replace(os.sep, "/") and p.endswith("output.log")]
    states = [p for p, f in formats.items() if f == "trainer-state"]
    why: dict[str, str] = {}
    own = max((files[p].mtime for p in consoles if p not in captured), default=None)
    if own is not None and captured:
        from rltui.run.contradictions import LATER_S  # imports numpy: most runs have no copy

        copies = [p for p in captured if files[p].mtime <= own + LATER_S]
        why |= dict.fromkeys(copies, "the console as W&B captured it, but the trainer's own log is read")
    if states:
        newest = max(states, key=lambda p: (files[p].size, files[p].mtime))
        why |= {p: f"an older copy of {os.path.relpath(newest, found.listing.root)}" for p in states if p != newest}
    return why


def choose(found: Found, extent: Extent | None = ALL) -> tuple[list[AnyFeed], list[SourceInfo]]:
    """The files to read (all bytes, or only the ends by `extent`), and those that are left out or unreadable, with the
    reason."""
    from rltui.session.container_feeds import feed_for

    files = found.listing.by_path
    inside = dict(found.candidate.inside)
    why = left_out(found)
    feeds: list[AnyFeed] = []
    ignored = []
    for path, fmt in found.candidate.files:
        stat = files[path]
        if path in why:
            ignored.append(SourceInfo(path, fmt, note=why[path], used=False, mtime=stat.mtime))
        else:
            try:
                feeds.append(feed_for(path, fmt, found.place, stat, inside.get(path, ""), extent))
            except Exception as error:
                text = error_text(error)
                note = f"not read, as its reader failed: {text}"
                ignored.append(SourceInfo(path, fmt, note=note, used=False, mtime=stat.mtime, broken=text))
    if repeats := found.candidate.repeats:
        more = f", and {len(repeats) - 1} more of other ranks" if len(repeats) > 1 else ""
        note = f"not read, as it repeats what the first rank or node says{more}"
        ignored.append(SourceInfo(repeats[0], "console", note=note, used=False, mtime=files[repeats[0]].mtime))
    unreadable = [SourceInfo(path, "unknown", note=why.removeprefix(f"{path} ")) for path, why in found.unreadable]
    return feeds, unreadable + ignored


def told(feed: AnyFeed) -> SourceInfo:
    """What has been read from a file so far."""
    notes = [feed.note] if feed.note else []
    table = feed.part.table
    notes += [f"{text}: {count}" for text, count in feed.remarks.items()]
    if table.overwritten and AVERAGED not in feed.remarks:
        several = ": two runs in one file?" if 2 * table.overwritten > max(MANY, table.n) else ""
        notes.append(f"rows that repeat a step with other values (the later row counts): {table.overwritten}{several}")
    if table.repeated:
        notes.append(f"rows that came again unchanged: {table.repeated}")
    notes += [feed.hint] if feed.hint else []
    lines = line_reader(feed.reader)
    lines = None if feed.gap else lines  # the ends alone do not give a total
    return SourceInfo(
        path=feed.path,
        format=feed.format,
        rows=feed.part.table.n,
        skipped=dict(feed.reader.skipped),
        note=joined(notes),
        mtime=feed.mtime,
        newest=feed.part.table.head_time,
        zoned=feed.part.table.zoned,
        lag=formats()[feed.format].lag,
        skipped_at=dict(feed.reader.skipped_at),
        untaken=() if lines is None else tuple(lines.left_out()),
        recurring=() if lines is None else tuple(lines.recurring()),
        replaced=0 if AVERAGED in feed.remarks else table.overwritten,
    )
