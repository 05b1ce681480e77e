"""The version of a tool's folder: another after an edit or a build, the same for a copy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from assay.judge import source_version as source
from assay.judge.source_version import programs_version


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    folder = tmp_path / "tool"
    (folder / "src").mkdir(parents=True)
    (folder / "run_instance.sh").write_text("echo unsat\n")
    (folder / "src" / "main.py").write_text("print('unsat')\n")
    (folder / "solver").write_bytes(bytes(300_000))
    (folder / "solver").chmod(0o755)
    return folder


def write(name: str, data: bytes) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(data)


CHANGES = {
    "an edit of the same size": ("src/main.py", b"print('sat!!')\n"),
    "a build that differs at its beginning": ("solver", b"new" + bytes(299_997)),
    "a build that differs at its end": ("solver", bytes(299_997) + b"new"),
    "a build that differs in its middle": ("solver", bytes(150_000) + b"new" + bytes(149_997)),
    "a build of another size": ("solver", bytes(300_001)),
    "a new library": ("src/fast.so.1", b""),
    "a new setting": ("config.yaml", b"slow: false\n"),
}
NO_CHANGES = {
    "a cache": ("src/__pycache__/main.pyc", b"x"),
    "a log": ("out.log", b"x"),
    "a hidden folder": (".git/hooks.sh", b"x"),
    "a result": ("results/x.py", b"x"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_build_is_another_version(
    tool: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tool)
    before = programs_version(tool)
    write(*CHANGES[name])
    assert programs_version(tool) != before


@pytest.mark.parametrize("name", NO_CHANGES)
def test_what_a_run_leaves_is_no_other_version(
    tool: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tool)
    before = programs_version(tool)
    write(*NO_CHANGES[name])
    assert programs_version(tool) == before


def test_a_copy_is_the_same_version(tool: Path, tmp_path: Path) -> None:
    shutil.copytree(tool, tmp_path / "copy", copy_function=shutil.copy)
    os.utime(tmp_path / "copy" / "solver", (1, 1))
    assert programs_version(tmp_path / "copy") == programs_version(tool)


def test_it_ends_on_a_large_tree_and_still_minds_the_files_that_it_must(
    tool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MOST_FILES", 20)
    for number in range(50):
        (tool / f"a{number:03}.py").touch()
    script = tool / "run_instance.sh"
    assert len(list(source._programs(tool))) == 20
    before, before_always = programs_version(tool), programs_version(tool, [script])
    script.write_text("echo sat\n")
    assert programs_version(tool) == before
    assert programs_version(tool, [script]) != before_always


def test_links_are_not_followed_in_circles(tool: Path) -> None:
    (tool / "src" / "again").symlink_to(tool)
    (tool / "gone.py").symlink_to(tool / "nowhere")
    assert str(programs_version(tool)).startswith("files ")


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert programs_version(tmp_path) is None
