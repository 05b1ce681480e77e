"""What cannot be proved is not an instance: the checker's word before anything is written."""

from __future__ import annotations

from collections.abc import Iterable

from assay.errors import CannotCertify
from assay.proof.checker import check
from assay.store.kept_verdicts import Digests, KeptVerdicts
from assay.truth.instance import Instance


def require_verified(instance: Instance) -> None:
    """Raise CannotCertify unless the independent checker verifies exactly these bytes."""
    truth = instance.truth.to_json().encode()
    verdict = check(instance.onnx, instance.vnnlib, truth, instance.arrays)
    if verdict.status != "verified":
        raise CannotCertify(f"the checker does not verify {instance.name}: {verdict.reason}")


def keep_verified(instances: Iterable[Instance], kept: KeptVerdicts) -> None:
    """Keep the verdicts of `require_verified`: whoever uses the files need not ask again."""
    for instance in instances:
        truth = instance.truth.to_json().encode()
        kept.add(Digests.of(instance.onnx, instance.vnnlib, truth, instance.arrays))
