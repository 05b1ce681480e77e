"""Ask Marabou one question: ONNX VNNLIB TIMEOUT RESULT; the result as VNN-COMP writes it."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

_WORDS = {"sat": "sat", "unsat": "unsat", "TIMEOUT": "timeout", "UNKNOWN": "unknown"}


def main(onnx: str, vnnlib: str, timeout: str, result: str) -> int:
    from maraboupy import Marabou

    network: Any = Marabou.read_onnx(onnx)
    # Marabou takes whole seconds; zero would mean no limit.
    options = Marabou.createOptions(
        verbosity=0, timeoutInSeconds=max(1, int(float(timeout))), numWorkers=1
    )
    code, values, _ = network.solve(propertyFilename=vnnlib, verbose=False, options=options)
    lines = [_WORDS.get(code, "unknown")]
    if code == "sat":
        inputs = [values[v] for array in network.inputVars for v in array.flatten()]
        outputs = [values[v] for array in network.outputVars for v in array.flatten()]
        # Every digit: the shortest decimal that rounds to a float is another number.
        pairs = [f"(X_{i} {Decimal(float(v))})" for i, v in enumerate(inputs)]
        pairs += [f"(Y_{i} {Decimal(float(v))})" for i, v in enumerate(outputs)]
        lines.append("(" + "\n".join(pairs) + ")")
    Path(result).write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
