"""Headless watching: runs are followed and what happens to them is told, a line an event.

events.py   two frames -> what happened between them
command.py  the user's own command, run on each event
loop.py     the runs, the lines, when it ends and with which exit code
"""
