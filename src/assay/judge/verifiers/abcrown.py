"""alpha-beta-CROWN, from its source folder, on the CPU."""

from assay.judge.drivers import abcrown_driver
from assay.judge.environment import Environment
from assay.judge.source_tool import source_verifier

# It converts networks with a fork of onnx2pytorch that is not on the registry; NeuralSAT's package
# holds a copy of that fork.
_ONNX2PYTORCH = '''\
"""The copy of onnx2pytorch inside NeuralSAT, under its own name."""

from pathlib import Path

__path__ = [str(Path(__file__).parent / "src" / "helper" / "network" / "onnx2pytorch")]

from onnx2pytorch.convert import ConvertModel  # noqa: E402, F401
'''

_TORCHVISION = '''\
"""Imported for its image sets and one operator, which no question here needs."""

import sys
from types import ModuleType

datasets, transforms = ModuleType("torchvision.datasets"), ModuleType("torchvision.transforms")
sys.modules.update({module.__name__: module for module in (datasets, transforms)})
'''

VERIFIER = source_verifier(
    "abcrown",
    "alpha-beta-CROWN: linear bounds with branch and bound, here on the CPU",
    repository="https://github.com/Verified-Intelligence/alpha-beta-CROWN",
    driver=abcrown_driver,
    environment=Environment(
        packages=(
            (
                *("torch==2.13.0", "numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1"),
                *("onnxoptimizer==0.4.2", "skl2onnx==1.20.0", "gurobipy==13.0.3"),
                *("psutil==7.2.2", "PyYAML==6.0.3", "sortedcontainers==2.4.0"),
                *("pandas==3.1.1", "packaging==26.3", "tqdm==4.70.1", "graphviz==0.21"),
                *("appdirs==1.4.4", "scipy==1.17.1", "scikit-learn==1.9.1", "joblib==1.6.0"),
                *("threadpoolctl==3.8.0", "narwhals==2.28.0", "cloudpickle==3.1.2"),
                *("protobuf==7.36.2", "flatbuffers==25.12.19", "ml_dtypes==0.6.0"),
                *("sympy==1.14.0", "mpmath==1.3.0", "networkx==3.6.1", "Jinja2==3.1.6"),
                *("MarkupSafe==3.0.4", "filelock==4.2.10", "fsspec==2026.9.0"),
                *("typing_extensions==4.16.0", "python-dateutil==4.0.0", "tzdata==2026.6"),
                "setuptools==84.2.1",
            ),
            ("--no-deps", "neuralsat==0.2.17"),
        ),
        modules={"onnx2pytorch.py": _ONNX2PYTORCH, "torchvision.py": _TORCHVISION},
        source=(
            "complete_verifier/__init__.py",
            "complete_verifier/abcrown.py",
            # The submodule, and the link to it.
            "auto_LiRPA/auto_LiRPA/__init__.py",
            "complete_verifier/auto_LiRPA/__init__.py",
        ),
    ),
)
