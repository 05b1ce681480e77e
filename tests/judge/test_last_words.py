"""A supervisor that reports and ends at the very moment we look whether it is still there."""

from __future__ import annotations

import subprocess
import sys
import time

from assay.judge.sandbox import _collect

SCRIPT = "import sys; sys.stdin.read(1); sys.stdout.write('report'); sys.stdout.flush()"


class LateReporter(subprocess.Popen[bytes]):
    """Reports and ends when it is asked whether it runs."""

    def poll(self) -> int | None:
        if self.stdin is not None and not self.stdin.closed:
            self.stdin.write(b".")
            self.stdin.close()
            self.wait()
        return super().poll()


def test_the_last_words_are_heard() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with LateReporter([sys.executable, "-I", "-S", "-c", SCRIPT], **pipes) as supervisor:
        assert _collect(supervisor, None, time.monotonic() + 60) == b"report"
