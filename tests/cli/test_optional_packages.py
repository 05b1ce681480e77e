"""Without an optional package every command works, or says in one sentence how to get it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from command_line import assay, without
from smoke_commands import COMMANDS, MISSING, NEEDS_TORCH, all_commands, prepare, problem

from assay.optional_packages import OPTIONAL

ALL = (*OPTIONAL, "torchattacks")
WITH_TORCH = without("PIL", "torchattacks")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smoke") / "place"
    prepare(folder, partial(assay, **without(*ALL)))
    return folder


def test_every_command_has_a_line() -> None:
    assert set(COMMANDS) == all_commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_without_any_of_them(name: str, place: Path) -> None:
    done = assay(*name.split(), *COMMANDS[name], cwd=place, **without(*ALL))
    assert not problem(name, done)
    if name in NEEDS_TORCH:
        assert done.returncode == 2, done.stdout
        (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
        assert "needs torch, which is not installed" in sentence
        assert "pip install -c constraints.txt '.[torch]'" in sentence
    else:
        assert MISSING not in done.stderr, "it can do without"


ONE = {
    "pyscipopt": ("certify", *COMMANDS["certify"][:-1], "by-scip", "--solver", "scip"),
    "maraboupy": ("run", "bench", "-v", "marabou", "-o", "by-marabou"),
    "distributed": ("run", "bench", "-v", "milp", "--dask", "tcp://127.0.0.1:1", "-o", "by-dask"),
    "resvg_py": ("report", "lied", "-o", "r.html", "--charts", "charts", "--png"),
    "PIL": ("weakened", "decide", "net.onnx", "picture.png", "--radius", "0.1"),
}


@pytest.mark.parametrize("module", ONE)
def test_one_that_only_an_option_needs(module: str, place: Path) -> None:
    (place / "picture.png").write_bytes(b"\x89PNG")
    hidden = WITH_TORCH if module == "PIL" else without(*ALL)
    done = assay(*ONE[module], cwd=place, **hidden)
    assert done.returncode == 2, done.stdout + done.stderr
    sentence = done.stderr.splitlines()[-1]
    assert OPTIONAL[module].remedy in sentence
    assert "not installed" in sentence


def test_the_battery_does_without_torchattacks(place: Path) -> None:
    chosen = ("--attacks", "corners", "--attacks", "apgd-ce", "--attacks", "square")
    done = assay("attack", "bench", *chosen, cwd=place, **WITH_TORCH)
    assert done.returncode == 0, done.stderr
    record = json.loads((place / "bench" / "attack.json").read_text())
    assert record["whole"] is False
    assert set(record["left_out"]) == {"apgd-ce", "square"}
    for name, reason in record["left_out"].items():
        assert f"assay: {name}: {reason}" in done.stderr
        assert "pip install --no-deps torchattacks" in reason
