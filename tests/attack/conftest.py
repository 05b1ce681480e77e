"""Lets the tests of attacks use the small questions of other folders."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

path = str(Path(__file__).parents[1] / "difficulty")
if path not in sys.path:
    sys.path.append(path)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Tensors here are small: more threads only wait for each other."""
    torch.set_num_threads(1)
