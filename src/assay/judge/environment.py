"""What a tool needs that must not mix with Assay's own packages: an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Environment:
    """How to make it with venv and pip alone; every version pinned, no licence key.

    `packages` are the arguments of one `pip install` each, in order. `modules` are small Python
    modules written beside the packages (file name to text), for imports that a tool makes but
    does not need. `source` names files that the tool's source folder must hold; empty when the
    tool comes from the registry.
    """

    packages: tuple[tuple[str, ...], ...]
    modules: Mapping[str, str] = field(default_factory=dict)
    source: tuple[str, ...] = ()
