"""What a task prints, taken through pipes and kept up to a size; the rest is counted and dropped.

The text stays in memory until the task is over, so that the task cannot touch it.
"""
# The supervisor's start-up is paid for every task: modules as common as pathlib, signal and
# contextlib would more than double it.
# ruff: noqa: PTH123, SIM105

from __future__ import annotations

import os

STDOUT_NAME = "stdout.txt"
STDERR_NAME = "stderr.txt"


class BoundedOutput:
    """The two streams of a task, kept up to `most_bytes` together."""

    def __init__(self, most_bytes: int) -> None:
        self._room = most_bytes
        self.overflowed = False
        ends = [os.pipe2(os.O_CLOEXEC) for _ in range(2)]
        self._kept = {read: bytearray() for read, _ in ends}
        self._open = [read for read, _ in ends]
        self.read_ends = tuple(self._open)
        self.write_ends = tuple(write for _, write in ends)
        for read in self._open:
            os.set_blocking(read, False)

    def close_write_ends(self) -> None:
        """Once the task has its own copies: the end of the stream is seen only without ours."""
        for write in self.write_ends:
            os.close(write)

    def read(self, ready: list[int]) -> list[int]:
        """Take one piece from each stream that is ready; those that came to their end."""
        due = [descriptor for descriptor in self._open if descriptor in ready]
        return [descriptor for descriptor in due if not self._take(descriptor)]

    def drain(self) -> None:
        """Take what is there now without waiting, for at most a few pipes' worth.

        Whoever still holds the other end may write for ever; the bound keeps us from following.
        """
        for descriptor in list(self._open):
            for _ in range(64):
                try:
                    if not self._take(descriptor):
                        break
                except BlockingIOError:
                    break

    def save(self, folder: int, token: str) -> bool:
        """Write both texts into the folder (an open directory); False when it was deleted.

        Whatever the task put in the way, a link for instance, is moved aside and never followed.
        """
        for name, text in zip((STDOUT_NAME, STDERR_NAME), self._kept.values(), strict=True):
            try:
                os.rename(name, f"{name}.{token}", src_dir_fd=folder, dst_dir_fd=folder)
            except FileNotFoundError:
                pass
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            try:
                descriptor = os.open(name, flags, 0o644, dir_fd=folder)
            except FileNotFoundError:
                return False
            with open(descriptor, "wb") as stream:
                stream.write(text)
        return True

    def _take(self, descriptor: int) -> bool:
        """Read a piece; False at the end of the stream, which is then closed."""
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            os.close(descriptor)
            self._open.remove(descriptor)
            return False
        self._kept[descriptor] += piece[: self._room]
        self.overflowed = self.overflowed or len(piece) > self._room
        self._room = max(0, self._room - len(piece))
        return True
