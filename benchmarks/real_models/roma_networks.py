"""The twelve questions of Table 1 of the RoMA paper, as ONNX and VNN-LIB files.

The networks come from a clone of github.com/adielashrov/trust-ai-roma-for-llm (MIT), which no
package carries. Small ones take [0, 1]^d and must stay above zero; the ACAS Xu ones ask for phi_2:
on its box (inputs normalised) the score of clear-of-conflict must not be the highest.

    python -m real_models.roma_networks CLONE     # writes the questions into the cache
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from assay.errors import BadInput
from assay.question.network import load_file
from assay.question.property import Inequality, Violation
from assay.question.region import Box
from assay.question.vnnlib import write
from real_models.cache import cache_folder

_FOLDER = "validate-RoMA-with-exact-count"
_PHI_2 = (
    ("0.6", "0.679858"),
    ("-0.5", "0.5"),
    ("-0.5", "0.5"),
    ("0.45", "0.5"),
    ("-0.5", "-0.45"),
)
_ADVICES = 5


@dataclass(frozen=True)
class Published:
    """A row of Table 1: rates in percent, None where the paper has none."""

    name: str
    file: str
    exact_count_violation: float | None
    exact_count_s: float | None
    roma_plr: float
    roma_s: float


TABLE_1 = (
    Published("Model_2_20", "onnx_models/model_2_20.onnx", 20.88, 794, 79.24, 487),
    Published("Model_2_56", "onnx_models/model_2_56.onnx", 55.44, 374, 45.56, 458),
    Published("Model_2_68", "onnx_models/model_2_68.onnx", 68.20, 211, 32.06, 466),
    Published("Model_5_09", "onnx_models/model_5_09.onnx", 10.60, 2636, 90.36, 467),
    Published("Model_5_50", "onnx_models/model_5_50.onnx", 50.33, 3696, 49.52, 486),
    Published("Model_5_95", "onnx_models/model_5_95.onnx", 95.35, 3561, 4.59, 444),
    Published("Model_10_76", "onnx_models/model_10_76.onnx", None, None, 22.78, 465),
    Published("ACAS Xu 2.1", "acasxu/ACASXU_experimental_v2a_2_1.onnx", None, None, 99.18, 775),
    Published("ACAS Xu 2.3", "acasxu/ACASXU_experimental_v2a_2_3.onnx", None, None, 98.24, 638),
    Published("ACAS Xu 2.4", "acasxu/ACASXU_experimental_v2a_2_4.onnx", None, None, 98.96, 915),
    Published("ACAS Xu 2.5", "acasxu/ACASXU_experimental_v2a_2_5.onnx", None, None, 98.09, 679),
    Published("ACAS Xu 2.7", "acasxu/ACASXU_experimental_v2a_2_7.onnx", None, None, 97.21, 616),
)


@dataclass(frozen=True)
class CountedQuestion:
    """A row of Table 1 with the two files that ask its question."""

    published: Published
    onnx: Path
    vnnlib: Path


def table_1_questions(clone: Path) -> Sequence[CountedQuestion]:
    """The questions of Table 1, written into the cache."""
    return [_question(clone, row) for row in TABLE_1]


def _question(clone: Path, row: Published) -> CountedQuestion:
    source = clone / _FOLDER / row.file
    if not source.exists():
        raise BadInput(f"{source}: not there; name a clone of adielashrov/trust-ai-roma-for-llm")
    folder = cache_folder("roma")
    onnx = folder / source.name
    shutil.copyfile(source, onnx)
    network = load_file(onnx)
    vnnlib = onnx.with_suffix(".vnnlib")
    if network.outputs == 1:
        box = Box((Fraction(0),) * network.inputs, (Fraction(1),) * network.inputs)
        violation = at_most_zero()
    else:
        bounds = [(Fraction(low), Fraction(high)) for low, high in _PHI_2]
        box = Box(tuple(low for low, _ in bounds), tuple(high for _, high in bounds))
        violation = highest(0, _ADVICES)
    vnnlib.write_text(write(box, violation, comment=f"Violation of {row.name}, RoMA's Table 1"))
    return CountedQuestion(row, onnx, vnnlib)


def cached_question(row: Published) -> CountedQuestion:
    """A question that was written into the cache before."""
    onnx = cache_folder("roma") / Path(row.file).name
    vnnlib = onnx.with_suffix(".vnnlib")
    if not (onnx.exists() and vnnlib.exists()):
        raise BadInput(
            f"{onnx}: not there; clone adielashrov/trust-ai-roma-for-llm and give its folder to "
            "python -m real_models.roma_networks"
        )
    return CountedQuestion(row, onnx, vnnlib)


def at_most_zero() -> Violation:
    """The only output is not positive."""
    return Violation(1, ((Inequality(((0, Fraction(1)),), Fraction(0)),),))


def highest(label: int, classes: int) -> Violation:
    """Output `label` is the largest, ties included."""
    others = [other for other in range(classes) if other != label]
    return Violation(
        classes,
        (
            tuple(
                Inequality(
                    tuple(sorted(((label, Fraction(-1)), (other, Fraction(1))))), Fraction(0)
                )
                for other in others
            ),
        ),
    )


if __name__ == "__main__":
    for written in table_1_questions(Path(sys.argv[1])):
        print(written.vnnlib)
