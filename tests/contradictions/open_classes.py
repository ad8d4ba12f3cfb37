"""Classes of contradictions that are still being mended: class -> entry of the audit. Ends empty."""

from __future__ import annotations

OPEN: dict[str, str] = {
    "badge and state": "V5",
    "child and root": "V4",
    "compare and severity": "V2",
    "ends and newest values": "V1",
    "ends and whole": "V1",
    "eta everywhere": "V6, U5",
    "evidence and table": "V9",
    "finding without stage": "V3",
    "health and verdict": "V2",
    "invariant and stage": "V3",
    "picker and report": "V1, V2",
    "prefix and screen": "V9",
    "reward and its numbers": "V6",
    "reward in the verdict": "V7",
    "screen and report": "V1, V5, L1",
    "shape and numbers": "V6",
    "shares in sentences": "V6",
    "validation in sentences": "V5",
    "verdict and findings": "V3",
    "verify and report": "V3",
    "watch and report": "V1, D14",
    "words and state": "V5",
}
