"""The names and meanings of the numbers: canonical names, aliases by framework, phases, config keys. Data, not code.

A framework is one file, `data/frameworks/NAME.json`, with all that is known about it: how to recognise it, its names
for metrics, phases and settings, what its numbers mean, its checkpoints and dumps, how to log what is missing, and
where to look in its code. To add a framework, add a file. A file may extend another one (a fork, an older version, a
trainer with its own names).

    schema.py   the types of the files; data that do not fit are an error with file and line
    load.py     reads each file once, and checks what types cannot express
    dialect.py  one framework with all that it inherits
    detect.py   which framework wrote a set of keys
    resolve.py  what a key means, which keys may stand for a canonical name, and what is easily misread, by version
    support.py  the table of `rltui help frameworks`
"""
