"""Tools that crashed on everything, and what they wrote last."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_tools import CRASHER, LIAR_UNSAT, tool
from small_instances import instance, result, write_folder

from assay.judge.crashed_tools import crashed_tools
from assay.judge.runner import Settings, run
from assay.suite.folder import BenchmarkFolder

TALKER = tool(
    "talker",
    "import sys\n"
    "print('--- stderr')\n"
    "for n in range(30): print(f'line {n}\\x1b[0m', file=sys.stderr)\n"
    "raise SystemExit(4)",
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkFolder:
    made = [instance("meap", "robust"), instance("meap", "violated")]
    return BenchmarkFolder.open(write_folder(tmp_path_factory.mktemp("crashed") / "bench", made))


def test_their_last_lines_are_shown(bench: BenchmarkFolder, tmp_path: Path) -> None:
    results = run(bench, [TALKER, CRASHER, LIAR_UNSAT], Settings(timeout_s=20), tmp_path / "run")
    crasher, talker = crashed_tools((each, tmp_path / "run") for each in results)
    assert (crasher.verifier, crasher.stderr) == ("crasher", ())
    assert crasher.lines() == [
        "crasher crashed on all 2 tasks (ended by exit code 3); it wrote nothing to stderr. "
        f"Log: {tmp_path / 'run' / 'logs' / 'crasher' / 'meap-0-robust.0.log'}"
    ]
    assert talker.stderr == tuple(f"line {n} [0m" for n in range(18, 30))
    first, *shown, last = talker.lines()
    assert first == (
        "talker crashed on all 2 tasks (ended by exit code 4). Its stderr ended, on "
        "meap-0-robust, with:"
    )
    assert shown == [f"  line {n} [0m" for n in range(18, 30)]
    assert Path(last.removeprefix("Log: ")).is_file()


def test_one_other_ending_is_enough_to_be_left_out(tmp_path: Path) -> None:
    crashed = result("meap-0-robust", ending="crashed", detail="ended by signal 9", log="gone.log")
    garbled = result("meap-0-violated", ending="garbled", detail="it left no result file")
    for other, found in (
        (result("meap-1-robust", ending="timeout"), 0),
        (result("meap-1-robust", "unknown"), 0),
        (result("meap-1-robust", ending="unsupported"), 1),
    ):
        given = [(each, tmp_path) for each in (crashed, garbled, other)]
        assert len(crashed_tools(given)) == found
    assert crashed_tools([]) == ()
    (alone,) = crashed_tools([(crashed, tmp_path)])
    assert alone.sentence() == "tool crashed on its only task (ended by signal 9)"
