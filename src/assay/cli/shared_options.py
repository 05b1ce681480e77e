"""Options that several commands share: a dataclass whose fields become their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from typing import Any, TypeVar, get_type_hints

from assay.errors import BadInput

Options = TypeVar("Options")


def refuse_seed(seed: int) -> None:
    if seed < 0:
        raise BadInput(f"--seed {seed} is negative; give 0 or a larger whole number")


def taking(kind: type[Options]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command's first parameter is a `kind`; on the command line it is one option a field."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        kinds = get_type_hints(kind, include_extras=True)
        shared = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=kinds[field.name],
            )
            for field in fields(kind)  # type: ignore[arg-type]
        ]
        names = [parameter.name for parameter in shared]

        @wraps(command)
        def run(**given: Any) -> None:
            command(kind(**{name: given.pop(name) for name in names}), **given)

        keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
        run.__signature__ = inspect.Signature([*shared, *keyword])  # type: ignore[attr-defined]
        run.__annotations__ = {}
        return run

    return decorated
