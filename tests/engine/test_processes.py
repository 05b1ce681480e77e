"""Worker processes: what they are told, how they end, and that none outlives its caller."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from rows_of_work import asleep, difficult, faulty, place, squared

from assay.engine.processes import Processes
from assay.engine.work import Work, WorkerFault
from assay.errors import BadInput


def test_every_item_once_in_any_order() -> None:
    done = list(Processes(2).outcomes(Work(squared), range(40)))
    assert sorted((o.item, o.result) for o in done) == [(n, n * n) for n in range(40)]


def test_a_worker_is_where_its_caller_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARK", "of this test")
    (done,) = Processes(1).outcomes(Work(place), [0])
    assert done.result == (str(tmp_path), "1", "0", "of this test")


def test_errors_and_deaths_cost_their_item_only() -> None:
    done = {o.item: o for o in Processes(2).outcomes(Work(difficult), range(8))}
    assert isinstance(done[1].error, BadInput)
    assert done[2].death == "its process was ended by SIGKILL (is there enough memory?)"
    assert done[3].death == "its process ended with exit code 7"
    assert [done[n].result for n in (0, 4, 5, 6, 7)] == [0, 4, 5, 6, 7]
    with pytest.raises(BadInput, match="it: not done, its process was ended by SIGKILL"):
        done[2].required("it")


def test_a_defect_is_raised_with_its_traceback() -> None:
    with pytest.raises(WorkerFault, match="return number // 0"):
        list(Processes(1).outcomes(Work(faulty), [1]))


def wait_for(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_gone(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_closing_ends_what_still_runs(tmp_path: Path) -> None:
    files = [tmp_path / "first", tmp_path / "second"]
    outcomes = Processes(2).outcomes(Work(asleep), files, lambda _: None)
    with closing(outcomes):
        import threading

        heard = threading.Thread(target=lambda: wait_for(lambda: all(f.exists() for f in files)))
        heard.start()
        stopper = threading.Timer(0.1, lambda: None)
        stopper.start()
        # The generator waits inside; it is closed from here by an exception in its caller.
        signal.signal(signal.SIGALRM, _raise)
        signal.setitimer(signal.ITIMER_REAL, 3)
        with pytest.raises(TimeoutError):
            next(outcomes)
        heard.join()
    workers = [int(f.read_text()) for f in files]
    assert all(is_gone(worker) for worker in workers)


def _raise(*_: object) -> None:
    raise TimeoutError


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from rows_of_work import asleep
from assay.engine.processes import Processes
from assay.engine.work import Work
list(Processes(2).outcomes(Work(asleep), [Path("a"), Path("b")]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_worker_outlives_a_script_without_a_guard(tmp_path: Path, number: int) -> None:
    """The script calls at its top level: a worker that read it again would start more workers."""
    (tmp_path / "script.py").write_text(SCRIPT.format(tests=str(Path(__file__).parent)))
    script = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    files = [tmp_path / "a", tmp_path / "b"]
    wait_for(lambda: all(f.exists() and f.read_text() for f in files))
    os.kill(script.pid, number)
    script.wait(30)
    wait_for(lambda: all(is_gone(int(f.read_text())) for f in files))
