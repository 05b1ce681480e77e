"""Which model it is: the hashes that tell whether an answer still belongs to it.

A model in Python is known by its source files (see `source_files`), by all that it holds (see
`value_digest`) and by the versions of the packages that it imports. Whatever a hash does not reach
is said in `not_covered`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.analyse import value_digest
from assay.analyse.source_files import sources_of
from assay.analyse.value_digest import ValueDigest

NEVER_COVERED = (
    "files that the model reads while it runs, modules imported by a computed name, "
    "other programs and the network"
)


def python_identity(model: Any, file: Path | None = None) -> dict[str, object]:
    """Of a function or a torch module; `file` is where its name was looked up."""
    values = ValueDigest()
    values.add(model)
    found = sources_of([*([] if file is None else [file]), *values.files])
    return {
        "sha256": values.sha256,
        "source": found.files,
        "packages": found.packages,
        "not_covered": [NEVER_COVERED, *_unread(values), *found.not_covered],
    }


def _unread(values: ValueDigest) -> Iterator[str]:
    yield from (f"what a {kind} holds" for kind in sorted(values.unread))
    if values.is_cut:
        yield f"what the model holds beyond its first {value_digest.MOST_VALUES:,} values"


def identity_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """In words, what makes one identity another; nothing if they are the same."""
    for key, what in (("source", "the file"), ("packages", "the version of")):
        old, new = _table(before.get(key)), _table(now.get(key))
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                yield f"{what} {name}"
    if before.get("sha256") != now.get("sha256"):
        yield "what the model holds (weights, settings, arguments)"


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
