"""What a person brings to be certified: the bytes of a network, and a centre in exact numbers."""

from __future__ import annotations

import io
import math
import re
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np

from assay.errors import AssayError, BadInput
from assay.question.batching import one_point_model
from assay.question.model_file import read_model, weights_beside
from assay.question.network import load
from assay.question.sexpr import Atom, Source
from assay.truth.dyadic import power

LARGEST_NETWORK = 64 * 1024 * 1024
LARGEST_CENTRE = 1024 * 1024
STANDARD_INPUT = "-"
_NPY = b"\x93NUMPY"
_BETWEEN_COMMAS = re.compile(r",\s*,")
_WORD = re.compile(r"[^\s,]+")


def network_bytes(path: Path) -> bytes:
    """The bytes of an ONNX file, with the weights beside it and a free batch fixed at one input."""
    if path.name.endswith(".gz"):
        raise BadInput(f"{path}: is compressed; unpack it with gunzip first")
    remedy = "certify a smaller network"
    data = _bytes(path, LARGEST_NETWORK, remedy)
    if weights_beside(path):
        data = read_model(path).data
        _refuse_large(data, LARGEST_NETWORK, str(path), remedy)
    try:
        return one_point_model(load(data, str(path)))
    except AssayError:
        return data  # whoever certifies it says what is wrong with it


def centre(reference: str) -> tuple[Fraction, ...]:
    """Read a centre from a file, or from standard input when the reference is `-`.

    It is text (decimals between blanks, commas or line ends) or a `.npy` array of numbers, and
    every number is taken exactly as it stands there.
    """
    if reference == STANDARD_INPUT:
        place = "standard input"
        data = b"" if sys.stdin is None else sys.stdin.buffer.read(LARGEST_CENTRE + 1)
        _refuse_large(data, LARGEST_CENTRE, place, "give one number for each input")
    else:
        place = reference
        data = _bytes(Path(reference), LARGEST_CENTRE, "give one number for each input")
    if data.startswith(_NPY):
        values = _from_npy(data, place)
    elif reference.endswith(".npy"):
        raise BadInput(f"{place}: not a NumPy array; save one with numpy.save")
    else:
        values = _from_text(data, place)
    if not values:
        raise BadInput(f"{place}: holds no number; give one for each input of the network")
    for position, value in enumerate(values):
        if abs(value) >= power(128):
            raise BadInput(
                f"{place}: number {position + 1} is too large for float32; the network cannot "
                "be given it"
            )
    return values


def _bytes(path: Path, limit: int, remedy: str) -> bytes:
    try:
        if not path.exists():
            raise BadInput(f"{path}: no such file; check the path")
        if not path.is_file():
            raise BadInput(f"{path}: not a file; give the path of a file")
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the file") from None
    _refuse_large(data, limit, str(path), remedy)
    return data


def _refuse_large(data: bytes, limit: int, place: str, remedy: str) -> None:
    if len(data) > limit:
        raise BadInput(f"{place}: larger than {limit} bytes; {remedy}")


def _from_text(data: bytes, place: str) -> tuple[Fraction, ...]:
    try:
        source = Source(data.decode("utf-8-sig"), place)
    except UnicodeDecodeError:
        raise BadInput(
            f"{place}: neither text nor a .npy array; write decimals between blanks or commas"
        ) from None
    gap = _BETWEEN_COMMAS.search(source.text)
    if gap is not None:
        raise source.error(gap.start(), "a number is missing between two commas; write it.")
    return tuple(
        source.number(Atom(word[0], "", word.start())) for word in _WORD.finditer(source.text)
    )


def _from_npy(data: bytes, place: str) -> tuple[Fraction, ...]:
    """The numbers of an array in C order; its header is not trusted with the memory to take."""
    stream = io.BytesIO(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(stream)
            read_header = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, columns_first, kind = read_header(stream)
    except Exception:  # the header is a Python literal, and its parser raises whatever it meets
        raise BadInput(f"{place}: its .npy header is broken; save the array again") from None
    if kind.kind not in "fiu" or kind.itemsize > 8:
        raise BadInput(f"{place}: an array of {kind} is not read; save it as float64 or float32")
    body = data[stream.tell() :]
    if min(shape, default=1) < 0 or math.prod(shape) * kind.itemsize != len(body):
        raise BadInput(
            f"{place}: its header promises another number of bytes than follow; save it again"
        )
    flat = np.frombuffer(body, kind)
    array = flat.reshape(shape, order="F" if columns_first else "C")
    if not np.isfinite(array).all():
        raise BadInput(f"{place}: holds NaN or infinity; give finite numbers")
    return tuple(Fraction(value) for value in array.ravel().tolist())
