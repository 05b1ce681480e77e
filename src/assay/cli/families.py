"""`assay families`: what can be built, with every knob and the theorem behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.cli.option_kinds import AsJson, FamilyName

if TYPE_CHECKING:
    from assay.truth.constructor import Constructor


def families(
    name: FamilyName = None,
    as_json: AsJson = False,
) -> None:
    """List the families, or show the knobs and the theorem of one.

    Examples:

      assay families

      assay families meap
    """
    from assay.cli.output import print_json, print_table
    from assay.truth.families import families as known_families
    from assay.truth.families import family

    chosen = [family(name)] if name else list(known_families().values())
    if as_json:
        print_json([_document(constructor) for constructor in chosen])
    elif name:
        _show(chosen[0])
    else:
        rows = [[c.name, c.summary, len(c.knobs.model_fields)] for c in chosen]
        print_table("families", ["family", "what it asks", "knobs"], rows)


def _document(constructor: Constructor) -> dict[str, Any]:
    return {
        "name": constructor.name,
        "summary": constructor.summary,
        "theorem": constructor.theorem,
        "knobs": constructor.knobs.model_json_schema(),
    }


def _show(constructor: Constructor) -> None:
    from assay.cli.output import print_line, print_table

    print_line(f"{constructor.name}: {constructor.summary}\n")
    print_line(f"Theorem. {constructor.theorem}\n")
    rows = []
    for knob, field in constructor.knobs.model_fields.items():
        default = (
            "required"
            if field.is_required()
            else repr(field.get_default(call_default_factory=True))
        )
        rows.append(
            [knob, _kind(field.annotation), default, _allowed(field), field.description or ""]
        )
    print_table("knobs", ["knob", "type", "default", "allowed", "meaning"], rows)


def _kind(annotation: object) -> str:
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return text.replace("typing.", "")


def _allowed(field: Any) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    parts = [
        f"{sign} {value}"
        for rule in field.metadata
        for name, sign in signs.items()
        if (value := getattr(rule, name, None)) is not None
    ]
    return ", ".join(parts)
