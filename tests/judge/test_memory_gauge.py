"""What a tree of processes holds, while processes of it end."""

import os
import subprocess
import sys

from assay.judge.process_tree import MemoryGauge, read_process

HOLD = "block = b'x' * 200_000_000; print(len(block), flush=True); input()"


def test_processes_that_ended_since_they_were_listed_hold_nothing() -> None:
    this = read_process(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        listed = read_process(child.pid)
        child.kill()
    assert this is not None
    assert listed is not None
    assert listed.resident_bytes > 200_000_000
    gauge = MemoryGauge(limit_bytes=0)
    gauge.look([this, listed])
    assert 0 < gauge.peak_bytes <= this.resident_bytes + 50_000_000
