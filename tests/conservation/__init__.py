"""Real writers write rows of known values in every way that logs come about: each value comes back at its step.

    python -m tests.conservation PYTHON VERL OUT [ROWS] [PROGRAM ...] [MODE ...]

PYTHON: an interpreter that has the packages of `modes.PACKAGES`; VERL: verl's unpacked package. OUT gets a folder for
each program and mode: what was logged (`MODE.jsonl`) and what the writers made of it. `recorded/` holds some of those,
which the default tests read; `pytest -m writers` installs the packages, writes all and reads all.
"""
