"""One run or many, opened and followed: the only place where sources, readers, run, hardware and engine meet.

locate.py       what the user named -> runs found, or one clear error line
ends.py         how much is read: all, or the ends
feed.py         one file: follower and reader joined
run_reader.py   one run: all its feeds, its history, its diagnosis
known.py        what is known about a run from the parts that were read
frame.py        the immutable message that goes to report and screen
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltui.session.frame import Frame, Loading

__all__ = ["Frame", "Loading"]


def __getattr__(name: str) -> object:
    """Loads frames only on demand: they need numpy, the run and the diagnosis. Finding a run needs none of these."""
    if name in __all__:
        from rltui.session import frame

        return getattr(frame, name)
    raise AttributeError(name)
