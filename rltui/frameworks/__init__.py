"""What the numbers are called and mean: canonical names, aliases by framework, phases, config keys. Data, not code.

Data files lie in `rltui/frameworks/data/`; `load.py` compiles them, `resolve.py` answers:

    detect_framework(keys, config_keys, text_hints) -> (framework | None, version hint | None)
    bare_key(raw, framework)                        -> str      container prefixes removed, so that two containers agree
    resolve(raw, framework)                         -> Meaning  never fails; an unknown key keeps its name
    keys_for(canonical, framework, keys)            -> the keys that may stand for a canonical name, best first

A framework is one file, `data/frameworks/NAME.json`: adding one is adding a file. A file may extend another one (a
fork, an older version); `framework` is the name that people know, `family` the one whose config keys apply.
"""
