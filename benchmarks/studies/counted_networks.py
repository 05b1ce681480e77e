"""RoMA's Table 1: proved bounds, RoMA's extrapolation and a plain count side by side.

    python -m studies.counted_networks

Seven small networks on the unit cube and five ACAS Xu networks under phi_2. RoMA and the plain
count take the paper's 10,000 samples, and 100, at which normality is rejected less often. The
bounds come from `assay.analyse.count`; where they stay wide, the undecided part is sampled, which
gives an interval of stated confidence. A network with one output has no confidences, so RoMA gets
its margin there; the others get both scores.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import torch
from real_models.roma_networks import TABLE_1, CountedQuestion, Published, cached_question

from assay.analyse.asked import Asked, of_files, only_case
from assay.analyse.count.counting import Search
from assay.analyse.count.settings import Settings
from assay.analyse.count.undecided import sample_undecided
from assay.analyse.kept import LabelSet
from assay.analyse.roma_counted import RomaSettings, assess
from assay.analyse.roma_scores import SCORES, Score
from assay.question.asked import read_question
from studies.driving import Document, Row, Size, Study, main
from studies.tables import seconds_text, table

NAME = "counted_networks"
MANY, FEW = 10_000, 100
CONFIDENCE = 0.99
COUNTING = {"gap": 1e-5, "seconds": 60.0, "samples": 1_000_000}
ADVICES = (1, 2, 3, 4)
"""phi_2 is kept where one of these, and not clear-of-conflict (0), scores highest."""
ROWS = {row.name: row for row in TABLE_1}


def parts(size: Size) -> list[Document]:
    names = list(ROWS)[:1] if size.quick else list(ROWS)
    counting = {"gap": 1e-2, "seconds": 2.0, "samples": 1_000} if size.quick else COUNTING
    return [{"network": name, "roma_samples": [MANY, FEW], **counting} for name in names]


def measure(part: Document, device: str) -> Document:
    question = cached_question(ROWS[part["network"]])
    # These networks are tiny: threads would only wait for each other.
    torch.set_num_threads(1)
    asked = of_files(question.onnx, question.vnnlib, device=torch.device(device))
    found = {"count": _counted(question, part)}
    for samples in part["roma_samples"]:
        found[f"margin {samples}"] = _assessed(asked, samples, "margin")
    if len(asked.model.scores(torch.zeros(1, asked.model.inputs))[0]) > 1:
        labelled = replace(asked, kept=LabelSet(ADVICES))
        for samples in part["roma_samples"]:
            found[f"confidence {samples}"] = _assessed(labelled, samples, "confidence")
    return found


def _counted(question: CountedQuestion, part: Document) -> Document:
    """Bounds in percent; the sampled ones hold with a probability of .999."""
    network, specification = read_question(question.onnx, question.vnnlib)
    case = only_case(specification.cases, question.vnnlib)
    settings = Settings(gap=part["gap"], seconds=part["seconds"], samples=part["samples"])
    search = Search(network, case, settings)
    proved = search.run()
    begun = time.perf_counter()
    sampled = sample_undecided(search)
    ends = {"proved": [100 * float(proved.lower), 100 * float(proved.upper)]}
    if sampled is not None:
        ends["sampled"] = [100 * float(sampled.lower), 100 * float(sampled.upper)]
    return {
        **ends,
        "seconds": proved.seconds,
        "cpu_seconds": proved.cpu_seconds,
        "sampling_seconds": time.perf_counter() - begun,
    }


def _assessed(asked: Asked, samples: int, score: Score) -> Document:
    """RoMA and the count of the same random inputs, in percent of violations."""
    begun = time.perf_counter()
    found = assess(asked, RomaSettings(samples, score, CONFIDENCE))
    claimed = found.extrapolation.failure_rate
    return {
        "basis": found.extrapolation.basis,
        "claimed": None if claimed is None else 100 * claimed,
        "counted": 100 * found.counted.rate,
        "interval": [100 * found.counted.lower, 100 * found.counted.upper],
        "seconds": time.perf_counter() - begun,
    }


def report(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    """Two tables: what the rate is and what the paper says of it; what RoMA says."""
    first = ["network", "proved violation, %", "s", "with samples, % (99.9 %)", "counted, % (99 %)"]
    first += ["s", "paper: Exact Count (s)", "within ours", "paper: RoMA (s)", "its error"]
    kinds = [(score, samples) for score in SCORES for samples in (MANY, FEW)]
    second = ["network", "rate, %", *(f"RoMA, {score}, {samples:,}" for score, samples in kinds)]
    claims = (
        [row.part["network"], _ends(_tightest(row)), *(_claim(row, *kind) for kind in kinds)]
        for row in rows
    )
    return f"{table(first, map(_line, rows))}\n{table(second, claims)}", {}


def _tightest(row: Row) -> Sequence[float]:
    count = row.found["count"]
    return list(count.get("sampled", count["proved"]))


def _line(row: Row) -> list[str]:
    count, counted = row.found["count"], row.found[f"margin {MANY}"]
    published = ROWS[row.part["network"]]
    return [
        published.name,
        _ends(count["proved"]),
        seconds_text(count["seconds"]),
        _ends(count["sampled"]) if "sampled" in count else "",
        f"{counted['counted']:.2f} ({_ends(counted['interval'])})",
        seconds_text(counted["seconds"]),
        *_exact_count(published, count["proved"], _tightest(row)),
        f"{100 - published.roma_plr:.2f} ({published.roma_s:g})",
        _standard_errors(100 - published.roma_plr, _tightest(row)),
    ]


def _standard_errors(claimed: float, ends: Sequence[float]) -> str:
    """How far the paper's RoMA is off, as counts of 10,000 samples scatter."""
    rate = sum(ends) / 200
    scatter = 100 * math.sqrt(rate * (1 - rate) / MANY)
    return f"{(claimed - 100 * rate) / scatter:+.1f} sd"


def _exact_count(
    published: Published, proved: Sequence[float], tightest: Sequence[float]
) -> tuple[str, str]:
    rate = published.exact_count_violation
    if rate is None:
        return "timeout", ""
    said = f"{rate:.2f} ({published.exact_count_s:g})"
    inside = _within(rate, proved)
    if inside == "yes":
        inside = "yes" if _within(rate, tightest) == "yes" else "no (99.9 %)"
    return said, inside


def _within(rate: float, ends: Sequence[float]) -> str:
    """Whether a printed rate, which is rounded to .01, can lie between the ends."""
    return "yes" if ends[0] - 0.005 <= rate <= ends[1] + 0.005 else "no"


def _ends(ends: Sequence[float]) -> str:
    """Rounded outwards, to two digits of their distance."""
    digits = min(10, max(2, 1 - math.floor(math.log10(max(ends[1] - ends[0], 1e-9)))))
    low, high = math.floor(ends[0] * 10**digits), math.ceil(ends[1] * 10**digits)
    return f"{low / 10**digits:.{digits}f} to {high / 10**digits:.{digits}f}"


def _claim(row: Row, score: str, samples: int) -> str:
    """RoMA's rate in percent, and how it came by it."""
    found = row.found.get(f"{score} {samples}")
    if found is None:
        return ""
    if found["claimed"] is None:
        return "normality rejected"
    how = "" if found["basis"] == "normal" else " (Box-Cox)"
    return f"{found['claimed']:.2f}{how}"


STUDY = Study(NAME, parts, measure, report)

if __name__ == "__main__":
    sys.exit(main(STUDY))
