"""prime-rl's `traces.jsonl`: an episode a line, its traces as trees of messages of which some were sampled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Raw

_KEPT = ("step", "stop_condition", "is_truncated", "advantage", "group")


def raws(record: Mapping[str, Any]) -> list[Raw]:
    """One sample for each trace of the episode; none of an episode that failed before its first trace."""
    traces = record.get("traces", [record])
    outer = {key: record[key] for key in ("group", "env", "step") if key in record}
    return [_raw({**outer, **trace}) for trace in traces if isinstance(trace, Mapping)]


def _raw(trace: Mapping[str, Any]) -> Raw:
    nodes = [node for node in trace.get("nodes") or [] if isinstance(node, Mapping)]
    first = next((i for i, node in enumerate(nodes) if _is_sampled(node)), len(nodes))
    rewards = trace.get("rewards")
    components = {**_numbers(rewards), **_numbers(trace.get("metrics"))}
    reward = fields.total(trace.get("reward"))
    if reward is None and isinstance(rewards, Mapping) and rewards:
        reward = sum(_numbers(rewards).values())
    sampled = [node.get("token_ids") for node in nodes if _is_sampled(node)]
    flat = fields.raw(
        {
            **{key: trace[key] for key in _KEPT if key in trace},
            "prompt": [_message(node) for node in nodes[:first]],
            "completion": [_message(node) for node in nodes[first:]],
            "reward": reward,
            "response_length": sum(map(len, filter(None, sampled))) or None,
        }
    )
    if flat is None:
        raise ValueError("no sample")
    return Raw(
        flat.step,
        flat.prompt,
        flat.completion,
        flat.reward,
        components,
        flat.advantage,
        flat.length,
        flat.truncated,
        flat.group,
        None,
        flat.extra,
    )


def _message(node: Mapping[str, Any]) -> Mapping[str, Any]:
    message = node.get("message")
    return message if isinstance(message, Mapping) else node


def _is_sampled(node: Mapping[str, Any]) -> bool:
    return node["sampled"] is True if "sampled" in node else _message(node).get("role") == "assistant"


def _numbers(values: Any) -> dict[str, float]:
    if not isinstance(values, Mapping):
        return {}
    return {str(name): number for name, value in values.items() if (number := fields.total(value)) is not None}
