"""What a run's config says about its rollouts."""

from __future__ import annotations

import ast

from rltui.run.run import Run


def length_cap(run: Run) -> int | None:
    """Tokens at which completions are cut, None where the config does not say."""
    entry = run.config.get("max_response_length")
    value = entry.value if entry else None
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def reward_weights(run: Run) -> tuple[float, ...]:
    """How the reward functions are weighted; empty where the config does not say."""
    entry = run.config.get("reward_weights")
    value = entry.value if entry else None
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return ()
    if not isinstance(value, list | tuple):
        return ()
    weights = [float(w) for w in value if isinstance(w, int | float)]
    return tuple(weights) if len(weights) == len(value) else ()
