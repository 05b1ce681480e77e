"""Values that name files, with those files in other places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")


def relocated(value: Value, places: Mapping[str, str], *, in_texts: bool = False) -> Value:
    """The value with every path that `places` knows replaced; if asked, also inside of texts."""
    return _moved(value, places, in_texts)  # type: ignore[no-any-return]


def _moved(value: Any, places: Mapping[str, str], in_texts: bool) -> Any:
    def moved(part: Any) -> Any:
        return _moved(part, places, in_texts)

    if isinstance(value, str):
        for old, new in places.items() if in_texts else ():
            value = value.replace(old, new)
        return value
    if isinstance(value, Path):
        return Path(places.get(str(value), str(value)))
    if type(value) is dict:
        return {key: moved(part) for key, part in value.items()}
    if type(value) in (tuple, list):
        return type(value)(moved(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        return replace(value, **{name: moved(part) for name, part in parts.items()})
    return value
