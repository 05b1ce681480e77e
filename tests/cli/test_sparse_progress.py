"""Progress without a terminal: a line now and then, not one for every file."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import assay

SUITE = """name: t
timeout: 30
families:
  - {family: meap, count: 6, fixed: {pairs: 2, inputs: 2, classes: 2, gamma: 1.0}}
"""


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("twelve-questions")
    (folder / "t.yaml").write_text(SUITE)
    assert assay("build", folder / "t.yaml", "-o", folder / "bench").returncode == 0
    return folder / "bench"


@pytest.mark.parametrize(
    "words",
    [("export", "BENCH", "-o", "out"), ("import", "BENCH", "-o", "out"), ("check", "BENCH")],
)
def test_a_pipe_gets_the_last_line_only(
    words: tuple[str, ...], twelve: Path, tmp_path: Path
) -> None:
    done = assay(*(twelve if word == "BENCH" else word for word in words), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) <= 1, lines
    if lines:
        total = lines[0].split()[1]
        assert total.split("/")[0] == total.split("/")[1]


def test_what_is_unusual_is_told_at_once(twelve: Path) -> None:
    truth = min((twelve / "truth").glob("*-robust.json"))
    before = truth.read_text()
    truth.write_text(before.replace('"margin": "', '"margin": "1000'))
    done = assay("check", twelve, "--jobs", 1)
    truth.write_text(before)
    assert done.returncode == 1
    assert sum(truth.stem in line for line in done.stderr.splitlines()) == 1
