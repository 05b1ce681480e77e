"""Run a command as a task: in its own folder and session, within limits, with nothing left behind.

`run_sandboxed` starts one small supervisor process for each task (`supervisor.py`), which starts
the command, measures its whole process tree and ends it.

What is guaranteed, as root or as an ordinary user, with or without control groups:

- The tree is everything that descends from the command, whatever sessions, process groups or
  double forks it makes: the supervisor is a child subreaper, so orphans come back to it. The task
  is over only when the kernel says that no descendant is left. The end of the main process ends
  the rest at once. At the wall or CPU limit the tree gets SIGTERM and, after `GRACE_S`, SIGKILL;
  at any other limit SIGKILL at once.
- The tree also ends when the caller dies, even by SIGKILL, and when the task kills its supervisor:
  above that stands a guardian (`guardian.py`), which gets all descendants and kills them. A
  supervisor that the task stops is woken at once. Should the task kill the guardian, the supervisor
  ends it.
- stdin is empty, the environment is a short list of names plus what the invocation asks for, and
  TMPDIR lies in the folder. stdout and stderr are kept in the folder up to the output limit.
- The result is read as it stood when the task ended or met its limit, never later. No symbolic
  link is followed, only a regular file inside the folder counts, and it has to fit in the output
  limit.

How exactly limits are kept: wall time to a few milliseconds; output to the byte; the rest is
measured about every 20 ms (less often on machines with thousands of processes), and again at the
end from what the kernel counted, so that a short excess can go further than the limit before it is
stopped. In between the kernel keeps wider limits by itself: RLIMIT_DATA (twice the memory and 1 GiB
more, for each process), RLIMIT_NPROC (not for root) and RLIMIT_FSIZE (no file larger than the
memory or output limit). Root's supervisor runs at real-time priority, so that a fork bomb cannot
starve it; an ordinary user's may need some seconds to get through. Where a control group can be
made, CPU time is exact and the end is atomic, and where it comes with the memory and pids
controllers the kernel keeps those limits. Memory is what is resident, pages shared within the tree
counted once; without a memory controller files in a tmpfs are not counted. `processes` counts
processes, not threads.

What is not: this is no defence against a determined attacker. The task runs as the same user, so
it can write wherever that user can, use the network, read other processes and kill the caller;
the folder's total size is not limited. One that kills its supervisor and its guardian in the same
moment is found only by its control group, a mark in the environment or its working folder: without
control groups, a child that has rid itself of both goes on. A process that has become another user
cannot be killed by an ordinary one; it is named in `Outcome.left_running`, as is one stuck in the
kernel.
"""

from __future__ import annotations

import marshal
import os
import secrets
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import assay
from assay.errors import AssayError, BadInput
from assay.judge.bounded_output import STDERR_NAME, STDOUT_NAME
from assay.judge.process_tree import read_process
from assay.judge.result_file import is_plain_relative_path
from assay.judge.stragglers import Traces, kill_stragglers
from assay.judge.supervisor import SIZE_BYTES
from assay.judge.task import Invocation, Limits

Reason = Literal["exited", "signalled", "wall", "cpu", "memory", "output", "processes"]

GRACE_S = 0.5
# A supervisor that is this late is stuck; it may take most of that to end a tree that resists.
RESCUE_S = 15.0
LAST_WORDS_S = 5.0
TASK_MARK = "ASSAY_TASK"
KEPT_NAMES = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}
    | {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"}
)
_START = "import sys; sys.path.append(sys.argv[1]); from assay.judge.supervisor import main; main()"


class Stopped(AssayError):
    """The caller asked for the task to be stopped; it is over and has no outcome."""


@dataclass(frozen=True)
class Outcome:
    """How a task ended and what it used.

    `reason` is the first limit that was met, or else how the main process ended by itself;
    `exit_code` or `signal` is its end in any case, where it is known. `result` is the file as it
    stood at that moment, `result_in_time` whether it is there and no later change was seen,
    `result_problem` why a result that is there cannot be taken. The paths of stdout and stderr
    are None when the task deleted its folder.
    """

    reason: Reason
    exit_code: int | None
    signal: int | None
    wall_s: float
    cpu_s: float
    memory_mb: float
    stdout: Path | None
    stderr: Path | None
    result: bytes | None
    result_in_time: bool
    result_problem: str | None
    left_running: tuple[int, ...] = ()


