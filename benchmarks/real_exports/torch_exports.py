"""Models from torch's two exporters, each called as people call it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from real_exports import torch_modules as modules
from real_exports.torch_modules import IMAGE, ROW, SEQUENCE


@dataclass(frozen=True)
class TorchExport:
    """`batch` is the static first dimension, or None for a dynamic one."""

    name: str
    make: Callable[[], nn.Module]
    shape: tuple[int, ...]
    batch: int | None
    dynamo: bool


DYNAMO, SCRIPT = True, False
EXPORTS = (
    TorchExport("mlp", modules.mlp, ROW, 1, DYNAMO),
    TorchExport("mlp", modules.mlp, ROW, None, DYNAMO),
    TorchExport("mlp-gelu", modules.mlp_gelu, ROW, None, DYNAMO),
    TorchExport("mlp-gelu-tanh", modules.mlp_gelu_tanh, ROW, 1, DYNAMO),
    TorchExport("mlp-layernorm", modules.mlp_layer_norm, ROW, 1, DYNAMO),
    TorchExport("cnn-batchnorm", modules.cnn_batch_norm, IMAGE, None, DYNAMO),
    TorchExport("cnn-batchnorm", modules.cnn_batch_norm, IMAGE, 4, DYNAMO),
    TorchExport("cnn-groupnorm", modules.cnn_group_norm, IMAGE, 1, DYNAMO),
    TorchExport("cnn-instancenorm", modules.cnn_instance_norm, IMAGE, 1, DYNAMO),
    TorchExport("mobile", modules.Mobile, IMAGE, None, DYNAMO),
    TorchExport("residual", modules.Residual, IMAGE, 1, DYNAMO),
    TorchExport("upsample-nearest", lambda: modules.upsample("nearest"), IMAGE, 1, DYNAMO),
    TorchExport("conv-transpose", modules.conv_transpose, IMAGE, None, DYNAMO),
    TorchExport("lstm", lambda: modules.Recurrent(nn.LSTM), SEQUENCE, 1, DYNAMO),
    TorchExport("encoder-layer", modules.Encoder, SEQUENCE, 1, DYNAMO),
    TorchExport("vision", modules.Vision, IMAGE, None, DYNAMO),
    TorchExport("mlp", modules.mlp, ROW, 1, SCRIPT),
    TorchExport("mlp-layernorm", modules.mlp_layer_norm, ROW, None, SCRIPT),
    TorchExport("cnn-batchnorm", modules.cnn_batch_norm, IMAGE, 1, SCRIPT),
    TorchExport("cnn-batchnorm", modules.cnn_batch_norm, IMAGE, 4, SCRIPT),
    TorchExport("cnn-groupnorm", modules.cnn_group_norm, IMAGE, None, SCRIPT),
    TorchExport("upsample-nearest", lambda: modules.upsample("nearest"), IMAGE, 1, SCRIPT),
    TorchExport("upsample-bilinear", lambda: modules.upsample("bilinear"), IMAGE, None, SCRIPT),
    TorchExport("conv-transpose", modules.conv_transpose, IMAGE, 1, SCRIPT),
    TorchExport("lstm", lambda: modules.Recurrent(nn.LSTM), SEQUENCE, 1, SCRIPT),
    TorchExport("gru", lambda: modules.Recurrent(nn.GRU), SEQUENCE, None, SCRIPT),
    TorchExport("attention", modules.Attention, SEQUENCE, 1, SCRIPT),
    TorchExport("encoder-layer", modules.Encoder, SEQUENCE, 1, SCRIPT),
)


def export_all(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    for wanted in EXPORTS:
        kind = "dynamo" if wanted.dynamo else "script"
        batch = "any" if wanted.batch is None else str(wanted.batch)
        name = f"{kind}-{wanted.name}-batch-{batch}"
        _export(wanted, folder / f"{name}.onnx")
        yield name, wanted.shape


def _export(wanted: TorchExport, path: Path) -> None:
    torch.manual_seed(0)
    module = wanted.make().eval()
    example = torch.randn(2 if wanted.batch is None else wanted.batch, *wanted.shape)
    dynamic: dict[str, object] = {}
    if wanted.batch is None and wanted.dynamo:
        dynamic = {"dynamic_shapes": ({0: torch.export.Dim("batch")},)}
    elif wanted.batch is None:
        dynamic = {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (example,), str(path), dynamo=wanted.dynamo, verbose=False, **dynamic
        )
