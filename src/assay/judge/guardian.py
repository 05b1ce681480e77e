"""The process above a supervisor: it ends the task when the supervisor itself is killed or stuck.

A task runs as the same user as the supervisor that watches it, so it can kill or stop it. The
guardian is a child subreaper too: when the supervisor dies, all that it had below it, whatever its
environment, session or parents were, becomes the guardian's and is killed. A supervisor that is
stopped is woken again; the third time, or when it is much too late, it is taken for lost.
"""
# The supervisor's start-up is paid for every task: modules as common as signal would more than
# double it; `_signal` is built in.

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import select
import sys
import time

from assay.judge.cgroups import groups_of_task
from assay.judge.launch import become_subreaper
from assay.judge.process_tree import SIGCONT, SIGKILL, ProcessTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ENDING_PATIENCE_S = 10.0
STOPPING_PATIENCE_S = ENDING_PATIENCE_S + 2.0
MOST_STOPS = 2
LOOK_S = 0.1
LOOK_WITHOUT_PIDFD_S = 0.005


def run_guarded(work: Callable[[], None], runner: int, token: str, late_s: float) -> None:
    """Do `work` in a child process, see to its end, and exit; this never returns.

    The child is killed `late_s` from now, and with it all that descends from it.
    """
    # Python would turn it into an exception, which reads as a defect of ours.
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    become_subreaper()
    tree = ProcessTree(os.getpid())
    supervisor = os.fork()
    if supervisor == 0:
        _work_and_exit(work)
    # Only the supervisor holds the report's pipe: when it ends, the runner sees that.
    os.dup2(2, 1)
    status = _status_at_end(supervisor, runner, time.monotonic() + late_s)
    if status != 0:
        groups = groups_of_task(token)
        tree.end(_any_child_left, groups.kill, ENDING_PATIENCE_S)
        groups.remove()
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0)


def _work_and_exit(work: Callable[[], None]) -> None:
    try:
        # A signal to the whole group of one of the two must not reach the other.
        os.setpgid(0, 0)
        work()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def _status_at_end(supervisor: int, runner: int, deadline: float) -> int:
    """Wait for the supervisor, wake it when it is stopped, kill it when it is lost."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    pause_s = LOOK_S
    try:
        poll.register(os.pidfd_open(supervisor), select.POLLIN)
    except OSError:
        pause_s = LOOK_WITHOUT_PIDFD_S  # a kernel older than 5.3
    stops, told = 0, False
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(pause_s * 1000)]
        pid, status = os.waitpid(supervisor, os.WNOHANG | os.WUNTRACED)
        if pid and not os.WIFSTOPPED(status):
            return status
        if pid:
            stops += 1
            os.kill(supervisor, SIGCONT)
        if not told and (0 in ready or os.getppid() != runner):
            # The supervisor hears that by itself.
            told = True
            poll.unregister(0)
            deadline = min(deadline, time.monotonic() + STOPPING_PATIENCE_S)
        if stops > MOST_STOPS or time.monotonic() > deadline:
            os.kill(supervisor, SIGKILL)


def _any_child_left() -> bool:
    """Take in all dead children; whether there is any other."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True
