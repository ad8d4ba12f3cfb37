"""A number as people write it in a line of text: the one definition, for every reader of lines."""

from __future__ import annotations

from rltui.lazy_regex import lazy

NUMBER = (
    r"[-+]?(?:(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
    r"|(?:[nN]a[nN]|[iI]nf(?:inity)?)(?!\w))"
)
"""A regex without groups. A comma separates thousands only: `1,2` are two numbers."""

_REPR = lazy(
    r"\b(?:[A-Za-z_]\w*\.)*(?:[Tt]ensor|[Aa]rray|DeviceArray|Parameter|Decimal|(?:b?float|u?int)\d{0,2}_?)"
    rf"\(\[*['\"]?({NUMBER})['\"]?\]*(?:,\s*[a-z_]+=(?:<[^<>]*>|'[^']*'|\([^()]*\)|[\w.:]+))*,?\)"
)
_ITEM = lazy(rf"[(\[](['\"])([^'\"]{{1,200}})\1\s*,\s*(['\"]?)\[?({NUMBER})\]?\3[)\]]")


def value(text: str) -> float:
    """The number that a match of `NUMBER` states."""
    return float(text.replace(",", ""))


def unwrapped(text: str) -> str:
    """A text with plain numbers for what Python shows of numbers: `tensor(0.5, device='cuda:0')`, `np.float64(0.5)`;
    with `'loss': 0.5` for the tuple or list `('loss', 0.5)`."""
    if "(" in text:
        text = _REPR.sub(r"\1", text)
    return _ITEM.sub(r"'\2': \4", text) if "'," in text or '",' in text else text
