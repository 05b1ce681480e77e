"""A real Dask cluster for tests: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from process_search import wait_until


class Cluster:
    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self._environment = os.environ | settings
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def start(self, workers: int, *options: str) -> None:
        self.scheduler = self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        wait_until(lambda: self._file.exists() and self._file.read_bytes().rstrip().endswith(b"}"))
        self.address = str(json.loads(self._file.read_text())["address"])
        for _ in range(workers):
            self.add_worker(*options)

    def add_worker(self, *options: str) -> subprocess.Popen[bytes]:
        """A worker of one thread; without a nanny it is the very process that is returned."""
        place = ("--local-directory", str(self._folder), "--host", "127.0.0.1")
        worker = self._start("worker", "--nthreads", "1", *place, *options)
        self.workers.append(worker)
        return worker

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard"]
        number = len(self.processes)
        with (self._folder / f"{kind}-{number}.log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "--scheduler-file", str(self._file), *options],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
            )
        self.processes.append(process)
        return process


@contextmanager
def cluster(folder: Path, workers: int, *options: str, **settings: str) -> Iterator[Cluster]:
    """A scheduler and workers, ended by force afterwards."""
    made = Cluster(folder, settings)
    try:
        made.start(workers, *options)
        yield made
    finally:
        for process in made.processes:
            # The nanny's children are in its process group.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
