"""What `assay roma` prints: the count and its interval first, RoMA's number as what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.analyse.asked import Asked
from assay.analyse.roma_classes import ClassResult, InputResult, Surroundings, most_warned
from assay.analyse.roma_counted import RateInterval, RomaCounted, RomaSettings
from assay.cli.asked_options import PointOptions
from assay.cli.asked_view import print_warnings
from assay.cli.output import print_json, print_line, print_table
from assay.cli.roma_document import data_set_document, input_document

_MOST_ROWS = 50


def show_input(
    asked: Asked,
    found: RomaCounted,
    settings: RomaSettings,
    options: PointOptions,
    seconds: float,
    as_json: bool,
) -> None:
    if as_json:
        print_json(input_document(asked, found, settings, options, seconds))
        return
    for line in _sentences(found, settings):
        print_line(line)
    print_warnings(asked)
    print_line(f"{asked.region.measure}; {seconds:.2f} s.")


def show_inputs(
    results: Sequence[InputResult],
    classes: Sequence[ClassResult],
    settings: RomaSettings,
    options: PointOptions,
    surroundings: Surroundings,
    seconds: float,
    as_json: bool,
) -> None:
    if as_json:
        print_json(data_set_document(results, classes, settings, options, surroundings, seconds))
        return
    header = ("input", "label", "says", "failed", "rate is in", "RoMA's rate", "by", "note")
    rows = [_row(r, settings) for r in results[:_MOST_ROWS]]
    print_table(f"{options.where}: {settings.samples:,} random inputs around each", header, rows)
    if len(results) > _MOST_ROWS:
        print_line(f"{len(results) - _MOST_ROWS} more inputs are in the means, and in --json.")
    _show_classes(classes, settings)
    for line in _data_set_sentences(results, settings, surroundings, options.where):
        print_line(line)
    print_warnings(most_warned(results))
    print_line(f"{results[0].asked.region.measure}, around each input; {seconds:.2f} s.")


def _show_classes(classes: Sequence[ClassResult], settings: RomaSettings) -> None:
    header = ("class", "inputs", "misclassified", "normal", "mean plr is in", "counted", "RoMA")
    rows = [
        (
            "all" if c.label is None else str(c.label),
            c.inputs,
            c.misclassified,
            f"{c.accepted / c.inputs:.0%}",
            f"[{1 - c.counted.upper:.5f}, {1 - c.counted.lower:.5f}]",
            f"{1 - c.counted.rate:.5f}",
            f"{1 - c.roma_failure_rate:.5f}",
        )
        for c in classes
    ]
    print_table("classes: means over their inputs", header, rows)
    print_line(
        f"Each interval covers the mean over the inputs given with {settings.confidence:.4g} "
        "confidence (Clopper-Pearson on pooled counts, by a theorem of Hoeffding)."
    )
    apart = ["all" if c.label is None else str(c.label) for c in classes if c.disagrees]
    if apart:
        print_line(f"RoMA's mean lies outside the interval of: {', '.join(apart)}.")


def _sentences(found: RomaCounted, settings: RomaSettings) -> Iterator[str]:
    count = found.counted
    if settings.eps is not None:
        yield f"{_verdict(count, settings.eps)} at eps = {settings.eps:g}, by the count alone."
    yield (
        f"counted: {count.failures:,} of {count.trials:,} random inputs fail; failure rate in "
        f"[{count.lower:.4g}, {count.upper:.4g}], plr in [{1 - count.upper:.6g}, "
        f"{1 - count.lower:.6g}] with {settings.confidence:.4g} confidence (Clopper-Pearson)."
    )
    yield _extrapolation(found)
    yield from _warnings(found)


def _extrapolation(found: RomaCounted) -> str:
    roma = found.extrapolation
    if not roma.accepted:
        return f"RoMA: no estimate; {roma.reason}. The count stands in for it."
    test = roma.plain if roma.basis == "normal" else roma.transformed
    assert test is not None
    how = "a normal law"
    if roma.transform is not None:
        how += f" after Box-Cox (lambda {roma.transform.power:.3g})"
    return (
        f"RoMA: plr {1 - found.failure_rate:.6g}, failure rate {found.failure_rate:.3g}: an "
        f"extrapolation of {how}, with no guarantee (Anderson-Darling A^2 {test.statistic:.3g}, "
        f"p {test.p_value:.2g})."
    )


def _warnings(found: RomaCounted) -> Iterator[str]:
    count, claimed = found.counted, found.failure_rate
    if found.disagrees:
        side = "fewer" if claimed < count.lower else "more"
        yield (
            f"RoMA disagrees with the count: it claims {side} failures than the interval allows. "
            "Believe the interval."
        )
    elif found.unconfirmed:
        yield (
            f"{count.trials:,} inputs cannot show a failure rate of {claimed:.2g}: RoMA's number "
            f"rests on its law alone, and the count allows a rate of up to {count.upper:.2g}."
        )
    if found.reached != count.failures:
        yield (
            f"The highest incorrect score is below {found.threshold:g} for "
            f"{count.trials - found.reached:,} inputs, but only {count.trials - count.failures:,} "
            "keep their class: with more than two classes this is not the same; take --score "
            "margin."
        )


def _row(result: InputResult, settings: RomaSettings) -> tuple[object, ...]:
    found = result.result
    count = found.counted
    notes = []
    if settings.eps is not None:
        notes.append(_verdict(count, settings.eps))
    if found.disagrees:
        notes.append("RoMA disagrees")
    if not found.extrapolation.accepted:
        notes.append(found.extrapolation.reason)
    return (
        result.name,
        result.label,
        result.predicted,
        count.failures,
        f"[{count.lower:.3g}, {count.upper:.3g}]",
        f"{found.failure_rate:.3g}",
        found.extrapolation.basis,
        "; ".join(notes),
    )


def _data_set_sentences(
    results: Sequence[InputResult],
    settings: RomaSettings,
    surroundings: Surroundings,
    where: Path,
) -> Iterator[str]:
    found = [r.result for r in results]
    if settings.eps is not None:
        said = [_verdict(r.counted, settings.eps) for r in found]
        numbers = ", ".join(f"{said.count(v)} {v}" for v in ("robust", "not robust", "undecided"))
        yield (
            f"{where}: {numbers} at eps = {settings.eps:g}, by the counts alone; each interval "
            f"holds with {settings.confidence:.4g} confidence by itself."
        )
    silent = sum(not r.extrapolation.accepted for r in found)
    if silent:
        yield (
            f"{silent} of {len(found)} inputs have no normal scores; there the count stands in, "
            "and none is left out of a mean."
        )
    apart = sum(r.disagrees for r in found)
    if apart:
        yield f"RoMA disagrees with the interval at {apart} of {len(found)} inputs."
    differing = sum(r.reached != r.counted.failures for r in found)
    if differing:
        yield (
            f"At {differing} of {len(found)} inputs some class changes although the highest "
            "incorrect score stays below 0.5; take --score margin."
        )
    wrong = sum(r.predicted != r.label for r in results)
    if wrong and surroundings.keeping == "prediction":
        yield (
            f"{wrong} of {len(results)} inputs are misclassified, and kept where they stay so; "
            "--keep label counts them as failures."
        )
    yield "RoMA's numbers are extrapolations, with no guarantee."


def _verdict(count: RateInterval, eps: float) -> str:
    said = count.verdict(eps)
    return "undecided" if said is None else said.value
