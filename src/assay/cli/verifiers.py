"""`assay verifiers`: the tools that can be judged."""

from __future__ import annotations

from typing import Annotated

import typer


def verifiers(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the verifiers: what they take, whether they are here, and how to get them."""
    from assay.cli.output import print_json, print_table
    from assay.judge.catalogue import verifiers as known

    entries = [
        {
            "name": verifier.name,
            "summary": verifier.summary,
            "version": verifier.version(),
            "install": verifier.install_hint,
            "operators": None if verifier.operators is None else sorted(verifier.operators),
        }
        for verifier in known().values()
    ]
    if as_json:
        print_json(entries)
        return
    rows = [
        (
            entry["name"],
            entry["version"] or f"not here; {entry['install']}",
            entry["summary"],
            "all it can" if entry["operators"] is None else " ".join(entry["operators"]),
        )
        for entry in entries
    ]
    print_table("verifiers", ("verifier", "version", "what it is", "operators"), rows)
