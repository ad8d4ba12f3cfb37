"""rLLM's episodes: one JSON object each, with the trajectories that were played on its task; a sample a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Raw


def raws(record: Mapping[str, Any]) -> list[Raw]:
    """The last step's conversation, up to the first turn of the model and from there on."""
    out = []
    found = record["trajectories"]
    for trajectory in found if isinstance(found, list) else []:
        steps = [step for step in trajectory.get("steps") or [] if isinstance(step, Mapping)]
        if not steps:
            continue
        messages = [m for m in steps[-1].get("chat_completions") or [] if isinstance(m, Mapping)]
        first = next((i for i, m in enumerate(messages) if m.get("role") == "assistant"), len(messages))
        raw = fields.raw(
            {
                "step": record.get("training_step"),
                "prompt": messages[:first] or steps[0].get("observation"),
                "completion": messages[first:] or "\n".join(str(step.get("model_response") or "") for step in steps),
                "reward": trajectory.get("reward"),
                "group": record.get("task_hash"),
                "num_turns": len(steps),
                "is_correct": record.get("is_correct"),
            }
        )
        if raw is not None:
            out.append(raw)
    return out
