"""nnenum, from its source folder: exact and over-approximating enumeration of ReLU networks."""

from assay.judge.drivers import nnenum_driver
from assay.judge.environment import Environment
from assay.judge.source_tool import source_verifier

VERIFIER = source_verifier(
    "nnenum",
    "complete for ReLU networks: star sets and zonotopes",
    repository="https://github.com/stanleybak/nnenum",
    driver=nnenum_driver,
    # Its Settings.ONNX_WHITELIST.
    operators=frozenset(
        {"Add", "AveragePool", "Concat", "Constant", "Conv", "Dropout", "Flatten", "Gather"}
        | {"Gemm", "MatMul", "Mul", "Relu", "Reshape", "Shape", "Slice", "Sub", "Unsqueeze"}
    ),
    environment=Environment(
        packages=(
            (
                *("numpy==2.4.6", "scipy==1.17.1", "onnx==1.16.2", "onnxruntime==1.19.0"),
                *("skl2onnx==1.20.0", "swiglpk==5.0.13", "termcolor==3.3.0"),
                *("threadpoolctl==3.8.0", "protobuf==7.36.2", "flatbuffers==25.12.19"),
                *("scikit-learn==1.9.1", "joblib==1.6.0", "narwhals==2.28.0"),
                *("sympy==1.14.0", "mpmath==1.3.0", "coloredlogs==15.0.1"),
                *("humanfriendly==10.0", "packaging==26.3", "cloudpickle==3.1.2"),
            ),
        ),
        source=("pyproject.toml", "src/nnenum/nnenum.py"),
    ),
)
