"""What `assay weakened` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.analyse.asked import Asked
from assay.analyse.decision import Decision, Verdict
from assay.analyse.weakened.curving import DECISIONS, DOCUMENT, TABLE, Curve, document_of
from assay.analyse.weakened.decide import Decided
from assay.analyse.weakened.radius import Radius, Search, Step
from assay.cli.asked_options import PointOptions
from assay.cli.asked_view import asked_document, asked_sentence, print_warnings
from assay.cli.exact_numbers import outward_interval
from assay.cli.output import print_json, print_line, print_table, told_progress
from assay.report.curve_chart import curve_chart
from assay.store.whole_file import write_whole

PICTURE = "curve.svg"


@contextmanager
def sample_progress() -> Iterator[Callable[[Sequence[Decision]], None]]:
    """Samples and failures so far, on stderr."""
    with told_progress("weakened") as say:

        def heard(decisions: Sequence[Decision]) -> None:
            first = decisions[0]
            say(f"{first.samples:,} samples, {first.failures:,} failures")

        yield heard


@contextmanager
def step_progress(search: Search) -> Iterator[Callable[[Step], None]]:
    """Radii so far, on stderr."""
    with told_progress("radius") as say:
        done = 0

        def heard(step: Step) -> None:
            nonlocal done
            done += 1
            said = _verdict(step.decided)
            say(f"{done} of at most {search.decisions}: {step.radius:g} is {said}")

        yield heard


def show_decided(
    asked: Asked, found: Decided, options: PointOptions, budget: int, as_json: bool
) -> None:
    if as_json:
        print_json({**asked_document(asked, options), "budget": budget, **_decided_document(found)})
        return
    rule = found.rule
    promise = rule.promise
    print_line(f"{_verdict(found)} at eps = {promise.eps:g}")
    print_line(_counts(found))
    print_line(
        f"failure rate in {outward_interval(*found.interval)} with probability "
        f"{1 - rule.interval_error:g}, whenever sampling stops"
    )
    print_line(_promised(found))
    if note := _interval_note(found):
        print_line(note)
    print_warnings(asked)
    print_line(asked_sentence(asked))


def _promised(found: Decided) -> str:
    promise = found.rule.promise
    if not found.rule.holds:
        return f"WARNING: the error bound of this verdict does not hold. {found.rule.theorem}"
    if found.verdict is None:
        return "No verdict: raise --budget, or eps - eps'."
    return (
        f"errors: at most {promise.beta:g} where 'robust' is said and the rate is {promise.eps:g} "
        f"or more, at most {promise.alpha:g} where 'not robust' is said and it is "
        f"{promise.eps_inner:g} or less ({found.rule.name})"
    )


def _interval_note(found: Decided) -> str:
    """Why the verdict and the interval seem to disagree; empty where they do not."""
    promise = found.rule.promise
    low, high = found.interval
    if not found.rule.holds:
        return ""  # the warning says what is wrong
    if found.verdict is Verdict.NOT_ROBUST and low < promise.eps:
        ruled_out = (
            f"rules out rates of eps' = {promise.eps_inner:g} or less, not rates between eps' and "
            "eps, where either verdict is right"
        )
        said = f"reaches below eps = {promise.eps:g} although the verdict is 'not robust'"
    elif found.verdict is Verdict.ROBUST and high >= promise.eps:
        ruled_out = f"rules out rates of eps = {promise.eps:g} or more"
        said = f"reaches eps = {promise.eps:g} although the verdict is 'robust'"
    else:
        return ""
    return (
        f"The interval {said}. That is no contradiction, for they are two statements with errors "
        f"of their own: the verdict {ruled_out}; the interval says where the rate lies, and is "
        "valid at any stopping time."
    )


def _counts(found: Decided) -> str:
    share = found.model_seconds / found.seconds if found.seconds else 0.0
    return (
        f"{found.failures:,} of {found.samples:,} random inputs fail; {found.seconds:.2f} s, "
        f"{share:.0%} of it in the model"
    )


def show_radius(
    asked: Asked, narrowest: Asked, found: Radius, options: PointOptions, as_json: bool
) -> None:
    """`asked` at the largest radius, and `narrowest` at the smallest, which needs finer numbers."""
    if as_json:
        warnings = {"warnings": list(narrowest.warnings)}
        print_json({**asked_document(asked, options), **warnings, **_radius_document(found)})
        return
    promise = found.search.promise
    header = ("radius", "for", "verdict", "failures", "samples", "rate is in")
    rows = [
        (
            f"{s.radius:.6g}",
            s.why,
            _verdict(s.decided),
            s.decided.failures,
            s.decided.samples,
            "[{:.3g}, {:.3g}]".format(*s.decided.interval),
        )
        for s in found.steps
    ]
    print_table("radii tried", header, rows)
    if found.radius == 0:
        print_line(f"No radius tried is robust at eps = {promise.eps:g}.")
    else:
        again = (
            "confirmed on fresh samples" if found.confirmed else "NOT confirmed on fresh samples"
        )
        turned = "" if found.turns_at is None else f", and {found.turns_at:.6g} is not called so"
        print_line(f"{found.radius:.6g} is robust at eps = {promise.eps:g} ({again}){turned}.")
    for sentence in found.sentences:
        print_line(sentence)
    notes = [note for step in found.steps if (note := _interval_note(step.decided))]
    for note in notes[:1]:
        print_line(note)
    print_warnings(narrowest)


def show_curve(found: Curve, folder: Path | None, as_json: bool) -> None:
    if folder is not None:
        title = f"{found.head['model']}, norm {found.head['norm']}, {found.head['points']} inputs"
        write_whole(folder / PICTURE, curve_chart(found.points, title).encode())
    if as_json:
        print_json(document_of(found))
        return
    header = ("eps", "radius", "robust", "undecided", "inputs", "share", "at least", "at most")
    rows = [
        (
            f"{p.promise.eps:g}",
            f"{p.radius:g}",
            p.robust,
            p.undecided,
            p.inputs,
            f"{p.share:.1%}",
            f"{p.least_below_eps:.1%}",
            f"{p.most_below_inner:.1%}",
        )
        for p in found.points
    ]
    print_table("robustness curve", header, rows)
    if not found.promise_holds:
        print_line("WARNING: this rule's error bound does not hold, so nothing bounds the shares.")
    print_line(
        "Lower bound: the share of the population with a rate below eps; upper bound: that with "
        f"eps' or less. Each row holds by itself with confidence {found.head['confidence']:g}."
    )
    for warning in found.checks["warnings"]:
        print_line(f"WARNING: {warning}")
    if folder is not None:
        names = ", ".join(str(folder / name) for name in (TABLE, PICTURE, DOCUMENT, DECISIONS))
        before = f"; {found.already} decisions were known before" if found.already else ""
        print_line(f"{names}: {found.seconds:.1f} s{before}.")


def _verdict(found: Decided) -> str:
    return "undecided" if found.verdict is None else found.verdict.value


def _decided_document(found: Decided) -> dict[str, Any]:
    return {
        "verdict": _verdict(found),
        "samples": found.samples,
        "failures": found.failures,
        "interval": list(found.interval),
        "interval_note": _interval_note(found) or None,
        "method": found.rule.name,
        "promise": asdict(found.rule.promise),
        "promise_holds": found.rule.holds,
        "theorem": found.rule.theorem,
        "drawn": found.drawn,
        "seconds": round(found.seconds, 4),
        "model_seconds": round(found.model_seconds, 4),
    }


def _radius_document(found: Radius) -> dict[str, Any]:
    search = found.search
    return {
        "radius": found.radius,
        "turns_at": found.turns_at,
        "confirmed": found.confirmed,
        "robust_above": list(found.robust_above),
        "not_robust_below": list(found.not_robust_below),
        "budget": search.budget,
        "upto": search.upto,
        "precision": search.precision,
        "promise": asdict(search.promise),
        "each_decision": asdict(search.each),
        "says": list(found.sentences),
        "steps": [
            {"radius": s.radius, "for": s.why, **_decided_document(s.decided)} for s in found.steps
        ],
    }
