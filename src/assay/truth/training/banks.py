"""The bank that fits an architecture."""

from __future__ import annotations

import torch

from assay.truth.training.architectures import Architecture, Chain
from assay.truth.training.bank import Bank
from assay.truth.training.chain_bank import ChainBank
from assay.truth.training.transformer_bank import TransformerBank


def new_bank(
    architecture: Architecture,
    channels: int,
    classes: int,
    seeds: list[int],
    device: torch.device,
) -> Bank:
    if isinstance(architecture, Chain):
        return ChainBank(architecture, channels, classes, seeds, device)
    return TransformerBank(architecture, channels, classes, seeds, device)
