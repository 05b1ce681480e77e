"""Markdown tables and the numbers in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def seconds_text(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.1f}"


def chance(p: float) -> str:
    """A p-value; below 1e-12 the digits say nothing."""
    if p < 1e-12:
        return "< 1e-12"
    return f"{p:.2g}"
