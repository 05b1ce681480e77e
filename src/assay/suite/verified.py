"""What cannot be proved is not an instance: the checker's word before anything is written."""

from __future__ import annotations

from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.truth.instance import Instance


def require_verified(instance: Instance) -> None:
    """Raise CannotCertify unless the independent checker verifies exactly these bytes."""
    truth = instance.truth.to_json().encode()
    verdict = check(instance.onnx, instance.vnnlib, truth, instance.arrays)
    if verdict.status != "verified":
        raise CannotCertify(f"the checker does not verify {instance.name}: {verdict.reason}")
