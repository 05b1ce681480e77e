"""Ask alpha-beta-CROWN one question: SOURCE ONNX VNNLIB TIMEOUT RESULT."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

# All else is as by default: branch and bound in float32, which needs no Gurobi licence.
CONFIGURATION = """\
general:
  device: cpu
  complete_verifier: bab
  save_adv_example: true
"""


def options(onnx: str, vnnlib: str, timeout: str, result: str) -> list[str]:
    """Its command line; the configuration and the counterexample lie beside the result."""
    return [
        *("--config", str(Path(result).with_name("config.yaml"))),
        *("--onnx_path", onnx),
        *("--vnnlib_path", vnnlib),
        *("--timeout", timeout),
        *("--results_file", result),
        *("--cex_path", str(Path(result).with_name("counterexample.txt"))),
    ]


def main(source: str, onnx: str, vnnlib: str, timeout: str, result: str) -> int:
    sys.path.insert(0, str(Path(source) / "complete_verifier"))
    abcrown: Any = importlib.import_module("abcrown")
    Path(result).with_name("config.yaml").write_text(CONFIGURATION)
    try:
        abcrown.ABCROWN(args=options(onnx, vnnlib, timeout, result)).main()
    except NotImplementedError as reason:
        # This is how it and its libraries decline an operator or an attribute.
        print(f"alpha-beta-CROWN declines: {reason}", file=sys.stderr)
        Path(result).write_text("error\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
