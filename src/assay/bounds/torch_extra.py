"""What to say where torch, an optional extra, is missing."""

from __future__ import annotations

from assay.errors import BadInput


def missing_torch() -> BadInput:
    return BadInput(
        "torch is not installed; install the extra: pip install 'assay-robustness[torch]'"
    )
