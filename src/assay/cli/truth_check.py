"""Commands that use truths have them verified first, and show how far the checker is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.cli.output import shown_progress

if TYPE_CHECKING:
    from assay.suite.folder import BenchmarkFolder
    from assay.suite.proved_truths import Hashes


def verify_truths(folder: BenchmarkFolder) -> Hashes:
    """Refuse a folder with a truth that the checker does not verify; silent where all is known.

    Return the hashes of the questions, for whoever needs them next.
    """
    from assay.suite.proved_truths import proved_truths, question_hashes

    hashes = question_hashes(folder)
    with shown_progress("check") as watcher:
        proved_truths(folder, hashes, watcher)
    return hashes
