"""Commands that use truths have them verified first, and show how far the checker is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.cli.output import shown_progress

if TYPE_CHECKING:
    from assay.suite.folder import BenchmarkFolder


def verify_truths(folder: BenchmarkFolder) -> None:
    """Refuse a folder with a truth that the checker does not verify; silent where all is known."""
    from assay.suite.proved_truths import proved_truths

    with shown_progress("check") as watcher:
        proved_truths(folder, watcher=watcher)