def run_sandboxed(
    invocation: Invocation,
    folder: Path,
    limits: Limits,
    *,
    cores: Sequence[int] | None = None,
    stop: threading.Event | None = None,
    use_cgroups: bool = True,
) -> Outcome:
    """Run the command in `folder` until it ends or meets a limit; nothing of it goes on.

    `folder` is made if need be; a result from an earlier run must not lie there. `stop`, when set
    by another thread, ends the task and raises Stopped.
    """
    folder = folder.absolute()
    _refuse_unusable(invocation, folder)
    token = secrets.token_hex(12)
    try:
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{folder}: cannot make the task's folder ({error.strerror}); choose another"
        ) from None
    order: dict[str, Any] = {
        "runner": os.getpid(),
        "token": token,
        "command": list(invocation.command),
        "environment": _environment(invocation.environment, folder, token),
        "folder": str(folder),
        "result": invocation.result,
        "cores": None if cores is None else list(cores),
        "wall_s": limits.wall_s,
        "cpu_s": limits.cpu_s,
        "memory_mb": limits.memory_mb,
        "output_mb": limits.output_mb,
        "processes": limits.processes,
        "grace_s": GRACE_S,
        "rescue_s": RESCUE_S,
        "use_cgroups": use_cgroups,
    }
    started = time.monotonic()
    # The guardian gives the supervisor up first; this is for the guardian itself.
    answer = _supervise(order, folder, stop, started + limits.wall_s + GRACE_S + 2 * RESCUE_S)
    if stop is not None and stop.is_set():
        raise Stopped(f"{folder}: the task was stopped before it ended")
    # A supervisor whose guardian was killed says that it was stopped, though not by us.
    if answer is None or answer[0].get("reason") == "stopped":
        return _outcome_without_supervisor(time.monotonic() - started, limits)
    report, result = answer
    if "error" in report:
        raise BadInput(f"{folder}: {report['error']}")
    return _outcome(report, result, folder)


def _refuse_unusable(invocation: Invocation, folder: Path) -> None:
    if not is_plain_relative_path(invocation.result):
        raise BadInput(
            f"the result file {invocation.result!r} is not a plain path inside the task's folder; "
            "name it like 'result.txt'"
        )
    texts = (*invocation.command, *invocation.environment, *invocation.environment.values())
    if not invocation.command or any("\0" in text for text in texts):
        raise BadInput("the verifier's command is empty or holds a NUL character; correct it")
    if os.path.lexists(folder / invocation.result):
        raise BadInput(
            f"{folder / invocation.result}: there is a result already; give each task a new folder"
        )


def _environment(asked: Mapping[str, str], folder: Path, token: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in KEPT_NAMES}
    temporary = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder / "tmp"))
    return {"PATH": os.defpath, **kept, **temporary, **asked, TASK_MARK: token}


def _supervise(
    order: dict[str, Any], folder: Path, stop: threading.Event | None, give_up: float
) -> tuple[dict[str, Any], bytes] | None:
    """The supervisor's report and the result's bytes; None when it died or hung."""
    # -I and -S leave out the user's settings and site-packages: that is most of the start-up.
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, str(_code_root())]
    kept = {name: value for name, value in os.environ.items() if name in KEPT_NAMES}
    finished = False
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**kept, TASK_MARK: order["token"]},
        cwd="/",
        bufsize=0,
    ) as guardian:
        assert guardian.stdin is not None
        itself = read_process(guardian.pid)
        try:
            text = marshal.dumps(order)
            _tell(guardian.stdin, len(text).to_bytes(SIZE_BYTES, "little") + text)
            answer = _parse(_collect(guardian, stop, give_up))
            finished = answer is not None
        finally:
            # Also on Ctrl-C: the supervisor is told to end the task, and waited for.
            if not finished:
                _tell(guardian.stdin, b"\n")
                _end_guardian(guardian, patience_s=0.0 if time.monotonic() > give_up else 25.0)
                mark = f"{TASK_MARK}={order['token']}"
                since = 0 if itself is None else itself.started
                kill_stragglers(Traces(mark, order["token"], folder, since))
    if answer is None and guardian.returncode > 0:
        raise RuntimeError("the sandbox's supervisor failed; its own message is above")
    return answer


