"""`assay suites`: the suites that come with Assay."""

from __future__ import annotations

from assay.cli.option_kinds import AsJson


def suites(
    as_json: AsJson = False,
) -> None:
    """List the bundled suites.

    Example: assay suites
    """
    from assay.cli.output import print_json, print_table
    from assay.suite.spec import bundled_suites, load_suite

    specs = [load_suite(name).spec for name in bundled_suites()]
    if as_json:
        print_json([spec.model_dump(mode="json") for spec in specs])
        return
    rows = [
        [spec.name, ", ".join(dict.fromkeys(e.family for e in spec.families)), spec.description]
        for spec in specs
    ]
    print_table("suites", ["suite", "families", "what it is for"], rows)
