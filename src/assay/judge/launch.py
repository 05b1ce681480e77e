"""Start a command in its own session, with its limits set before its first instruction."""
# The supervisor's start-up is paid for every task: only light modules are imported here.

from __future__ import annotations

import ctypes
import os
import resource

from assay.judge.process_tree import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SET_PARENT_DEATH_SIGNAL = 1  # from linux/prctl.h
_SET_CHILD_SUBREAPER = 36
_SIGPIPE, _SIGXFSZ = 13, 25
_SIG_DFL = None


class CannotStart(Exception):
    """The command did not start; the message says at which step and why."""


def become_subreaper() -> None:
    """From now on orphaned descendants become children of this process, not of init."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def launch(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: int,
    stdout: int,
    stderr: int,
    limits: Mapping[int, int],
    cores: Sequence[int] | None,
    join_groups: Callable[[], None],
) -> int:
    """The process id of the command, once it is running; `folder` is an open directory.

    `limits` maps RLIMIT numbers to values. The command is killed when the caller dies.
    """
    caller = os.getpid()
    failure_end, report_end = os.pipe()
    child = os.fork()
    if child == 0:
        step = "enter its folder"
        try:
            os.setsid()
            os.fchdir(folder)
            null = os.open(os.devnull, os.O_RDONLY)
            for source, target in ((null, 0), (stdout, 1), (stderr, 2)):
                os.dup2(source, target)
            _forget_signals()
            _prctl(_SET_PARENT_DEATH_SIGNAL, SIGKILL)
            if os.getppid() != caller:
                os._exit(127)
            join_groups()
            _prefer_for_oom_killer()
            step = "set its limits"
            for number, value in limits.items():
                _lower_limit(number, value)
            step = f"pin it to the cores {cores}"
            if cores is not None:
                os.sched_setaffinity(0, cores)
            step = f"start {command[0]!r}"
            os.execvpe(command[0], tuple(command), environment)
        except BaseException as error:
            reason = getattr(error, "strerror", None) or str(error)
            os.write(report_end, f"cannot {step} ({reason})".encode("utf-8", "replace")[:4000])
        finally:
            os._exit(127)
    os.close(report_end)
    try:
        # Ends as soon as exec closes the other end, which no child of the command inherits.
        failure = os.read(failure_end, 4096)
    finally:
        os.close(failure_end)
    if failure:
        os.waitpid(child, 0)
        raise CannotStart(failure.decode("utf-8", "replace"))
    return child


def _forget_signals() -> None:
    """Python ignores some signals, and an ignored signal stays ignored across exec."""
    for number in (_SIGPIPE, _SIGXFSZ):
        ctypes.CDLL(None).signal(number, _SIG_DFL)


def _lower_limit(number: int, value: int) -> None:
    hard = resource.getrlimit(number)[1]
    ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(number, (ceiling, ceiling))


def _prefer_for_oom_killer() -> None:
    """When the whole machine runs out of memory, the task goes first, not who watches it."""
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
        os.write(descriptor, b"500")
    except OSError:
        pass


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl refused; a Linux kernel from 3.4 on is needed")
