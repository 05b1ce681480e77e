"""A file opened for sampling: as a network that Assay reads, or as anything that ONNX Runtime runs.

The first is preferred because torch can run it too, in float64 and on a GPU. Whatever Assay's own
reader cannot take (an operator of another domain, several outputs, control flow, free lengths) is
no reason to refuse: sampling needs answers, not operators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from assay.errors import BadInput, Unsupported
from assay.question.model_file import read_model
from assay.question.network import Network, network_of
from assay.question.runnable import Runnable, RunOptions


def open_for_sampling(
    path: Path,
    given: Sequence[int] | None = None,
    options: RunOptions | None = None,
    threads: int = 1,
) -> Network | Runnable:
    """`given` is the shape of one point, or one length: how many numbers it has."""
    options = options or RunOptions()
    file = read_model(path)
    if not options:
        try:
            network = network_of(file)
        except (BadInput, Unsupported):
            return Runnable(file, given, options, threads)
        if not _is_one_row(network, given):
            return network
    return Runnable(file, given, options, threads)


def _is_one_row(network: Network, given: Sequence[int] | None) -> bool:
    """Whether a point fills one row of a fixed batch of several."""
    batch = network.input_shape[0] if len(network.input_shape) > 1 else 1
    return given is not None and batch > 1 and math.prod(given) * batch == network.inputs
