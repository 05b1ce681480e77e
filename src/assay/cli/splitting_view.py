"""What `assay splitting` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from assay.analyse.asked import Asked
from assay.analyse.splitting import CONFIDENCE, NO_GUARANTEE, Splitting, SplittingSettings, Stage
from assay.cli.asked_options import PointOptions
from assay.cli.asked_view import asked_document, asked_sentence, print_warnings
from assay.cli.output import print_json, print_line, told_progress

_UNSURE = 0.3
"""Beyond this relative standard error, its own size is guesswork."""
_ENDED = {
    "failed": "reached failures",
    "stuck": "stuck on a plateau, where margins show no way down",
    "limit": "stopped at the smallest probability asked for",
}


@contextmanager
def stage_progress() -> Iterator[Callable[[Stage], None]]:
    """Levels so far, on stderr."""
    with told_progress("splitting") as say:

        def watch(stage: Stage) -> None:
            say(
                f"level {stage.level}, share {stage.share:.1e}, lowest margin {stage.lowest:.4g}, "
                f"{stage.walking} repeats walking, {stage.queries:,} queries"
            )

        yield watch


def show_splitting(
    asked: Asked,
    found: Splitting,
    settings: SplittingSettings,
    options: PointOptions,
    as_json: bool,
) -> None:
    if as_json:
        print_json(_document(asked, found, settings, options))
        return
    print_line(_headline(found))
    print_line(f"This is {NO_GUARANTEE}.")
    ends = ", ".join(f"{count} {_ENDED[ending]}" for ending, count in found.endings.items())
    print_line(f"{len(found.repeats)} repeats of {settings.particles:,} particles: {ends}.")
    for warning in _warnings(found):
        print_line(f"WARNING: {warning}")
    print_warnings(asked)
    low, high = found.counted
    print_line(
        f"Proved with confidence {CONFIDENCE:.0%}, by {found.failures:,} failures of the "
        f"{found.drawn:,} independent points at the start: failure rate in [{low:.3g}, {high:.3g}]."
    )
    share = found.model_seconds / found.seconds if found.seconds else 0.0
    print_line(
        f"{found.queries:,} queries; {found.seconds:.2f} s, {share:.0%} of it in the model; "
        f"lowest margin {found.lowest:.4g}"
    )
    print_line(asked_sentence(asked))


def _headline(found: Splitting) -> str:
    error = found.relative_error
    if error is None:
        return f"ESTIMATE: below {found.below:.2g}, nothing found; lowest margin {found.lowest:.4g}"
    return f"ESTIMATE: failure rate {found.estimate:.3g}, relative standard error {error:.1%}"


def _warnings(found: Splitting) -> Iterator[str]:
    stuck = found.endings.get("stuck", 0)
    if stuck:
        yield (
            f"{stuck} of {len(found.repeats)} repeats found no slope, so failures may be likelier "
            "than this by any factor; raise --particles, or take assay count or assay weakened."
        )
    limit = found.endings.get("limit", 0)
    if limit:
        yield (
            f"{limit} of {len(found.repeats)} repeats followed margins to where nothing fails; "
            "failures elsewhere, which no slope led to, are not in the estimate."
        )
    low, high = found.counted
    if found.found and not low <= found.estimate <= high:
        yield "the estimate is not in the proved interval; trust the interval."
    error = found.relative_error
    if error is not None and error > _UNSURE:
        yield "the standard error itself is unsure; raise --particles or --steps."


def _document(
    asked: Asked, found: Splitting, settings: SplittingSettings, options: PointOptions
) -> dict[str, Any]:
    return {
        **asked_document(asked, options),
        "result": "estimate",
        "guarantee": f"none: {NO_GUARANTEE}",
        "settings": asdict(settings),
        "estimate": found.estimate if found.found else None,
        "relative_standard_error": found.relative_error,
        "below": None if found.found else found.below,
        "counted": {
            "points": found.drawn,
            "failures": found.failures,
            "confidence": CONFIDENCE,
            "interval": list(found.counted),
        },
        "lowest_margin": found.lowest,
        "endings": found.endings,
        "warnings": [*asked.warnings, *_warnings(found)],
        "repeats": [asdict(repeat) for repeat in found.repeats],
        "queries": found.queries,
        "seconds": found.seconds,
        "model_seconds": found.model_seconds,
    }
