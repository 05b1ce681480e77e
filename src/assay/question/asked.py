"""Both files of a question, read together and held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import BadInput
from assay.question import vnnlib2
from assay.question.network import Network, load_file
from assay.question.property import Case, Specification
from assay.question.sexpr import MAX_CHARACTERS

if TYPE_CHECKING:
    from assay.question.runnable import Runnable


def read_question(onnx: Path, vnnlib: Path) -> tuple[Network, Specification]:
    """The network and what is asked about it; sizes that do not fit are refused."""
    network, specification = load_file(onnx), read_specification(vnnlib)
    refuse_misfits(network, specification.cases)
    return network, specification


def read_specification(path: Path) -> Specification:
    """VNN-LIB of either version from a file."""
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_CHARACTERS + 1).decode("utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the file") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not UTF-8 text; give a VNN-LIB file") from None
    return vnnlib2.read_any(text, str(path))


def refuse_misfits(network: Network | Runnable, cases: Sequence[Case]) -> None:
    for case in cases:
        sizes = (case.box.dimension, case.violation.outputs)
        if sizes != (network.inputs, network.outputs):
            raise BadInput(
                f"{network.place}: has {network.inputs} inputs and {network.outputs} outputs where "
                f"the property speaks of {sizes[0]} and {sizes[1]}; {_remedy(network, sizes[0])}"
            )


def _remedy(network: Network | Runnable, asked: int) -> str:
    batch = network.input_shape[0] if isinstance(network, Network) else 1
    if batch > 1 and asked * batch == network.inputs:
        return f"its batch is fixed at {batch}: export it with a batch of 1 or a free one"
    return "give the files of one question"
