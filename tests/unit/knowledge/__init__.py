"""What the package knows, held apart from how it is stored.

`names/`: what the report calls each key and setting of a framework, through the command line. `answers/`: questions of
the field with the program's answers (`behaviour`): who writes such keys, which folder is a checkpoint, what is hidden,
what is decided if two rules speak, when a rule opens. `facts/`: thresholds, traits, relations, stages and lists, one
fact a line. `told/`: what the report is told of drawn runs, for the constants of evidence and diagnosis. Beside them,
in `tests/unit/rules`: `turning/`, from which dose on each rule speaks, and `contexts/`, what it says of runs around its
thresholds. After a change that is meant:

    python -m tests.unit.knowledge

writes all of them anew; read the difference before you commit it, and say why in the commit. `python -m tests.mutants`
says how many wrong values the tests would see; `python -m tests.mutants.search RULE` and `python -m tests.mutants.told`
look for runs that show those that no test sees yet.
"""
