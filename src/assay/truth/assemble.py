"""From a certified design to an instance: bytes, exact margin, guard and truth.

Every family that is evaluated in rationals ends here, so that the files, the truth and the guard
are made in one way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpz_mat

from assay.errors import CannotCertify
from assay.proof import reader
from assay.proof import vnnlib as proof_vnnlib
from assay.proof.arithmetic import Rejected, Unsupported, Vector
from assay.proof.claim import Proof
from assay.proof.guard import check_float32
from assay.proof.interval import Interval
from assay.proof.network import Network, read_network
from assay.question import vnnlib
from assay.question.convolution import ConvLayer
from assay.question.floaterror import AnyLayer, survives_float32
from assay.question.graph import chain
from assay.question.property import Violation
from assay.question.region import Box
from assay.truth.dyadic import is_float32, short_above, short_below
from assay.truth.instance import Instance, sha256
from assay.truth.record import Answer, Truth


@dataclass(frozen=True)
class Design:
    """A question about a network before its truth is stated.

    `onnx` is given when the network came as a file; otherwise it is written from the layers.
    Without layers the network is what the checker reads from that file.
    `tops` gives upper bounds of hidden pre-activations that the checker's rule proves as well,
    `stretches` the bounds of squared l2 norms that it finds for convolutions.
    `prefix` tells apart the instances that one call of a constructor makes.
    """

    family: str
    parameters: Mapping[str, object]
    seed: int
    layers: tuple[AnyLayer, ...]
    box: Box
    violation: Violation
    facts: Mapping[str, str] = field(default_factory=dict)
    tops: Mapping[int, Sequence[Fraction]] = field(default_factory=dict)
    stretches: Mapping[int, Fraction] = field(default_factory=dict)
    onnx: bytes | None = None
    prefix: str = ""

    def network_bytes(self) -> bytes:
        return chain(self.layers) if self.onnx is None else self.onnx

    @cached_property
    def structure(self) -> Network:
        """The network as the checker reads it."""
        return read_network(reader.read(self.network_bytes()))

    def question_bytes(self) -> bytes:
        return vnnlib.write(self.box, self.violation).encode()


def robust_instance(
    design: Design, margin: Fraction, *, kind: str | None = None, arrays: bytes | None = None
) -> Instance:
    """The robust side: `margin` is proved by the family.

    The network's structure is the certificate, of the family's own kind, unless `kind` and
    `arrays` say otherwise.
    """
    if margin <= 0:
        raise CannotCertify(
            f"{design.family}: the exact margin {float(margin):.3g} is not positive; "
            "raise gamma or try another seed"
        )
    stated = short_below(margin)
    guarded = survives(design, design.box, stated, design.tops)
    certificate = {"kind": kind or design.family}
    if arrays is not None:
        certificate["arrays_sha256"] = sha256(arrays)
    return stated_instance(design, "robust", stated, guarded, certificate, arrays=arrays)


def violated_instance(
    design: Design, witness: Sequence[Fraction], probability: dict[str, str] | None = None
) -> Instance:
    """The violated side: the witness is evaluated exactly and must violate strictly.

    `probability` is the share of the box that violates, where the family proves it.
    """
    if not design.box.contains(witness):
        raise CannotCertify(f"{design.family}: the witness lies outside the box")
    margin = design.violation.margin(_outputs(design, witness))
    if margin >= 0:
        raise CannotCertify(
            f"{design.family}: the witness keeps a margin of {float(margin):.3g}; try another seed"
        )
    stated = short_above(margin)
    guarded = survives(design, Box(tuple(witness), tuple(witness)), stated)
    return stated_violation(design, stated, guarded, witness, probability)


def stated_violation(
    design: Design,
    margin: Fraction,
    guarded: bool,
    witness: Sequence[Fraction],
    probability: dict[str, str] | None = None,
) -> Instance:
    """A violated truth; everything is proved by the caller."""
    text = tuple(vnnlib.decimal(value) for value in witness)
    certificate = {"kind": "witness"}
    made = stated_instance(design, "violated", margin, guarded, certificate, witness=text)
    return replace(made, truth=replace(made.truth, violation_probability=probability))


def survives(
    design: Design,
    where: Box,
    margin: Fraction,
    tops: Mapping[int, Sequence[Fraction]] | None = None,
) -> bool:
    """Whether float32 gives the answer of a real margin of this size everywhere on a box."""
    if design.layers:
        return all(map(is_float32, (*where.lower, *where.upper))) and survives_float32(
            design.layers, where, design.violation, margin, tops, design.stretches
        )
    question = proof_vnnlib.read(design.question_bytes())
    try:
        check_float32(
            design.structure, question, Interval.of(where.lower, where.upper), Proof(margin)
        )
    except (Rejected, Unsupported):
        return False
    return True


def _outputs(design: Design, point: Sequence[Fraction]) -> list[Fraction]:
    if design.layers:
        return mlp_outputs(design.layers, point)
    return design.structure.outputs(Vector.of(point)).fractions()


def mlp_outputs(layers: Sequence[AnyLayer], point: Sequence[Fraction]) -> list[Fraction]:
    """The exact outputs of affine layers with ReLU in between, at a dyadic point."""
    denominator = max(value.denominator for value in point)
    # a divisor of a power of two is one, too
    if denominator & (denominator - 1) or any(denominator % v.denominator for v in point):
        raise ValueError("every coordinate must be a dyadic rational")
    exponent = 1 - denominator.bit_length()
    values = [v.numerator * (denominator // v.denominator) for v in point]
    for position, layer in enumerate(layers):
        if position:
            values = [max(v, 0) for v in values]
        if isinstance(layer, ConvLayer):
            weight, bias = layer.filters, layer.unit_bias
            padded = [*values, 0]
            values = [padded[i] for i in layer.windows.ravel().tolist()]
        else:
            weight, bias = layer
        integers, scale = dyadic_integers(weight)
        offsets, offset_scale = dyadic_integers(bias)
        columns = len(values) // weight.shape[1]
        product = fmpz_mat(*weight.shape, integers) * fmpz_mat(weight.shape[1], columns, values)
        common = min(exponent + scale, offset_scale)
        lift, offset_lift = exponent + scale - common, offset_scale - common
        values = [
            (int(p) << lift) + (b << offset_lift)
            for p, b in zip(product.entries(), offsets, strict=True)
        ]
        exponent = common
    if exponent >= 0:
        return [Fraction(v << exponent) for v in values]
    return [Fraction(v, 1 << -exponent) for v in values]


def dyadic_integers(array: np.ndarray) -> tuple[list[int], int]:
    """A float32 array, flattened, as integers times one power of two (its exponent, <= 0)."""
    mantissa, exponent = np.frexp(array.astype(np.float64).ravel())
    # float32 has 24 significant bits: the mantissa times 2^24 is an integer
    integers = (mantissa * 2.0**24).astype(np.int64)
    lowest = integers & -integers
    trailing = np.where(integers == 0, 0, np.frexp(np.maximum(lowest, 1).astype(float))[1] - 1)
    integers >>= trailing
    exponents = np.where(integers == 0, 0, exponent.astype(np.int64) - 24 + trailing)
    common = min(int(exponents.min(initial=0)), 0)
    shifts = exponents - common
    if int(shifts.max(initial=0)) <= 62 - 24:
        return (integers << shifts).tolist(), common
    return [i << s for i, s in zip(integers.tolist(), shifts.tolist(), strict=True)], common


def stated_instance(
    design: Design,
    answer: Answer,
    margin: Fraction,
    guarded: bool,
    certificate: dict[str, str],
    *,
    witness: tuple[str, ...] | None = None,
    arrays: bytes | None = None,
) -> Instance:
    """A truth about a design; `margin` and `guarded` are proved by the caller."""
    onnx, question = design.network_bytes(), design.question_bytes()
    truth = Truth(
        answer=answer,
        margin=margin,
        guard="float32" if guarded else "real",
        family=design.family,
        parameters=dict(design.parameters),
        seed=design.seed,
        twin=design.prefix + ("violated" if answer == "robust" else "robust"),
        onnx_sha256=sha256(onnx),
        vnnlib_sha256=sha256(question),
        certificate=certificate,
        witness=witness,
        facts=dict(design.facts),
    )
    return Instance(design.prefix + answer, onnx, question, truth, arrays)
