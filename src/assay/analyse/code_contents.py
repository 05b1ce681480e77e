"""What compiled code says, as values: names, constants, the text of TorchScript and torch.fx."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import torch


def names_in(code: CodeType) -> Iterator[str]:
    """Every name that code, or code inside of it, may look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def contents_of(code: CodeType) -> Iterator[Any]:
    yield from (code.co_code, code.co_names, code.co_varnames)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from contents_of(constant)
        else:
            yield constant


def compiled_text(module: torch.nn.Module) -> str | None:
    """The text of a module that has its code inside: TorchScript, torch.fx."""
    if not isinstance(module, torch.jit.ScriptModule | torch.fx.GraphModule):
        return None
    try:
        if isinstance(module, torch.fx.GraphModule):
            return str(module.code)
        return str(module._c.dump_to_str(True, True, False))
    except (AttributeError, RuntimeError):  # a container has none
        return ""


def uncompiled(value: Any) -> Any:
    """What torch.compile was given; around that is only the state of a compiler."""
    if isinstance(value, torch.nn.Module):
        # that of TorchScript is no dict
        return dict(value._modules.items()).get("_orig_mod", value)
    if isinstance(value, FunctionType):
        return vars(value).get("_torchdynamo_orig_callable", value)
    return value
