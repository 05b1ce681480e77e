"""Put the results of the studies on one page, with their pictures.

    python -m studies.page [--results FOLDER]

Results in the folder replace those kept in docs/evidence/analysers, from which the page and the
pictures are made; what is said about each study is written by hand, in a file beside its result.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from studies import (
    cost,
    counted_networks,
    curves,
    defects,
    label_sets,
    misclassified,
    norms,
)
from studies.driving import RESULTS, ROOT, Document, Study, rows_of

EVIDENCE = ROOT / "docs" / "evidence"
KEPT = EVIDENCE / "analysers"
PAGE = EVIDENCE / "2026-11-16-analysers.md"
PICTURES = ROOT / "docs" / "images" / "analysers"
TITLES: Mapping[str, Study] = {
    "Robustness curves (Figs. 3b and 4)": curves.STUDY,
    "Radii by norm and eps (Fig. 5)": norms.STUDY,
    "Defective networks (section 8.2, Figs. 6 and 7)": defects.STUDY,
    "Misclassified inputs (section 8.3, Table 2, Fig. 8)": misclassified.STUDY,
    "Label sets (section 8.5, Fig. 11)": label_sets.STUDY,
    "Cost (section 8.4, Table 4)": cost.STUDY,
    "RoMA's Table 1": counted_networks.STUDY,
}


def section(title: str, study: Study, document: Document, said: str) -> tuple[str, dict[str, str]]:
    """The markdown of one study, and its pictures."""
    text, pictures = study.report(rows_of(document))
    device = "" if document["device"] == "cpu" else f" --device {document['device']}"
    jobs = "" if document["jobs"] == 1 else f" --jobs {document['jobs']}"
    images = f" --images {document['images']}" if document.get("images") else ""
    run = f"`python -m studies.{study.name}{device}{jobs}{images}`"
    where = f"{document['date']}, {document['machine']}, torch {document['torch']}"
    shown = "".join(
        f"![{name.removesuffix('.svg')}](../images/analysers/{name})\n\n" for name in pictures
    )
    made = f"{run}: {document['seconds']:,.0f} s over all jobs ({where})."
    return f"## {title}\n\n{made}\n\n{said.strip()}\n\n{shown}{text.strip()}\n", pictures


def taken_over(results: Path) -> None:
    """Keep the whole results that a folder holds."""
    for study in TITLES.values():
        place = results / f"{study.name}.json"
        if place.exists() and not json.loads(place.read_text())["quick"]:
            (KEPT / place.name).write_text(place.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m studies.page")
    parser.add_argument("--results", type=Path, default=RESULTS)
    taken_over(parser.parse_args().results)
    parts = [(KEPT / "README.md").read_text().strip() + "\n"]
    PICTURES.mkdir(parents=True, exist_ok=True)
    for title, study in TITLES.items():
        result, said = KEPT / f"{study.name}.json", KEPT / f"{study.name}.md"
        if not result.exists():
            print(f"{result}: not there; run python -m studies.{study.name}", file=sys.stderr)
            continue
        text, pictures = section(title, study, json.loads(result.read_text()), said.read_text())
        parts.append(text)
        for name, picture in pictures.items():
            (PICTURES / name).write_text(picture)
    PAGE.write_text("\n".join(parts))
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
