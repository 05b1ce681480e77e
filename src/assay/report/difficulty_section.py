"""What the section "Why tools leave instances unsolved" prints: words, cards and drawings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from assay.difficulty.components import COMPONENTS
from assay.difficulty.explanation import Explanation, Trajectory, VerifierExplanation
from assay.difficulty.failing import listed
from assay.report.banner import Segment
from assay.report.difficulty_charts import auc_chart, interaction_chart
from assay.report.drawing import tool_color
from assay.report.embed import script_json
from assay.report.knob_axis import trajectory_title
from assay.report.trajectory_chart import OUTCOMES, instance_words, trajectory_chart

_MOST_NAMES = 5
_MOST_STEPS = 5000
Pair = tuple[str, str]


def section(explanation: Explanation) -> dict[str, Any]:
    """Values for the template `why.html.j2`; all drawings take their colours from the page."""
    verifiers = explanation.verifiers
    points = {point.instance: point for point in explanation.points}
    pairs = _pairs(explanation)
    trajectories = _shown(explanation) if points else []
    return {
        "summary": _summary(explanation),
        "remarks": _remarks(explanation),
        "not_shown": len(explanation.trajectories) - len(trajectories),
        "cards": [_card(v, tool_color(n, page=True), pairs) for n, v in enumerate(verifiers)],
        "components": COMPONENTS,
        "confidence": f"{explanation.confidence:.0%}",
        "auc": [
            Markup(auc_chart(verifiers, explanation.confidence, page=True, narrow=narrow))
            for narrow in (False, True)
            if points
        ],
        "verifiers": [verifier.verifier for verifier in verifiers],
        "pairs": [f"{x} × {y}" for x, y in pairs],
        "maps": [
            {
                "verifier": number,
                "pair": pairs[found.x, found.y],
                "svg": Markup(interaction_chart(found, verifier.verifier, page=True)),
            }
            for number, verifier in enumerate(verifiers)
            for found in verifier.maps
        ],
        "words": Markup(
            script_json([instance_words(point, verifiers) for point in points.values()])
        ),
        "titles": [trajectory_title(trajectory) for trajectory in trajectories],
        "trajectories": [
            {
                "title": trajectory_title(trajectory),
                "svg": Markup(trajectory_chart(trajectory, points, verifiers, page=True)),
            }
            for trajectory in trajectories
        ],
    }


def _pairs(explanation: Explanation) -> dict[Pair, int]:
    """Every pair that some verifier has a map of, numbered in the order of the first one's."""
    found = [(m.x, m.y) for verifier in explanation.verifiers for m in verifier.maps]
    return {pair: number for number, pair in enumerate(dict.fromkeys(found))}


def _shown(explanation: Explanation) -> list[Trajectory]:
    """As many as a small page can hold: the first of every family, then the second, and so on."""
    place = Counter[str]()
    ranked = []
    for number, trajectory in enumerate(explanation.trajectories):
        ranked.append((place[trajectory.family], number, trajectory))
        place[trajectory.family] += 1
    room = max(_MOST_STEPS, len(explanation.points))
    chosen: list[int] = []
    for _, number, trajectory in sorted(ranked, key=lambda entry: entry[:2]):
        room -= len(trajectory.instances)
        if room >= 0 or not chosen:
            chosen.append(number)
    return [explanation.trajectories[number] for number in sorted(chosen)]


def _summary(explanation: Explanation) -> str:
    count = len(explanation.points)
    return (
        f"Five numbers describe how difficult an instance is; here they are held against what "
        f"became of {count:,} instance{'' if count == 1 else 's'}. Unsolved means timeout, unknown "
        "or out of memory; each card says which. Intervals hold at "
        f"{explanation.confidence:.0%}; each is the hull of three, a score interval, an exact one, "
        f"and a bootstrap of {explanation.resamples:,} samples (seed {explanation.seed}), with "
        "instances of one family, or of one network, counted together."
    )


def _remarks(explanation: Explanation) -> list[str]:
    remarks = []
    missing = explanation.without_profile
    if missing:
        few = ", ".join(missing[:_MOST_NAMES])
        more = f" and {len(missing) - _MOST_NAMES:,} more" if len(missing) > _MOST_NAMES else ""
        verb = "instance has" if len(missing) == 1 else "instances have"
        remarks.append(f"{len(missing):,} {verb} no profile and cannot be explained: {few}{more}.")
    if not explanation.points:
        remarks.append("No instance has a profile, so there is nothing to draw.")
    return remarks


def _card(verifier: VerifierExplanation, color: str, pairs: Mapping[Pair, int]) -> dict[str, Any]:
    total = len(verifier.outcomes) or 1
    counts = [(outcome, verifier.count(outcome)) for outcome in OUTCOMES]
    words: dict[str, list[str]] = {outcome: [] for outcome in OUTCOMES}
    for name, outcome in verifier.outcomes.items():
        words[outcome].append(verifier.words.get(name, "not run"))
    x, y = (*verifier.diagnosis.components, "", "")[:2]
    return {
        "verifier": verifier.verifier,
        "color": color,
        "sentence": verifier.diagnosis.sentence,
        "details": verifier.diagnosis.details,
        "parts": [Segment(outcome, n, 100 * n / total) for outcome, n in counts if n],
        "words": {o: "" if o == "solved" else listed(found) for o, found in words.items()},
        "pair": pairs.get((x, y), pairs.get((y, x))),
    }
