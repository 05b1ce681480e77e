"""Every python and console block in the docs runs, in the order of its page; every text block is
what they print."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import assay, python

PROGRAM = "a python block"
BUILD_QUICK = "assay build quick -o bench"
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted((ROOT / "docs" / "families").glob("*.md"))
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    found: list[list[str]] = []
    for language, text in BLOCK.findall(page.read_text()):
        if language == "python":
            found.append([PROGRAM, text])
        else:
            lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
            found.extend(shlex.split(line) for line in lines)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    printed = ""
    if BUILD_QUICK in page.read_text() and page.name != "README.md":
        # One page builds it in earnest; the others find that it is built already.
        shutil.copytree(request.getfixturevalue("quick"), tmp_path / "bench")
    for command in commands(page):
        done = run(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        printed += done.stdout
    for block in PRINTED.findall(page.read_text()):
        assert block in printed


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """In a child of the process that has read all modules already, except what is no `assay`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if command[0] == "assay":
        return assay(*command[1:], cwd=folder, PATH=path)
    if command[0] == PROGRAM:
        return python(command[1], cwd=folder, PATH=path)
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_docs_have_examples() -> None:
    assert sum(len(commands(page)) for page in PAGES) >= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
