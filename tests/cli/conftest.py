"""A benchmark of two questions for the tests of commands that judge."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import assay

SUITE = """name: t
timeout: 30
families:
  - {family: meap, fixed: {pairs: 2, inputs: 3, classes: 2, gamma: 1.0}}
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two-questions")
    (folder / "t.yaml").write_text(SUITE)
    assert assay("build", folder / "t.yaml", "-o", folder / "bench").returncode == 0
    return folder / "bench"
