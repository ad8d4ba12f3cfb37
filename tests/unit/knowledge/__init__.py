"""What the package knows, held apart from how it is stored.

`names/`: what the report calls each key and setting of a framework, through the command line. `facts/`: thresholds,
traits, relations, stages and lists, one fact a line: whoever changes one changes it here too, and says why in the
commit. After a change that is meant:

    python -m tests.unit.knowledge

writes both anew; read the difference before you commit it.
"""
