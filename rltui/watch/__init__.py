"""Headless watching: runs are followed and what happens to them is told, a line an event.

loop.py      the runs, the lines, when it ends and with which exit code
follow.py    one run, read in a thread of its own
ledger.py    what was told, on disk: a watch that was killed goes on without repeating or missing
hooks.py     the user's own command, run on each event; events posted to an address
"""
