"""Tables about profiles of external benchmarks, in Markdown."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from published_profiles import Published

from assay.difficulty.components import NAMES
from assay.difficulty.explanation import Explanation
from assay.difficulty.profile_table import ProfileRow
from assay.suite.folder import BenchmarkFolder

_RADIUS = re.compile(r"prop_\d+_(0\.\d+)$")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines)


def number(row: ProfileRow, column: str) -> float:
    """A cell of profile.csv, component or not."""
    if row.values is not None and column in row.values:
        return row.values[column]
    return float(row.others[column])


def by_network(folder: BenchmarkFolder, profile: Mapping[str, ProfileRow]) -> str:
    """Medians, and the range of G_IBP, which spans orders of magnitude."""
    groups: dict[str, list[ProfileRow]] = defaultdict(list)
    for entry in folder.entries:
        radius = _RADIUS.search(entry.name)
        key = entry.onnx.stem + (f", {radius[1]}" if radius else "")
        groups[key].append(profile[entry.name])
    columns = (*NAMES, "M_searched", "G_CROWN", "seconds")
    header = ("network", "n", *columns, "G_IBP from, to")
    rows = []
    for key, found in groups.items():
        medians = [f"{median(number(row, column) for row in found):.3g}" for column in columns]
        gaps = [number(row, "G_IBP") for row in found]
        rows.append((key, str(len(found)), *medians, f"{min(gaps):.3g}, {max(gaps):.3g}"))
    return table(header, rows)


def results_of(run: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]


def outcome_counts(runs: Sequence[Path]) -> str:
    """What each verifier said how often, with the class of its witnesses."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for result in (result for run in runs for result in results_of(run)):
        said = result["verdict"] if result["ending"] == "answered" else result["ending"]
        counts[str(result["verifier"]), str(said), str(result["witness_class"] or "")] += 1
    rows = [(*key, str(count)) for key, count in sorted(counts.items())]
    return table(("verifier", "outcome", "witness", "tasks"), rows)


def separations(explanation: Explanation) -> str:
    rows = []
    for verifier in explanation.verifiers:
        cells = {
            s.component: f"{s.auc:.2f} ({s.low:.2f}, {s.high:.2f})" for s in verifier.separations
        }
        counted = f"{verifier.count('solved')} / {verifier.count('unsolved')}"
        rows.append((verifier.verifier, counted, *(cells.get(name, "-") for name in NAMES)))
    return table(("verifier", "solved / unsolved", *NAMES), rows)


def diagnoses(explanation: Explanation) -> str:
    return "\n".join(
        f"- **{v.verifier}**: {v.diagnosis.sentence} ({'; '.join(v.diagnosis.details)})"
        for v in explanation.verifiers
    )


def counterexamples(run: Path, published: Sequence[Published]) -> str:
    """Violated questions: who found that out, here with the class of the witness."""
    here: dict[str, dict[str, str]] = defaultdict(dict)
    for result in results_of(run):
        said = str(result["witness_class"] or result["verdict"] or result["ending"])
        here[str(result["instance"])][str(result["verifier"])] = said
    tools = sorted({tool for found in here.values() for tool in found})
    rows = []
    for question in published:
        if question.instance not in here:
            continue
        theirs = Counter(question.outcomes.values())
        told = ", ".join(f"{count} {word}" for word, count in sorted(theirs.items()))
        rows.append((question.instance, *(here[question.instance][tool] for tool in tools), told))
    return table(("question", *tools, "published outcomes"), rows)


def against_published(
    published: Sequence[Published],
    profile: Mapping[str, ProfileRow],
    same_box: Mapping[str, ProfileRow],
) -> str:
    """Ratios of our numbers to those published: least, median and largest over the questions."""
    pairs = [(name, name) for name in (*NAMES, "L_IBP")]
    pairs += [("M_searched", "M_min"), ("G_IBP_searched", "G_IBP")]
    rows = []
    for ours, theirs in pairs:
        cells = []
        for found in (profile, same_box):
            ratios = [
                number(found[question.instance], ours) / question.values[theirs]
                for question in published
                if question.values[theirs]
            ]
            cells.append(f"{min(ratios):.4g}, {median(ratios):.4g}, {max(ratios):.4g}")
        rows.append((ours, theirs, *cells))
    taken = median(question.seconds for question in published)
    here = median(number(row, "seconds") for row in profile.values())
    rows.append(("seconds, median", f"{taken:.0f}", f"{here:.2f}", ""))
    return table(("ours", "published", "on the box asked about", "on the box they read"), rows)


def one_by_one(
    rows: range,
    published: Sequence[Published],
    profile: Mapping[str, ProfileRow],
    same_box: Mapping[str, ProfileRow],
) -> str:
    """The questions that the paper speaks of: our numbers, those on its box, and its own."""
    lines = []
    for row in rows:
        question = published[row]
        ours, theirs = profile[question.instance], same_box[question.instance]
        gaps = (
            number(ours, "G_IBP"),
            number(ours, "G_IBP_searched"),
            number(theirs, "G_IBP_searched"),
            question.values["G_IBP"],
        )
        spread = number(ours, "d_eff"), question.values["d_eff"]
        solved = [v for v, said in question.outcomes.items() if said in ("robust", "violated")]
        shown = (*(f"{gap:.3g}" for gap in gaps), *(f"{value:.0f}" for value in spread))
        lines.append((str(row), question.instance.split("--")[1], *shown, ", ".join(solved)))
    header = ("row", "question", "G_IBP", "searched", "searched, their box", "published")
    return table((*header, "d_eff", "published", "published as solved by"), lines)
