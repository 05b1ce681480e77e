"""An explanation on a terminal: how each component separates, then what that says."""

from __future__ import annotations

from assay.cli.output import print_line, print_table
from assay.difficulty.components import COMPONENTS
from assay.difficulty.explanation import Explanation, Separation, VerifierExplanation
from assay.difficulty.failing import listed

_STEPS = 20
_MOST_NAMES = 5


def show_explanation(explanation: Explanation) -> None:
    compared = [verifier for verifier in explanation.verifiers if verifier.separations]
    if compared:
        title = (
            f"{explanation.benchmark}: AUC of unsolved against solved instances, "
            f"{explanation.confidence:.0%} interval (bar: 0 to 1, 0.5 in the middle)"
        )
        header = ("verifier", "component", "AUC", "interval", "", "unsolved go with")
        print_table(title, header, [row for verifier in compared for row in _rows(verifier)])
    for verifier in explanation.verifiers:
        _show_diagnosis(verifier)
    _show_without_profile(explanation.without_profile)


def _rows(verifier: VerifierExplanation) -> list[tuple[str, ...]]:
    return [
        (
            verifier.verifier if number == 0 else "",
            separation.component,
            f"{separation.auc:.2f}",
            f"{separation.low:.2f} to {separation.high:.2f}",
            bar(separation),
            direction(separation),
        )
        for number, separation in enumerate(verifier.separations)
    ]


def bar(separation: Separation) -> str:
    """The interval as a line, the AUC as a dot on it, and a mark at one half."""
    low, found, high = (
        round(share * _STEPS) for share in (separation.low, separation.auc, separation.high)
    )
    cells = ["─" if low <= step <= high else " " for step in range(_STEPS + 1)]
    cells[_STEPS // 2] = "┼" if low <= _STEPS // 2 <= high else "│"
    cells[found] = "●"
    return "".join(cells)


def direction(separation: Separation) -> str:
    """Which end of the component the unsolved ones are at, and whether that is the hard one."""
    if not separation.clear:
        return "unclear"
    end = "large" if separation.auc > 0.5 else "small"
    component = next(c for c in COMPONENTS if c.name == separation.component)
    expected = "" if end == component.harder_when else ", the easy ones"
    return f"{end} values{expected}"


def _show_diagnosis(verifier: VerifierExplanation) -> None:
    print_line(f"{verifier.verifier} ({counts_line(verifier)}):")
    print_line(f"  {verifier.diagnosis.sentence}.")
    for detail in verifier.diagnosis.details:
        print_line(f"  - {detail}")


def counts_line(verifier: VerifierExplanation) -> str:
    """What was solved, and what was not, in the judge's words: `7 solved, 9 unknown`."""
    late = [verifier.words[n] for n, found in verifier.outcomes.items() if found == "unsolved"]
    return ", ".join([f"{verifier.count('solved')} solved", listed(late) or "0 unsolved"])


def _show_without_profile(names: tuple[str, ...]) -> None:
    if names:
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        shown = ", ".join(names[:_MOST_NAMES])
        print_line(f"Without a profile, and not counted: {len(names)} ({shown}{more}).")
