"""Lets the tests of difficulty use the operator cases and the networks of other folders."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

for folder in ("question", "bounds", "truth"):
    path = str(Path(__file__).parents[1] / folder)
    if path not in sys.path:
        sys.path.append(path)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Tensors here are small: more threads only wait for each other."""
    torch.set_num_threads(1)
