"""Whether the workers of a cluster have the verifiers, and the Assay, that the driver has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import assay
from assay.engine.work import Engine
from assay.errors import BadInput
from assay.judge.host import this_host
from assay.judge.verifier import Verifier

_versions: dict[str, str | None] = {}


def check_workers(
    engine: Engine, verifiers: Sequence[Verifier], versions: Mapping[str, str]
) -> None:
    """Ask the workers there are; one that joins later is asked with its first task."""
    ask = getattr(engine, "ask_workers", None)
    if ask is None:
        return
    try:
        question = _inspection(verifiers, versions)
    except Exception as error:
        raise BadInput(
            f"a verifier cannot be sent to the workers ({error}); declare it without open "
            "files or locks"
        ) from None
    for worker, found in ask(question).items():
        if isinstance(found, BadInput):
            raise found
        if isinstance(found, Exception):
            raise BadInput(
                f"worker {worker} cannot run the verifiers ({found}); install the same "
                "version of assay there"
            )
        engine.hosts[worker] = found  # type: ignore[attr-defined]


def _inspection(
    verifiers: Sequence[Verifier], versions: Mapping[str, str]
) -> Callable[..., dict[str, Any]]:
    """A function for every worker, which says what its machine is or raises BadInput.

    Being made here it travels by value, so that it also runs where there is no Assay.
    """
    import cloudpickle

    packed, ours = cloudpickle.dumps(tuple(verifiers)), assay.__version__

    def inspect(dask_worker: Any) -> dict[str, Any]:
        from assay.judge.worker_check import inspected

        return inspected(dask_worker.address, ours, packed, versions)

    return inspect


def inspected(place: str, ours: str, packed: bytes, versions: Mapping[str, str]) -> dict[str, Any]:
    """What this worker's machine is; BadInput where its Assay or a verifier is another."""
    import cloudpickle

    from assay.engine.cluster_worker import refuse_other_assay

    refuse_other_assay(place, ours)
    for verifier in cloudpickle.loads(packed):
        _versions.pop(verifier.name, None)
        refuse_other_version(verifier, versions[verifier.name], place)
    return dict(this_host())


def refuse_other_version(verifier: Verifier, version: str, place: str = "") -> None:
    """Raise BadInput, naming the worker, unless it has the driver's verifier."""
    if verifier.name not in _versions:
        _versions[verifier.name] = verifier.version()
    found = _versions[verifier.name]
    if found != version:
        if not place:
            from distributed import get_worker

            place = get_worker().address
        raise BadInput(
            f"worker {place} has {verifier.name} {found or '(not installed)'} where the driver has "
            f"{version}; get it there with: {verifier.install_hint}"
        )
