"""The checker stands alone and decides without floating point."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import assay.proof

FOLDER = Path(assay.proof.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))
ALLOWED = {"assay.proof", "flint", "google.protobuf", "onnx"}
STRANGERS = {"torch", "scipy", "highspy", "onnxruntime", "pydantic", "yaml", "typer", "pyscipopt"}
DIVISIONS = {
    "_minimum(first, [a, b], box) / 2",
    "(maximum + gates.bias[unit]) / gates.denominator",
    "maximum / objective.coefficients.denominator",
    "-constant / factor",
    "(total + Fraction(least, scale * self.box.denominator)) / (1 << power)",
    "numerator / denominator",
}
"""All true divisions of the checker; each has a Fraction on the left, or two balls."""


def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(), str(path))) for path in FILES]


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            names.add(node.module)
    return names


def test_there_is_something_to_look_at() -> None:
    assert {"checker.py", "kernel.py", "meap.py", "vnnlib.py"} <= {path.name for path in FILES}


def test_it_imports_the_standard_library_onnx_and_flint_only() -> None:
    for path, tree in trees():
        for name in imported(tree):
            head = name.split(".")[0]
            known = head in sys.stdlib_module_names or any(
                name == allowed or name.startswith(f"{allowed}.") for allowed in ALLOWED
            )
            assert known, f"{path.name} imports {name}"


def test_it_takes_nothing_numerical_from_the_standard_library() -> None:
    exact = {"lcm", "prod", "gcd", "isqrt"}
    for path, tree in trees():
        assert not imported(tree) & {"decimal", "numbers", "statistics", "cmath", "random"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert "math" not in {alias.name for alias in node.names}, path.name
            if isinstance(node, ast.ImportFrom) and node.module == "math":
                names = {alias.name for alias in node.names}
                assert names <= exact, f"{path.name} takes {names - exact} from math"


def test_a_fresh_interpreter_loads_no_other_part_of_assay() -> None:
    code = "import json, sys, assay.proof.checker; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    ours = {name for name in loaded if name.startswith("assay.")}
    assert all(name == "assay.proof" or name.startswith("assay.proof.") for name in ours)
    assert not {name.split(".")[0] for name in loaded} & STRANGERS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_floats_decide(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        place = f"{path.name}:{getattr(node, 'lineno', '?')}"
        if isinstance(node, ast.Constant):
            assert not isinstance(node.value, float | complex), f"{place}: a float literal"
        if isinstance(node, ast.Name):
            assert node.id not in ("float", "complex", "eval", "exec", "round", "pow"), place
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("fromhex", "as_integer_ratio", "is_integer"), place
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            assert ast.unparse(node) in DIVISIONS, f"{place}: {ast.unparse(node)}"


def test_it_reads_in_one_sitting() -> None:
    """A part a family: what all share in one sitting, and each part in a few minutes."""
    lengths = [len(path.read_text().splitlines()) for path in FILES]
    assert sum(lengths) < 6300
    assert max(lengths) < 300
