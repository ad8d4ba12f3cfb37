"""What the numbers are called and mean: canonical names, aliases by framework, phases, config keys. Data, not code.

Data files lie in `rltui/vocabulary/data/`. The public calls (see `resolve.py`, `phases.py`, `config_keys.py`):

    detect_framework(keys, hints) -> str | None
    bare_key(raw, framework)      -> str            container prefixes removed, so that two containers of one run agree
    resolve(key, framework)       -> Meaning | None
    metric(canonical)             -> Metric
    phase_tree(framework, version, keys) -> PhaseTree
    config_key(canonical, framework) -> list[str]
"""
