"""Which engine does the work: this machine, or the cluster at an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.engine.processes import Processes
from assay.engine.threads import Threads
from assay.engine.work import Engine, available_cores
from assay.optional_packages import missing_package


@contextmanager
def chosen_engine(
    jobs: int = 0, cluster: str | None = None, *, runs_programs: bool = False
) -> Iterator[Engine]:
    """`jobs` at once on this machine, 0 for one per core; or the workers of the cluster."""
    if cluster is None:
        yield Threads(jobs or available_cores()) if runs_programs else Processes(jobs)
        return
    try:
        from assay.engine.cluster import cluster_at
    except ModuleNotFoundError:
        raise missing_package("distributed", "a cluster") from None
    with cluster_at(cluster) as engine:
        yield engine
