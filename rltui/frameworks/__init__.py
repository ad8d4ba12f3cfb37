"""What the numbers are called and mean: canonical names, aliases by framework, phases, config keys. Data, not code.

A framework is one file, `data/frameworks/NAME.json`, that holds all that is known of it: how it is told from others,
its names for metrics, phases and settings, what its numbers mean, its checkpoints and dumps, how to have what is
missing logged, where to look in its code. Adding a framework is adding a file. A file may extend another one (a fork,
an older version, a trainer with names of its own).

    schema.py   the types of the files; what does not fit one is an error with file and line
    load.py     the files, read once each, and what types cannot say of them
    dialect.py  one framework with what it inherits
    detect.py   which framework wrote a set of keys
    resolve.py  what a key means, which keys may stand for a canonical name, and what is easily misread, by version
    support.py  the table of `rltui help frameworks`
"""
