"""The page about mutants names all of them, as they are declared."""

from __future__ import annotations

from pathlib import Path

from assay.judge.power.catalogue import mutants
from assay.judge.power.mutant import Specimen

PAGE = Path(__file__).parents[2] / "docs" / "power.md"


def test_the_table_of_mutants_is_that_of_the_registry() -> None:
    header = "| mutant | class of bug | story | can be wrong with |"
    lines = PAGE.read_text().splitlines()
    first = lines.index(header) + 2
    table = lines[first : first + len(mutants())]
    assert table == [
        f"| `{Specimen(m, m.strength).name}` | {m.bug} | {m.story} | {m.wrongly} |"
        for m in mutants().values()
    ]
    assert not lines[first + len(mutants())].startswith("|")
