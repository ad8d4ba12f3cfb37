"""One run or many, opened and followed: the only place where sources, readers, run, hardware and engine meet.

locate.py   what the user named -> runs found, or one clear error line
feed.py     one file: follower and reader joined
opened.py   one run: all its feeds, its history, its diagnosis
frame.py    the immutable message that goes to report and screen
"""

from rltui.session.frame import Frame, Loading

__all__ = ["Frame", "Loading"]
