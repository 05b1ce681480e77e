"""Which version of its source a folder holds, read from its git folder without running git."""

from __future__ import annotations

from pathlib import Path

_SHORT = 12


def source_version(folder: Path) -> str | None:
    """`commit ...` when the folder is a git checkout, else None."""
    git = folder / ".git"
    try:
        if git.is_file():  # a submodule or a worktree says where its git folder lies
            git = (
                folder / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            ).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return f"commit {head[:_SHORT]}"
        name = head.removeprefix("ref:").strip()
        if (git / name).is_file():
            return f"commit {(git / name).read_text(encoding='utf-8').strip()[:_SHORT]}"
        for line in (git / "packed-refs").read_text(encoding="utf-8").splitlines():
            commit, _, found = line.partition(" ")
            if found == name:
                return f"commit {commit[:_SHORT]}"
    except (OSError, UnicodeDecodeError):
        pass
    return None
