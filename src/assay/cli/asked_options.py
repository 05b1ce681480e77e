"""What analysers are told on the command line: a model, inputs, and what may happen to them.

Torch takes a second to load, so nothing of it is imported before a command runs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from assay.cli.option_kinds import Device, Seed
from assay.errors import BadInput

if TYPE_CHECKING:
    import numpy as np

    from assay.analyse.asked import Asked
    from assay.analyse.inputs import Inputs
    from assay.analyse.model import Model
    from assay.analyse.preprocessing import Layout
    from assay.analyse.regions import Norm
    from assay.question.runnable import RunOptions

VNNLIB = (".vnnlib", ".vnnlib.gz")
_BESIDE_A_QUESTION = ("model", "where", "device", "seed", "model_output", "custom_ops")
ModelOutput = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Output of the ONNX file that holds the scores; default: chosen."
    ),
]
CustomOps = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="LIBRARY",
        help="Shared object with custom operators for ONNX Runtime; may be repeated.",
    ),
]


@dataclass(frozen=True)
class ModelOptions:
    """A model and where its inputs come from."""

    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="An ONNX file, or MODULE:NAME or FILE.py:NAME of a torch module or function.",
        ),
    ]
    where: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help="Inputs: .npy, .png or .npz; or a VNN-LIB file; or a folder."
        ),
    ]
    norm: Annotated[str, typer.Option(metavar="1|2|inf", help="The norm of the ball.")] = "inf"
    valid: Annotated[
        str | None,
        typer.Option(
            "--range",
            metavar="LOW,HIGH",
            help="Valid inputs; points are then uniform on the intersection with the ball.",
        ),
    ] = None
    levels: Annotated[
        int | None, typer.Option(help="Number of input levels, e.g. 256 for 8-bit pixels.")
    ] = None
    scale: Annotated[float, typer.Option(help="The model takes (x / scale - mean) / std.")] = 1.0
    mean: Annotated[
        str | None, typer.Option(metavar="M[,M,M]", help="One number, or one a channel.")
    ] = None
    std: Annotated[
        str | None, typer.Option(metavar="S[,S,S]", help="One number, or one a channel.")
    ] = None
    layout: Annotated[
        str, typer.Option(metavar="chw|hwc", help="Where the channels of pictures go.")
    ] = "chw"
    shape: Annotated[
        str | None,
        typer.Option(metavar="N,N,N", help="Shape of one input of a Python model, if not INPUT's."),
    ] = None
    device: Device = "cpu"
    seed: Seed = 0
    model_output: ModelOutput = ""
    custom_ops: CustomOps = None

    @property
    def run_options(self) -> RunOptions:
        return run_options(self.model_output, self.custom_ops)


@dataclass(frozen=True)
class PointOptions(ModelOptions):
    """One input and what may happen to it."""

    radius: Annotated[
        float | None, typer.Option(help="Of the ball around the input; in the input's units.")
    ] = None
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="L[,L,L]", help="What the model may say; default: what it says at the input."
        ),
    ] = None
    index: Annotated[
        int | None, typer.Option(help="Which input of a file that holds several, from 0.")
    ] = None

    @property
    def is_question(self) -> bool:
        """Whether a VNN-LIB file states region and property."""
        return str(self.where).endswith(VNNLIB)


def asked_of(options: PointOptions) -> Asked:
    """The question that the options ask."""
    from assay.analyse.asked import around, of_files
    from assay.bounds.device import device_named

    if options.is_question:
        _refuse_beside_a_question(options)
        device = device_named(options.device)
        found = of_files(
            Path(options.model), options.where, options=options.run_options, device=device
        )
        _tell(found.model)
        return found
    if options.radius is None:
        raise BadInput("--radius is missing; say how far inputs may be from INPUT")
    model, point = model_and_input(options)
    chosen = label_set(options.labels)
    return around(
        model,
        point,
        chosen,
        options.radius,
        norm_of(options),
        valid=valid_range(options),
        levels=options.levels,
    )


def model_and_input(options: PointOptions) -> tuple[Model, np.ndarray]:
    from assay.analyse.inputs import read_input
    from assay.question.shapes import shape_words

    point = read_input(options.where, _layout(options), options.index)
    model = _model(options, point.shape)
    if point.ndim > 1 and point[0].size == model.inputs != point.size:
        raise BadInput(f"{options.where}: holds {len(point)} inputs; pick one with --index")
    if point.size != model.inputs:
        raise BadInput(
            f"{options.where}: has {point.size} numbers ({shape_words(point.shape)}) where "
            f"{model.name} takes {model.inputs} ({shape_words(model.shape)}); give an "
            "input of the model's shape"
        )
    return model, point


def model_and_inputs(options: ModelOptions) -> tuple[Model, Inputs]:
    """The model and a data set."""
    from assay.analyse.inputs import read_inputs
    from assay.question.shapes import shape_words

    data = read_inputs(options.where, _layout(options))
    model = _model(options, data.points.shape[1:])
    if data.points[0].size != model.inputs:
        raise BadInput(
            f"{options.where}: inputs have {data.points[0].size} numbers where {model.name} takes "
            f"{model.inputs} ({shape_words(model.shape)}); give inputs of the model's shape"
        )
    return model, data


def _model(options: ModelOptions, shape: tuple[int, ...]) -> Model:
    from assay.analyse.named_model import model_named
    from assay.analyse.preprocessing import Preprocessing
    from assay.bounds.device import device_named

    wanted = shape
    if options.shape is not None:
        if options.model.endswith((".onnx", ".onnx.gz")):
            raise BadInput(f"{options.model}: says what shape it takes; leave --shape out")
        wanted = tuple(_whole(part, "--shape") for part in options.shape.split(","))
    preprocessing = Preprocessing(
        options.scale,
        numbers_of(options.mean, "--mean"),
        numbers_of(options.std, "--std"),
        _layout(options),
    )
    found = model_named(
        options.model,
        wanted,
        options=options.run_options,
        device=device_named(options.device),
        preprocessing=preprocessing,
    )
    _tell(found)
    return found


def _tell(model: Model) -> None:
    if model.note:
        print(f"assay: {model.note}", file=sys.stderr)


def run_options(output: str, libraries: list[Path] | None) -> RunOptions:
    """What a person says about an ONNX file that ONNX Runtime is to run."""
    from assay.question.runnable import RunOptions

    for library in libraries or ():
        if not library.is_file():
            raise BadInput(f"--custom-ops {library}: no such file; give a shared object")
    return RunOptions(output, tuple(libraries or ()))


def norm_of(options: ModelOptions) -> Norm:
    from assay.analyse.regions import norm_named

    return norm_named(options.norm)


def valid_range(options: ModelOptions) -> tuple[float, float] | None:
    found = numbers_of(options.valid, "--range")
    if not found:
        return None
    if len(found) != 2:
        raise BadInput(f"--range {options.valid} is not LOW,HIGH; give two numbers")
    return found[0], found[1]


def label_set(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    return tuple(dict.fromkeys(_whole(part, "--labels") for part in text.split(",")))


def _layout(options: ModelOptions) -> Layout:
    if options.layout not in ("chw", "hwc"):
        raise BadInput(f"--layout {options.layout} is unknown; give chw or hwc")
    return cast("Layout", options.layout)


def numbers_of(text: str | None, option: str) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise BadInput(f"{option} {text} is not a list of numbers; write 0.5,0.5,0.5") from None


def _whole(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"{option}: {text!r} is no whole number; write 3,5,9") from None


def _refuse_beside_a_question(options: PointOptions) -> None:
    titles = {"valid": "range"}
    named = [
        f"--{titles.get(field.name, field.name)}"
        for field in fields(PointOptions)
        if field.name not in _BESIDE_A_QUESTION and getattr(options, field.name) != field.default
    ]
    if named:
        raise BadInput(
            f"{options.where}: states box and property itself; leave {' and '.join(named)} out"
        )
    if ":" in options.model and not options.model.endswith((".onnx", ".onnx.gz")):
        raise BadInput(f"{options.model}: a VNN-LIB file is about an ONNX file; give that")
