"""YAML as suites use it: plain data, every value with its line, nothing that can surprise.

Anchors, aliases, tags and repeated keys are refused, so that a file says what it seems to say
and a small file cannot grow into a large value.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import yaml

from assay.errors import BadInput

Path = tuple[str | int, ...]

MAX_DEPTH = 12
_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]{0,30})")
_DECIMAL = re.compile(r"[-+]?(\d[\d_]*)?(\.\d*)?([eE][-+]?\d{1,4})?")
_BOOLEANS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


@dataclass(frozen=True)
class LinedYaml:
    """A document and the line of every key and list item in it, by path from the root."""

    value: object
    place: str
    lines: dict[Path, int] = field(repr=False)

    def at(self, path: Path) -> str:
        """Return `file:line` of the value at `path`, or of its nearest ancestor that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.place}:{self.lines.get(path, 1)}"


def read_yaml(text: str, place: str) -> LinedYaml:
    """Read one YAML document; `place` names the file in error messages."""
    try:
        root = _Composer(text, place).get_single_node()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"{place}:{line}: not valid YAML: {error.problem}; correct it") from None
    except yaml.YAMLError as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{place}: not valid YAML: {reason}; give a text file") from None
    if root is None:
        raise BadInput(f"{place}: the file is empty; see `assay suites` for examples")
    lines: dict[Path, int] = {}
    return LinedYaml(_plain(root, (), lines, place), place, lines)


class _Composer(yaml.SafeLoader):
    """Builds the node tree while refusing aliases and deep nesting, as they are met."""

    def __init__(self, text: str, place: str) -> None:
        super().__init__(text)
        self._place = place
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1 if event.start_mark else 1
        where = f"{self._place}:{line}"
        if isinstance(event, yaml.AliasEvent):
            raise BadInput(f"{where}: aliases (*{event.anchor}) are not used; write the value out")
        if self._depth >= MAX_DEPTH:
            raise BadInput(f"{where}: nested more than {MAX_DEPTH} levels deep; flatten it")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _plain(node: yaml.Node, path: Path, lines: dict[Path, int], place: str) -> object:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
        return _mapping(node, path, lines, place)
    if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
        return [_plain(item, (*path, i), lines, place) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, f"{place}:{node.start_mark.line + 1}")
    raise BadInput(f"{place}:{node.start_mark.line + 1}: tag {node.tag!r} is not used; remove it")


def _mapping(
    node: yaml.MappingNode, path: Path, lines: dict[Path, int], place: str
) -> dict[str, object]:
    result: dict[str, object] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise BadInput(f"{place}:{line}: a key must be a word; correct it")
        key = str(key_node.value)
        if key in result:
            first = lines[(*path, key)]
            raise BadInput(
                f"{place}:{line}: key {key!r} is written twice (first on line {first}); keep one"
            )
        lines[(*path, key)] = line
        result[key] = _plain(value_node, (*path, key), lines, place)
    return result


def _scalar(node: yaml.ScalarNode, where: str) -> object:
    text: str = node.value
    kind = node.tag.removeprefix(_TAG)
    if kind == "null":
        return None
    if kind == "bool" and text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    # YAML 1.1 reads 1e-5 as a word and 010 or 1:30 as numbers in other bases: neither is meant.
    looks_decimal = node.style is None and any(c.isdigit() for c in text)
    if kind in ("int", "float") or (kind == "str" and looks_decimal and _DECIMAL.fullmatch(text)):
        return _number(text, where)
    if kind in ("str", "timestamp", "value", "merge"):
        return text
    raise BadInput(f"{where}: {text[:40]!r} with tag {node.tag!r} is not used; write a plain value")


def _number(text: str, where: str) -> int | float:
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if _DECIMAL.fullmatch(text) and re.search("[.eE]", text):
        number = float(text.replace("_", ""))
        if math.isfinite(number):
            return number
    raise BadInput(
        f"{where}: {text[:40]!r} is not a plain decimal number; write it like 12 or 1e-5"
    )
