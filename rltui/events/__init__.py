"""What happens to a run between one look and the next, reported once, and kept in the user's state directory.

changes.py   two frames -> what happened between them
alerts.py    which events call the user, and the bytes that make a terminal do it
store.py     small files of the user: one writer at a time, whole or not at all, and safe to read if damaged
record.py    the bounded record of a run's events and hardware
digest.py    while you were away: what happened since the last look
"""