def _collect(
    guardian: subprocess.Popen[bytes], stop: threading.Event | None, give_up: float
) -> bytes:
    """All that the supervisor writes until it ends, is told to stop, or is too late."""
    assert guardian.stdout is not None
    descriptor = guardian.stdout.fileno()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    pieces: list[bytes] = []
    while time.monotonic() < give_up and not (stop is not None and stop.is_set()):
        # Asked before looking at the pipe: what was written last is then there to be seen.
        ended = guardian.poll()
        if poll.poll(0 if ended == 0 else 100):
            piece = os.read(descriptor, 1 << 20)
            if not piece:
                break
            pieces.append(piece)
        elif ended is None:
            _wake(guardian)
        elif ended < 0:
            # Someone killed it; its supervisor needs a moment to end the task.
            give_up = min(give_up, time.monotonic() + LAST_WORDS_S)
        else:
            # A process forked from this one meanwhile may hold the pipe open: do not wait for it.
            break
    return b"".join(pieces)


def _wake(guardian: subprocess.Popen[bytes]) -> None:
    """Let it go on when someone has stopped it."""
    try:
        if os.waitid(os.P_PID, guardian.pid, os.WSTOPPED | os.WNOHANG) is not None:
            guardian.send_signal(signal.SIGCONT)
    except ChildProcessError:
        return


def _parse(written: bytes) -> tuple[dict[str, Any], bytes] | None:
    result_at = SIZE_BYTES + int.from_bytes(written[:SIZE_BYTES], "little")
    if not SIZE_BYTES < result_at <= len(written):
        return None
    report: dict[str, Any] = marshal.loads(written[SIZE_BYTES:result_at])
    result = written[result_at:]
    return (report, result) if len(result) == (report.get("result_bytes") or 0) else None


def _tell(stream: IO[bytes], text: bytes) -> None:
    try:
        view = memoryview(text)
        while view:
            view = view[stream.write(view) :]
    except (BrokenPipeError, ValueError):
        return


def _end_guardian(guardian: subprocess.Popen[bytes], patience_s: float) -> None:
    try:
        guardian.wait(patience_s)
    except subprocess.TimeoutExpired:
        guardian.kill()
        guardian.wait()


def _code_root() -> Path:
    return Path(assay.__file__).resolve().parents[1]


def _outcome(report: Mapping[str, Any], result: bytes, folder: Path) -> Outcome:
    status: int | None = report["status"]
    exited = status is not None and os.WIFEXITED(status)
    signalled = status is not None and os.WIFSIGNALED(status)
    is_there = report["result_bytes"] is not None
    return Outcome(
        reason=report["reason"],
        exit_code=os.WEXITSTATUS(status) if status is not None and exited else None,
        signal=os.WTERMSIG(status) if status is not None and signalled else None,
        wall_s=report["wall_s"],
        cpu_s=report["cpu_s"],
        memory_mb=report["memory_mb"],
        stdout=folder / STDOUT_NAME if report["logs"] else None,
        stderr=folder / STDERR_NAME if report["logs"] else None,
        result=result if is_there else None,
        result_in_time=is_there and not report["result_late"],
        result_problem=report["result_problem"],
        left_running=tuple(report["left_running"]),
    )


def _outcome_without_supervisor(wall_s: float, limits: Limits) -> Outcome:
    """The task killed or froze its supervisor: nothing it left can be trusted or dated."""
    return Outcome(
        reason="signalled" if wall_s <= limits.wall_s else "wall",
        exit_code=None,
        signal=signal.SIGKILL,
        # Beyond the limit it was we who waited.
        wall_s=min(wall_s, limits.wall_s),
        cpu_s=0.0,
        memory_mb=0.0,
        stdout=None,
        stderr=None,
        result=None,
        result_in_time=False,
        result_problem="it killed or stopped the process that watched it, so nothing was measured",
    )
