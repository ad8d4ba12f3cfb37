"""tinker-cookbook's `{split}_rollout_summaries.jsonl`: rewards and lengths of each trajectory, but no text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Raw


def fits(keys: Collection[str]) -> bool:
    return "traj_idx" in keys and "steps" in keys


def raws(record: Mapping[str, Any]) -> list[Raw]:
    """The trajectory. Its length is the tokens of all its actions."""
    steps = [step for step in record["steps"] if isinstance(step, Mapping)]
    lengths = [fields.whole(step.get("ac_len")) for step in steps]
    metrics = record.get("trajectory_metrics")
    components = {
        str(name): number
        for name, value in (metrics.items() if isinstance(metrics, Mapping) else ())
        if (number := fields.total(value)) is not None
    }
    logs = [step["logs"] for step in steps if step.get("logs")]
    extra = {"tags": fields.short_json(record.get("tags") or []), "turns": str(len(steps))}
    if logs:
        extra["logs"] = fields.short_json(logs)
    group = record.get("group_idx")
    return [
        Raw(
            fields.whole(record.get("iteration")),
            None,
            None,
            fields.total(record.get("total_reward")),
            components,
            None,
            None if None in lengths or not lengths else sum(length or 0 for length in lengths),
            None,
            None if group is None else str(group),
            None,
            extra,
        )
    ]
