"""What a module of `assay.analyse.broken` declares: an analyser with one part swapped for a bug."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from assay.analyse.rules import rule_for
from assay.part_swap import part_swapped


@dataclass(frozen=True)
class Bug:
    """`make(original)` takes the place of `owner`'s `attribute`, see `assay.part_swap`."""

    owner: str
    attribute: str
    make: Callable[[Any], Any]


@dataclass(frozen=True)
class Broken:
    """An analyser broken on purpose.

    `story` says what is wrong in a sentence; `shown_by` are the analysers that the bug may show in:
    a hunt measures no others. `shows_as_error` where it makes an analyser refuse its question;
    other bugs are not caught by that.
    """

    name: str
    story: str
    shown_by: tuple[str, ...]
    bugs: tuple[Bug, ...]
    shows_as_error: bool = False


@contextmanager
def applied(broken: Broken) -> Iterator[None]:
    """The analysers of this process have the bug; questions must be made inside."""
    rule_for.cache_clear()
    with ExitStack() as undo:
        undo.callback(rule_for.cache_clear)
        for bug in broken.bugs:
            undo.enter_context(part_swapped(bug.owner, bug.attribute, bug.make))
        yield
