"""Ask nnenum one question: SOURCE ONNX VNNLIB TIMEOUT RESULT; the result as VNN-COMP writes it.

nnenum's own front end runs, in one process. It writes its verdict without the counterexample, so
that is taken from the result that the verdict was made from, where nnenum has confirmed one.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any


class Declined(Exception):
    """nnenum does not take the network or the property; the message has its own words."""


def main(source: str, onnx: str, vnnlib: str, timeout: str, result: str) -> int:
    sys.path.insert(0, str(Path(source) / "src"))
    front: Any = importlib.import_module("nnenum.nnenum")
    found: list[Any] = []
    enumerate_network = front.enumerate_network

    def remembered(*arguments: Any) -> Any:
        found.append(enumerate_network(*arguments))
        return found[-1]

    front.enumerate_network = remembered
    front.make_spec = declining(front.make_spec)
    front.load_onnx_network = declining(front.load_onnx_network)
    target = Path(result)
    verdict = target.with_name("nnenum_verdict.txt")
    sys.argv = ["nnenum", onnx, vnnlib, timeout, str(verdict), "1"]
    try:
        front.main()
    except Declined as reason:
        print(reason, file=sys.stderr)
        target.write_text("error\n")
        return 0
    target.write_text(as_vnncomp(verdict.read_text(), found[-1] if found else None))
    return 0


def declining(read: Callable[..., Any]) -> Callable[..., Any]:
    """nnenum asserts what it can take while it reads its files; later asserts are its own bugs."""

    def wrapped(*arguments: Any) -> Any:
        try:
            return read(*arguments)
        except AssertionError as reason:
            raise Declined(f"nnenum declines: {reason}") from None

    return wrapped


def as_vnncomp(word: str, found: Any) -> str:
    """nnenum's word, and the counterexample if it ran one; `unsafe (unconfirmed)` has none."""
    if word != "violated" or found is None or found.result_str != "unsafe":
        return f"{word}\n"
    pairs = [f"(X_{i} {in_full(value)})" for i, value in enumerate(found.cinput)]
    pairs += [f"(Y_{i} {in_full(value)})" for i, value in enumerate(found.coutput)]
    return f"{word}\n(" + "\n".join(pairs) + ")\n"


def in_full(value: Any) -> str:
    """Every digit: the shortest text of a number on the box's edge may lie outside of the box."""
    return str(Decimal(float(value)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
