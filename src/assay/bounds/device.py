"""Where tensors live: the processor, or a GPU that is asked for and there."""

from __future__ import annotations

import os

import torch

from assay.errors import BadInput


def chosen_device(name: str) -> torch.device:
    """Where to run; a GPU that is not there is refused."""
    if name == "cuda":
        if not torch.cuda.is_available():
            raise BadInput("--device cuda: torch sees no GPU here; give cpu, or a CUDA build")
        # Same seed, same numbers: kernels that add in any order are left out.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cudnn.benchmark = False
        torch.use_deterministic_algorithms(True, warn_only=True)
    return torch.device(name)


def device_named(name: str) -> torch.device:
    if name not in ("cpu", "cuda", "auto"):
        raise BadInput(f"--device {name} is not known; give cpu, cuda or auto")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return chosen_device(name)
