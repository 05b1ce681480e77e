"""What a person meets first: the list of commands, and names that the shell completes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from command_line import assay

from assay.cli.command_panels import PANELS
from assay.cli.completion import families_named, suites_named, verifiers_named
from assay.judge.catalogue import verifiers
from assay.suite.spec import bundled_suites
from assay.truth.families import families

WATCHED = ("torch", "scipy", "onnx", "numpy", "assay.truth.meap", "assay.judge.catalogue")


def test_commands_are_listed_by_what_they_are_for() -> None:
    shown = assay("--help", COLUMNS="80").stdout
    places = [shown.index(f"\n{panel}:\n") for panel in PANELS]
    assert places == sorted(places)
    assert [panel.split()[0] for panel in PANELS] == ["Make", "Judge", "Explain", "Answer"]
    listed = [
        line.split(maxsplit=1) for line in shown[places[0] :].splitlines() if line.startswith("  ")
    ]
    assert [name for name, _ in listed] == [
        *("build", "check", "certify", "train", "import", "export", "seal", "unseal"),
        *("families", "suites", "audit", "run", "score", "report", "verifiers", "power", "shrink"),
        *("profile", "attack", "explain", "weakened", "roma", "count", "splitting", "calibrate"),
    ]
    for _, text in listed:
        assert text.endswith("."), "one line each, not cut off"
        assert not text.endswith("...")


def test_names_that_complete_are_those_of_the_registries() -> None:
    assert families_named("") == sorted(families())
    assert verifiers_named("") == sorted(verifiers())
    assert suites_named("") == sorted(bundled_suites())
    assert suites_named("q") == ["quick"]
    assert verifiers_named("nothing") == []


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("assay audit --suite s", ["soundness"]),
        ("assay build qu", ["quick"]),
        ("assay run bench -v mi", ["milp"]),
        ("assay families mea", ["meap"]),
        ("assay verifiers install neu", ["neuralsat"]),
        ("assay weak", ["weakened"]),
    ],
)
def test_the_shell_is_answered(words: str, names: list[str]) -> None:
    last = str(len(words.split()) - 1)
    done = assay(_ASSAY_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=last)
    assert done.stdout.split() == names, done.stderr


def test_completion_imports_nothing_heavy() -> None:
    script = (
        "import json, os, sys\n"
        "sys.argv = ['assay']\n"
        "import atexit\n"
        f"watched = {WATCHED!r}\n"
        "atexit.register(lambda: print(json.dumps([n for n in watched if n in sys.modules])))\n"
        "from assay.cli.main import run\n"
        "run()\n"
    )
    environment = {
        "_ASSAY_COMPLETE": "complete_bash",
        "COMP_WORDS": "assay audit --suite quick mara",
        "COMP_CWORD": "4",
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answer, imported = done.stdout.split("\n", maxsplit=1)
    assert answer == "marabou"
    assert json.loads(imported) == []


def test_the_script_for_a_shell_is_printed() -> None:
    done = assay("--show-completion", "bash")
    assert done.returncode == 0
    assert "COMP_WORDS" in done.stdout
