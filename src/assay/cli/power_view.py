"""What `assay power` prints: the kill matrix, floors, survivors, false accusations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from assay.cli.output import print_line, print_table
from assay.judge.power.catalogue import mutants

if TYPE_CHECKING:
    from assay.judge.power.measure import Power, Settings
    from assay.judge.power.mutant import Specimen

_CAUGHT, _SURVIVED, _NOT_SHOWN, _DIED = "x", "-", "", "?"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def print_power(power: Power, settings: Settings) -> None:
    """Families have letters, so that the matrix stays narrow."""
    letters = [_letter(i) for i in range(len(power.families))]
    rows = [(s.name, s.mutant.bug, *_cells(power, s)) for s in power.specimens]
    print_table("mutants by family", ("mutant", "class of bug", *letters), rows)
    for letter, family in zip(letters, power.families, strict=True):
        print_line(f"  {letter}  {family}")
    print_line("x: caught by an unsound or bogus answer; -: not caught; empty: cannot show there.")
    if power.died:
        print_line("?: nobody knows, for the process of the hunt died.")
    for line in _sentences(power, settings):
        print_line(line)


def _letter(index: int) -> str:
    round_, place = divmod(index, len(_LETTERS))
    return _LETTERS[place] * (round_ + 1)


def _cells(power: Power, specimen: Specimen) -> list[str]:
    return [_cell(power, specimen.name, family) for family in power.families]


def _cell(power: Power, name: str, family: str) -> str:
    if (name, family) in power.died:
        return _DIED
    found = power.catches.get((name, family))
    return _NOT_SHOWN if found is None else _SURVIVED if found.by is None else _CAUGHT


def _sentences(power: Power, settings: Settings) -> Iterator[str]:
    caught = sum(bool(power.killers(s)) for s in power.specimens)
    yield f"{caught} of {len(power.specimens)} mutants are caught."
    if power.survivors:
        yield f"Survivors: {', '.join(s.name for s in power.survivors)}."
    if power.undecided:
        names = ", ".join(s.name for s in power.undecided)
        yield f"Not decided, for a hunt died: {names}."
    if settings.seeds:
        yield from _floors(power)
    decided = sum(b.verdict in ("robust", "violated") for b in power.baselines)
    yield (
        f"The unmutated verifier decides {decided} of {len(power.baselines)} instances and is "
        f"falsely accused {len(power.accusations)} times."
    )
    for wrong in power.accusations:
        yield f"  {wrong.instance}: {wrong.outcome}"


def _floors(power: Power) -> Iterator[str]:
    for floor in power.floors:
        steps = ", ".join(f"{s.strength:g}: {s.caught} of {s.tried}" for s in floor.steps)
        least = "nothing" if floor.strength is None else f"{100 * floor.strength:g} % and more"
        if floor.undecided:
            least = f"not known, for {floor.undecided}"
        yield f"Floor in {floor.symbol} ({floor.mutant}): {least} (seeds caught at {steps})."
    asked = {specimen.mutant.name for specimen in power.specimens}
    without = [m for m in mutants().values() if m.symbol and m.name not in asked]
    if without:
        names = " and ".join(f"{m.symbol} needs {m.name}" for m in without)
        yield f"Floors not measured: {names} among the --mutants."


def document(power: Power, settings: Settings) -> dict[str, Any]:
    """All of it for JSON."""
    return {
        "settings": asdict(settings),
        "families": list(power.families),
        "mutants": [
            {
                "name": s.name,
                "bug": s.mutant.bug,
                "story": s.mutant.story,
                "strength": s.strength,
                "caught": bool(power.killers(s)),
                "families": {
                    family: asdict(power.catches[s.name, family])
                    for family in power.families
                    if (s.name, family) in power.catches
                },
            }
            for s in power.specimens
        ],
        "undecided": [s.name for s in power.undecided],
        "survivors": [s.name for s in power.survivors],
        "floors": [asdict(floor) for floor in power.floors],
        "unmutated": [asdict(baseline) for baseline in power.baselines],
        "false_accusations": [b.instance for b in power.accusations],
        "failed": [{"instance": name, "reason": reason} for name, reason in power.failed],
    }
