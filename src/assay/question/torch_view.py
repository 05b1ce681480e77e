"""The network as a batched differentiable torch function, for those who search or bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.errors import BadInput
from assay.optional_packages import missing_package
from assay.question.network import Network

if TYPE_CHECKING:
    import torch


def torch_view(network: Network, dtype: torch.dtype | None = None) -> torch.nn.Module:
    """A frozen module [N, inputs] -> [N, outputs], flattened in C order; float32 unless asked."""
    try:
        import torch

        from assay.question.operators.torch_module import TorchNetwork
    except ImportError:
        raise missing_package("torch") from None
    chosen = torch.float32 if dtype is None else dtype
    if chosen not in (torch.float32, torch.float64):
        raise BadInput(f"torch view in {chosen}; ask for torch.float32 or torch.float64")
    return TorchNetwork(network, chosen)
