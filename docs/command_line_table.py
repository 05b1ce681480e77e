"""Prints the tables of docs/command-line.md, read off the commands themselves.

Run: python docs/command_line_table.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from assay.cli.main import app

SHARED = (
    "--output",
    "--json",
    "--jobs",
    "--seed",
    "--timeout",
    "--time",
    "--cpu-time",
    "--memory",
    "--device",
    "--verifier",
    "--verifier-dir",
    "--verifier-command",
    "--env",
    "--suite",
    "--fail-on",
    "--junit",
)
OPTION_HEADER = "| option | short | takes | meaning |"
USE_HEADER = "| command | "


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name."""
    yield from _within(typer.main.get_command(app), ())


def _within(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, found in getattr(command, "commands", {}).items():
        yield from _within(found, (*path, name))
    if path and (not hasattr(command, "commands") or command.invoke_without_command):
        yield " ".join(path), command


def shared_options() -> Iterator[tuple[str, str, Any]]:
    """Command, the long name of a shared option, and the option."""
    for name, command in commands():
        for option in command.params:
            for long in set(option.opts) & set(SHARED):
                yield name, long, option


def short_name(option: Any) -> str:
    return next((name for name in option.opts if not name.startswith("--")), "")


def meaning(option: Any) -> str:
    """Without what is said about the default, which the second table has."""
    return str(option.help).partition(" Default:")[0]


def default(option: Any) -> str:
    said = str(option.help).partition(" Default: ")[2].rstrip(".")
    if said:
        return said
    if option.required:
        return "required"
    if option.default is None or option.default is False:
        return "optional"
    value = option.default
    return f"{value:g}" if isinstance(value, float) else str(value)


def option_table() -> list[str]:
    rows = {}
    for _, long, option in shared_options():
        takes = option.metavar or ("" if option.default is False else "NUMBER")
        key = long if long != "--output" else f"{long} {option.metavar}"
        rows[key, option.metavar, meaning(option)] = (
            f"| `{long}` | {f'`{short_name(option)}`' if short_name(option) else ''} "
            f"| {f'`{takes}`' if takes else ''} | {meaning(option)} |".replace(
                "|cuda|", r"\|cuda\|"
            )
        )
    order = {name: place for place, name in enumerate(SHARED)}
    listed = sorted(rows.items(), key=lambda row: (order[row[0][0].split()[0]], row[1]))
    return [OPTION_HEADER, "|---|---|---|---|", *(line for _, line in listed)]


def use_table() -> list[str]:
    """A row for each command: the default of every shared option that it has."""
    uses = {(name, long): default(option) for name, long, option in shared_options()}
    return [
        f"| command | {' | '.join(f'`{long}`' for long in SHARED)} |",
        "|---" * (len(SHARED) + 1) + "|",
        *(
            f"| `{name}` | {' | '.join(uses.get((name, long), '') for long in SHARED)} |"
            for name, _ in sorted(commands(), key=lambda command: command[0])
        ),
    ]


def tables_of(page: Path) -> list[list[str]]:
    """The tables of the page that begin with one of the two headers."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found = []
    for header in (OPTION_HEADER, USE_HEADER):
        first = next(n for n, line in enumerate(lines) if line.startswith(header))
        last = next(n for n in range(first, len(lines) + 1) if not "".join(lines[n : n + 1]))
        found.append(lines[first:last])
    return found


if __name__ == "__main__":
    print("\n".join([*option_table(), "", *use_table()]))
