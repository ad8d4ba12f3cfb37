"""Watching without a screen: follows runs and prints a line for each event.

loop.py      the runs, the lines, when it ends and with which exit code
follow.py    one run, read in its own thread
ledger.py    what was reported, on disk: a watch that was killed continues without repeating or missing events
hooks.py     the user's own command, run on each event, and events posted to an address
"""
