"""Ask NeuralSAT one question: ONNX VNNLIB TIMEOUT RESULT; its own main.py writes the result.

Its package is no module to run (`src/main.py` wants its folder on the path), so this script starts
it, with two settings that depend on the question:

- The mixed integer models are left out where Gurobi would not take one of that size. The free
  licence that comes with the package takes 2,000 variables and constraints; beyond, NeuralSAT
  would end with an error instead of going on with branch and bound.
- NEURALSAT_SYNTHETIC_BUG_DROP_PROBABILITY, the tool's own switch for an unsound run, asks for
  `use_save_reasoning_step`.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
from importlib import import_module
from importlib.metadata import distribution
from math import prod
from pathlib import Path
from typing import Any

_BUG_SWITCH = "NEURALSAT_SYNTHETIC_BUG_DROP_PROBABILITY"
_ROWS = {"Relu": 3}
"""Constraints for each value of such an operator; one for any other."""


def main(onnx: str, vnnlib: str, timeout: str, result: str) -> int:
    settings = Path(result).with_name("settings.json")
    settings.write_text(json.dumps(settings_for(onnx)))
    script = Path(str(distribution("neuralsat").locate_file("src/main.py")))
    sys.path.insert(0, str(script.parent))
    sys.argv = [str(script), "--net", onnx, "--spec", vnnlib, "--timeout", timeout]
    sys.argv += ["--device", "cpu", "--verbosity", "1", "--setting_file", str(settings)]
    sys.argv += ["--result_file", result, "--export_cex"]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    except NotImplementedError:
        # Its way to decline, for example disjunctions of conjunctions of different lengths.
        traceback.print_exc()
        Path(result).write_text("error\n")
    # A network that it cannot convert makes it exit as if all were well, without a result.
    if not Path(result).exists():
        Path(result).write_text("error\n")
    return 0


def settings_for(onnx: str) -> dict[str, bool]:
    """What is set otherwise than NeuralSAT would."""
    chosen: dict[str, bool] = {}
    if not gurobi_takes(model_size(onnx)):
        chosen |= {"use_mip_verify": False, "use_mip_tightening": False}
    if os.environ.get(_BUG_SWITCH):
        chosen["use_save_reasoning_step"] = True
    return chosen


def model_size(path: str) -> int | None:
    """More variables or constraints than a mixed integer model of the network has."""
    onnx: Any = import_module("onnx")
    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    sizes: dict[str, int] = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        dimensions = value.type.tensor_type.shape.dim
        sizes[value.name] = prod(d.dim_value or 1 for d in dimensions)
    constants = {tensor.name for tensor in graph.initializer}
    total = sum(sizes[value.name] for value in graph.input if value.name not in constants)
    for node in graph.node:
        if node.output[0] not in sizes:
            return None
        total += sizes[node.output[0]] * _ROWS.get(node.op_type, 1)
    return total


def gurobi_takes(size: int | None) -> bool:
    """Whether the licence at hand solves a model with that many variables and constraints."""
    if size is None:
        return False
    gurobipy: Any = import_module("gurobipy")
    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
            variables = model.addVars(size)
            model.addConstrs(variables[i] <= 1 for i in range(size))
            model.optimize()
    except gurobipy.GurobiError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
