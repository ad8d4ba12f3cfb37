"""An episode a line: prime-rl's `traces.jsonl` (trees of messages of which some were sampled), rLLM's trajectories, and
tinker-cookbook's rollout summaries, which hold no text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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


def of_trajectories(record: Mapping[str, Any]) -> list[Raw]:
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


def is_summary(keys: Collection[str]) -> bool:
    return "traj_idx" in keys and "steps" in keys


def of_summary(record: Mapping[str, Any]) -> list[Raw]:
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
