"""Packages that some commands need and a plain `pip install` leaves out: one sentence for each."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from assay.errors import BadInput


class MissingPackage(BadInput):
    """An optional package is not installed; the message says how to get it."""


@dataclass(frozen=True)
class OptionalPackage:
    """`module` is imported, `name` is what people call it, `extra` of ours installs it."""

    module: str
    name: str
    extra: str

    @property
    def remedy(self) -> str:
        return (
            f"pip install 'assay-robustness[{self.extra}]' (in a clone: pip install -c "
            f"constraints.txt '.[{self.extra}]')"
        )

    def is_here(self) -> bool:
        return find_spec(self.module) is not None


OPTIONAL = {
    package.module: package
    for package in (
        OptionalPackage("torch", "torch", "torch"),
        OptionalPackage("pyscipopt", "PySCIPOpt", "scip"),
        OptionalPackage("maraboupy", "maraboupy", "verifiers"),
        OptionalPackage("distributed", "Dask distributed", "cluster"),
        OptionalPackage("dask", "Dask distributed", "cluster"),
        OptionalPackage("cloudpickle", "Dask distributed", "cluster"),
        OptionalPackage("resvg_py", "resvg", "png"),
        OptionalPackage("PIL", "Pillow", "pictures"),
    )
}
"""By the module; torchattacks is no extra: the battery leaves out what needs it, and says so."""


def missing_package(module: str, what: str = "this") -> MissingPackage:
    """The sentence for a module that is not here; `what` needs it."""
    package = OPTIONAL[module]
    return MissingPackage(
        f"{what} needs {package.name}, which is not installed; get it with: {package.remedy}"
    )


def missing_import(error: ImportError) -> MissingPackage | None:
    """The sentence for an import that failed, if it failed for want of an optional package."""
    module = (error.name or "").partition(".")[0]
    found = OPTIONAL.get(module)
    return missing_package(module) if found is not None and not found.is_here() else None
