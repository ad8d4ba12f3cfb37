"""Classes of contradictions that are still being mended: class -> entry of the audit. Ends empty."""

from __future__ import annotations

OPEN: dict[str, str] = {
    "best step everywhere": "V6",
    "ends and newest values": "V1",
    "prefix and screen": "V9",
    "shape and numbers": "V6",
    "shares in sentences": "V6",
    "verify and report": "V3",
}
