"""Samples as JSON objects, one a line or all in one JSON file. An object is one sample (verl's `{step}.jsonl`, AReaL,
SkyRL), several samples as lists (ms-swift's `completions.jsonl`, NeMo-RL's `train_data_step{N}.jsonl`), or an episode:
prime-rl's `traces.jsonl` (trees of messages, some of them sampled), rLLM's trajectories, and tinker-cookbook's rollout
summaries, which hold no text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

import orjson

from rltui.rollouts.formats import fields
from rltui.rollouts.formats.base import Block, Raw

_KEPT = ("step", "stop_condition", "is_truncated", "advantage", "group")


def read(data: bytes, *, complete: bool = True) -> Block:
    """The samples in a JSONL dump. A last line without a newline counts only if the file is complete."""
    lines = data.split(b"\n")
    cut = lines.pop()
    if cut and complete:
        lines.append(cut)
    return Block([line for line in lines if line.strip()], parse)


def count(data: bytes) -> int | None:
    """The number of lines; only the first line is parsed. None if it does not hold exactly one sample."""
    first = data[: data.find(b"\n") + 1 or len(data)]
    try:
        if first and len(parse(first)) != 1:
            return None
    except Exception:  # a record of unknown shape: only reading the dump can show the count
        return None
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def parse(line: bytes) -> list[Raw]:
    """The samples of one line."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        record = _with_nan(line)
    return of_record(record)


def of_record(record: Any) -> list[Raw]:
    """The samples of one JSON object of any known shape. Raises TypeError or ValueError if it holds none."""
    if not isinstance(record, dict):
        raise TypeError("a sample is an object")
    handler, names = _reader_of(tuple(record))
    if handler is not None:
        return handler(record)
    wrapped = _wrapped(record)
    if wrapped:
        return wrapped
    if _holds_lists(record, names):
        return _of_lists(record)
    found = fields.raw(record, names)
    if found is None:
        raise ValueError("no sample")
    return [found]


@lru_cache(maxsize=256)
def _reader_of(keys: tuple[str, ...]) -> tuple[Callable[[Mapping[str, Any]], list[Raw]] | None, fields.FieldNames]:
    """The function that reads records with these keys (None: a plain sample), and the roles of the keys."""
    special = None
    if "traces" in keys or "nodes" in keys:
        special = of_episode
    elif "trajectories" in keys and "task" in keys:
        special = of_trajectories
    elif is_summary(keys):
        special = of_summary
    return special, fields.names_of(keys)


def _with_nan(line: bytes) -> Any:
    """Parses JSON with bare NaN and Infinity, as Python writes it."""
    import json

    return json.loads(line.decode("utf-8", "replace"))


def read_list(data: bytes) -> Block:
    """The samples of a JSON file. Raises ValueError with the reason if it is not JSON."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error})") from None
    return Block(found if isinstance(found, list) else [found], of_record)


def _wrapped(record: Mapping[str, Any]) -> list[Raw]:
    """The samples of a list of objects that are not chat messages. Fields beside the list belong to all of them. Empty
    if there is no such list."""
    for key in fields.table().wrappers:
        held = record.get(key)
        if not isinstance(held, list) or not held or not isinstance(held[0], Mapping) or "role" in held[0]:
            continue
        beside = {name: value for name, value in record.items() if name != key and not isinstance(value, list)}
        found = [raw for one in held if isinstance(one, Mapping) for raw in of_record({**beside, **one})]
        if found:
            return found
    return []


def _holds_lists(record: Mapping[str, Any], names: fields.FieldNames) -> bool:
    """Whether texts are in lists of strings or of message lists, so that the record is several samples."""
    value = record.get(names.completion or "")
    if value.__class__ is str:
        return False
    if isinstance(record.get("content"), list):
        return "input_lengths" in record or "rewards" in record
    return isinstance(value, list) and bool(value) and all(isinstance(item, str | list) for item in value)


def _of_lists(record: Mapping[str, Any]) -> list[Raw]:
    """One sample for each place in the lists. Lists of another length and single values belong to all samples."""
    if "content" in record:
        return _of_messages(record)
    names = fields.names_of(tuple(record))
    size = len(record[names.completion or ""])
    found = []
    for place in range(size):
        one = {k: v[place] if isinstance(v, list) and len(v) == size else v for k, v in record.items()}
        sample = fields.raw(one)
        if sample is not None:
            found.append(sample)
    return found


def _of_messages(record: Mapping[str, Any]) -> list[Raw]:
    """NeMo-RL's samples. `content` holds the texts of the turns; the last one is the model's. Other values are lists of
    one item or lists over tokens."""
    turns = record["content"]
    while len(turns) == 1 and isinstance(turns[0], list):
        turns = turns[0]
    texts = [fields.as_text(turn) or "" for turn in turns]
    heavy = fields.table().heavy
    one = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in record.items() if k not in heavy}
    one.pop("content")
    one["prompt"], one["completion"] = ("\n".join(texts[:-1]) or None, texts[-1]) if texts else (None, None)
    sample = fields.raw(one)
    return [] if sample is None else [sample]


def of_episode(record: Mapping[str, Any]) -> list[Raw]:
    """One sample for each trace of the episode; empty if the episode failed before its first trace."""
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
    """One sample for each trajectory: the conversation of its last step, split at the model's first turn."""
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
    """One sample for the trajectory. Its length is the number of tokens in all its actions."""
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
