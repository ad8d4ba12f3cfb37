"""What a user is told to switch on, in the words of the framework in use."""

from __future__ import annotations

from rltui.frameworks.load import GENERIC, dialect


def enable(metric: str, name: str | None) -> str:
    """How to have a metric logged, in words or keys; `name` is the dialect's."""
    return dialect(name).enable.get(metric) or dialect(GENERIC).enable.get(
        metric, f"log {metric} from the training loop"
    )


def keep_samples(name: str | None) -> str:
    """How to have prompts and completions written."""
    return dialect(name).keep_samples or dialect(GENERIC).keep_samples
