"""The page of exit codes names what the command line has, and the workflow uses it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from assay.cli.failing import FAIL_ON
from assay.cli.process_signals import READER_GONE_EXIT, STOPPED_EXIT
from assay.judge.faults import FAULTS, faults_named

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "exit-codes.md").read_text()


def test_all_codes_and_words_are_there() -> None:
    for code in (0, 1, 2, 3, STOPPED_EXIT, READER_GONE_EXIT):
        assert f"\n| {code} | " in PAGE
    for fault in FAULTS:
        assert f"\n| `{fault}` | " in PAGE
    assert f"`{FAIL_ON}`; `none` never fails" in PAGE
    assert "](docs/exit-codes.md)" in (ROOT / "README.md").read_text()


def test_the_workflow_uses_options_that_exist() -> None:
    workflow = yaml.safe_load((ROOT / "examples" / "audit-in-github-actions.yml").read_text())
    steps = [step.get("run", "") for step in workflow["jobs"]["audit"]["steps"]]
    words = shlex.split(next(step for step in steps if step.startswith("assay audit")))
    assert faults_named(words[words.index("--fail-on") + 1])
    kept = next(
        step["with"]["path"]
        for step in workflow["jobs"]["audit"]["steps"]
        if "upload-artifact" in step.get("uses", "")
    )
    assert words[words.index("--junit") + 1] in kept.split()


def test_what_1_means_is_what_commands_do() -> None:
    """A command has a row if and only if its code, or an error that it lets through, ends in 1."""
    part = PAGE.split("## What 1 means")[1].split("\n##")[0]
    rows = dict(re.findall(r"^\| (`.+`) \| (.+) \|$", part, re.MULTILINE))
    named = set(re.findall(r"`assay ([a-z ]+)`", " ".join(rows)))
    assert named == {
        *("audit", "score", "build", "check", "certify", "train", "verifiers check"),
        *("profile", "attack", "power", "calibrate"),
    }
    zero = set(re.findall(r"`(\w+)`", part.split("`run`")[1].split("exit\n0")[0])) | {"run"}
    assert not zero & named
    # A truth that is not verified is bad input everywhere (tests/cli/test_false_truths.py).
    assert "truth of the benchmark is not verified" not in part
