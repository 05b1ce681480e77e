"""A bound of each output's float32 error on a box, for every kind of network that families make."""

from __future__ import annotations

from fractions import Fraction

from assay.proof import reader
from assay.proof.chain import Chain
from assay.proof.claim import Proof
from assay.proof.guard import output_errors
from assay.proof.interval import Interval
from assay.proof.network import read_network
from assay.question.floaterror import output_error
from assay.question.mlp_layers import chain_layers
from assay.question.network import load
from assay.question.region import Box
from assay.truth.instance import Instance


def error_bounds(instance: Instance, box: Box) -> list[Fraction]:
    network = read_network(reader.read(instance.onnx))
    if not isinstance(network, Chain):
        errors = output_errors(network, Interval.of(box.lower, box.upper), Proof(Fraction(0)))
        return [Fraction(error, 1 << 180) for error in errors]
    return output_error(chain_layers(load(instance.onnx, instance.name)), box)
