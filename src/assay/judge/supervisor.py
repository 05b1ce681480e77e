"""The small process that stands over one task: it starts it, measures it and ends it all.

It runs as a bare Python (`-I -S`), which starts in a fraction of the time of a full one. It reads
an order from stdin and writes a report, then the bytes of the result file, to stdout; order and
report are dictionaries in `marshal` form (both ends are the same interpreter), after their size.
Anything more on stdin, or the death of the process above it, means: end the task now. That one is
its guardian (`guardian.py`), which ends the task if this process cannot.
"""
# The supervisor's start-up is paid for every task: modules as common as pathlib, signal and
# contextlib would more than double it.
# ruff: noqa: PTH123, SIM105

from __future__ import annotations

import errno
import marshal
import os
import resource
import select
import time

from assay.judge.bounded_output import BoundedOutput
from assay.judge.cgroups import TaskGroups, groups_of_task
from assay.judge.guardian import ENDING_PATIENCE_S, run_guarded
from assay.judge.launch import CannotStart, become_subreaper, launch
from assay.judge.process_tree import SIGTERM, MemoryGauge, ProcessTree
from assay.judge.result_file import read_result

MEGABYTE = 1 << 20
SIZE_BYTES = 8
SAMPLE_S = 0.02
SLOWEST_SAMPLE_S = 0.25
SIGXFSZ = 25
SAMPLING_SHARE = 0.05  # of one core goes into looking at /proc


class Order:
    """What the supervisor is told, key by key."""

    def __init__(
        self,
        *,
        runner: int,
        token: str,
        command: list[str],
        environment: dict[str, str],
        folder: str,
        result: str,
        cores: list[int] | None,
        wall_s: float,
        cpu_s: float | None,
        memory_mb: float,
        output_mb: float,
        processes: int,
        grace_s: float,
        rescue_s: float,
        use_cgroups: bool,
    ) -> None:
        self.runner = runner
        self.token = token
        self.command = command
        self.environment = environment
        self.folder = folder
        self.result = result
        self.cores = cores
        self.wall_s = wall_s
        self.cpu_s = cpu_s
        self.memory_bytes = int(memory_mb * MEGABYTE)
        self.output_bytes = int(output_mb * MEGABYTE)
        self.processes = processes
        self.grace_s = grace_s
        self.rescue_s = rescue_s
        self.use_cgroups = use_cgroups


