"""Whether Assay's own readers can read a question that somebody else wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.suite.exchange.rewriting import question_text, version_of


@dataclass(frozen=True)
class Network:
    """A network and the questions asked about it, to be read together."""

    onnx: Path
    vnnlibs: tuple[Path, ...]


@dataclass(frozen=True)
class Readability:
    """`reason` says why a question cannot be read, and is empty if it can."""

    version: str | None
    reason: str


def readability(network: Network) -> tuple[Readability, ...]:
    """Read a network once, and every question about it (in a worker)."""
    from assay.question.network import load_file

    try:
        loaded = load_file(network.onnx)
    except AssayError as error:
        refusal, sizes = _short(error, network.onnx), None
    else:
        refusal, sizes = "", (loaded.inputs, loaded.outputs)
    return tuple(_question(path, sizes, refusal) for path in network.vnnlibs)


def _question(path: Path, sizes: tuple[int, int] | None, refusal: str) -> Readability:
    from assay.question.vnnlib2 import read_any

    version: str | None = None
    try:
        text = question_text(path)
        version = version_of(text, str(path))
        if sizes is None:
            return Readability(version, refusal)
        case = read_any(text, str(path)).cases[0]
    except AssayError as error:
        return Readability(version, refusal or _short(error, path))
    asked = case.box.dimension, case.violation.outputs
    if asked == sizes:
        return Readability(version, "")
    return Readability(
        version,
        f"the question has {asked[0]} inputs and {asked[1]} outputs, the network {sizes[0]} and "
        f"{sizes[1]}",
    )


def _short(error: AssayError, path: Path) -> str:
    """The reason without the folder in which the file lies for now."""
    return str(error).replace(str(path), path.name)