class Supervision:
    """One task from start to the last of its processes."""

    def __init__(self, order: Order, guardian: int) -> None:
        self._order = order
        self._guardian = guardian
        self._main = 0
        self._started = time.monotonic()
        self._status: int | None = None
        self._wall_s = 0.0
        self._cpu_s = 0.0
        self._memory = MemoryGauge(order.memory_bytes)
        self._folder = os.open(order.folder, os.O_RDONLY | os.O_DIRECTORY)
        self._folder_mode = os.fstat(self._folder).st_mode & 0o7777
        self._output = BoundedOutput(order.output_bytes)
        become_subreaper()
        _go_first()
        self._tree = ProcessTree(os.getpid())
        self._groups = groups_of_task(order.token) if order.use_cgroups else TaskGroups({})
        self._groups.make()

    def run(self) -> tuple[dict[str, object], bytes]:
        """The report and the bytes of the result file."""
        try:
            return self._run()
        except BaseException:
            self._tree.end(self._reap, self._groups.kill, ENDING_PATIENCE_S)
            raise
        finally:
            self._groups.remove()

    def _run(self) -> tuple[dict[str, object], bytes]:
        order = self._order
        stdout, stderr = self._output.write_ends
        self._main = launch(
            order.command,
            order.environment,
            folder=self._folder,
            stdout=stdout,
            stderr=stderr,
            limits=self._process_limits(),
            cores=order.cores,
            join_groups=self._groups.join,
        )
        self._started = time.monotonic()
        self._output.close_write_ends()
        reason = self._watch()
        in_time = read_result(self._folder, order.result, order.output_bytes)
        if reason in ("wall", "cpu"):
            self._ask_to_end()
        self._tree.end(self._reap, self._groups.kill, ENDING_PATIENCE_S)
        self._output.drain()
        self._cpu_s = max(self._cpu_s, _reaped_cpu_s(), self._groups.cpu_s())
        if reason == "ended":
            reason = self._why_ended()
            late = reason == "wall"
        else:
            late = in_time != read_result(self._folder, order.result, order.output_bytes)
        # The task may have locked its folder against its owner.
        try:
            os.fchmod(self._folder, self._folder_mode)
        except OSError:
            pass
        result, problem = in_time if reason != "stopped" else (None, None)
        report: dict[str, object] = {
            "reason": reason,
            "status": self._status,
            "wall_s": self._wall_s,
            "cpu_s": self._cpu_s,
            "memory_mb": max(self._memory.peak_bytes, self._groups.memory_peak_bytes()) / MEGABYTE,
            "logs": self._output.save(self._folder, order.token),
            "result_bytes": None if result is None else len(result),
            "result_problem": problem,
            "result_late": late,
            "left_running": [each.pid for each in self._tree.members()] if self._reap() else [],
        }
        return report, result or b""

    def _process_limits(self) -> dict[int, int]:
        """Limits that the kernel keeps by itself, wider than the real ones.

        They bound what can happen between two looks at the tree, or if this process were starved.
        """
        order = self._order
        # Threads count here, so each process may have a few, and one a thread for every core.
        cores = os.cpu_count() or 1
        tasks = 2 * order.processes + 8 * cores
        limits = {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_FSIZE: max(order.memory_bytes, order.output_bytes),
            # It counts all threads of the user, so those there already have to be added, and
            # those of other tasks that may start meanwhile.
            resource.RLIMIT_NPROC: _threads_on_machine() + cores * tasks,
        }
        if not self._groups.limit(order.memory_bytes, tasks):
            limits[resource.RLIMIT_DATA] = 2 * order.memory_bytes + 1024 * MEGABYTE
        return limits

    def _watch(self) -> str:
        """Wait until the main process ends (`ended`) or something is exceeded (its name)."""
        order = self._order
        poll = select.poll()
        for descriptor in (0, *self._output.read_ends):
            poll.register(descriptor, select.POLLIN)
        try:
            poll.register(os.pidfd_open(self._main), select.POLLIN)
        except OSError:
            pass  # a kernel older than 5.3: the end is then seen at the next sample
        deadline = self._started + order.wall_s
        next_sample = self._started + SAMPLE_S / 2
        while True:
            pause_s = max(0.0, min(deadline, next_sample) - time.monotonic())
            ready = [descriptor for descriptor, _ in poll.poll(pause_s * 1000 + 0.5)]
            now = time.monotonic()
            self._wall_s = now - self._started
            self._reap()
            for descriptor in self._output.read(ready):
                poll.unregister(descriptor)
            if 0 in ready or os.getppid() != self._guardian:
                return "stopped"
            if self._status is not None:
                return "ended"
            if now >= deadline:
                return "wall"
            if self._output.overflowed:
                return "output"
            if now >= next_sample:
                exceeded = self._sample()
                if exceeded is not None:
                    return exceeded
                cost = time.monotonic() - now
                next_sample = now + min(max(SAMPLE_S, cost / SAMPLING_SHARE), SLOWEST_SAMPLE_S)

    def _sample(self) -> str | None:
        """Measure the tree; the name of what it exceeds."""
        order = self._order
        processes = self._tree.members()
        cpu_s = _reaped_cpu_s() + sum(process.cpu_s for process in processes)
        self._cpu_s = max(self._cpu_s, cpu_s, self._groups.cpu_s())
        # Looking at memory may wait for a process that is forking: a fork bomb is told first.
        if len(processes) > order.processes:
            return "processes"
        self._memory.look(processes)
        return self._exceeded()

    def _exceeded(self) -> str | None:
        order = self._order
        if self._memory.peak_bytes > order.memory_bytes or self._groups.ran_out_of_memory():
            return "memory"
        if order.cpu_s is not None and self._cpu_s > order.cpu_s:
            return "cpu"
        return None

    def _ask_to_end(self) -> None:
        """SIGTERM to everyone, and a moment to obey; what is written meanwhile is too late."""
        self._tree.send(SIGTERM)
        give_up = time.monotonic() + self._order.grace_s
        while self._reap() and time.monotonic() < give_up:
            if os.getppid() != self._guardian:
                return
            # Someone who waits for room in the pipe could not end in an orderly way.
            self._output.drain()
            time.sleep(0.005)

    def _why_ended(self) -> str:
        """The reason for a main process that ended by itself, or for a limit seen only now."""
        if self._wall_s > self._order.wall_s:
            return "wall"
        exceeded = self._exceeded()
        if exceeded is not None:
            return exceeded
        status = self._status or 0
        too_large_file = os.WIFSIGNALED(status) and os.WTERMSIG(status) == SIGXFSZ
        if self._output.overflowed or too_large_file:
            return "output"
        return "signalled" if os.WIFSIGNALED(status) else "exited"

    def _reap(self) -> bool:
        """Take in all dead children; whether there is any other child."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self._memory.add(usage.ru_maxrss * 1024)
            # Its number may come back: a later process that gets it is not the main one.
            if pid == self._main and self._status is None:
                self._status = status


def _go_first() -> None:
    """Ask never to wait for the CPU behind the task: hundreds of busy processes could starve us.

    Only root may; what we start has the ordinary priority again.
    """
    try:
        policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))
    except OSError:
        pass


def _reaped_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _threads_on_machine() -> int:
    with open("/proc/loadavg", encoding="ascii") as stream:
        return int(stream.read().split()[3].split("/")[1])


def main() -> None:
    """Carry out the order under a guardian, and leave without tidying up: that takes time."""
    size = int.from_bytes(_read_exactly(SIZE_BYTES), "little")
    order = Order(**marshal.loads(_read_exactly(size)))
    guardian = os.getpid()
    late_s = order.wall_s + order.grace_s + order.rescue_s
    run_guarded(lambda: _carry_out(order, guardian), order.runner, order.token, late_s)


def _carry_out(order: Order, guardian: int) -> None:
    """Run the task and say how it went."""
    result = b""
    try:
        report, result = Supervision(order, guardian).run()
    except CannotStart as error:
        report = {"error": f"{error}; check that the verifier is installed and its command right"}
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "free some space" if full else "check that it can be written to"
        report = {"error": f"cannot keep the task's files ({error.strerror or error}); {remedy}"}
    text = marshal.dumps(report)
    answer = memoryview(len(text).to_bytes(SIZE_BYTES, "little") + text + result)
    try:
        while answer:
            answer = answer[os.write(1, answer) :]
    except BrokenPipeError:
        return  # the runner is gone, and nobody is left to tell


def _read_exactly(size: int) -> bytes:
    text = b""
    while len(text) < size:
        piece = os.read(0, size - len(text))
        if not piece:
            os._exit(0)  # the runner died before it had said what to do
        text += piece
    return text
