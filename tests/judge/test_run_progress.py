"""The numbers shown while a run goes on."""

from __future__ import annotations

import pytest
from small_instances import result

from assay.cli.run_progress import RunLines
from assay.engine.work import Watcher
from assay.judge.run_progress import Tally, duration, hearing


def test_the_tally_counts_verdicts_and_endings() -> None:
    clock = iter([0.0, 100.0, 130.0])
    tally = Tally(lambda: next(clock))
    tally.begin(10, [result("a", "robust"), result("b", "robust", ending="crashed")])
    assert tally.left_s is None, "nothing was done in this session yet"
    tally.add(result("c", "violated"))
    tally.add(result("d", "unknown"))
    tally.add(result("e", None, ending="timeout", verifier="other"))
    assert tally.sentence("tool") == "1 robust, 1 crashed, 1 violated, 1 unknown"
    assert tally.sentence("other") == "1 timeout"
    assert (tally.done, tally.total) == (5, 10)
    assert tally.left_s == 50.0, "three took 30 s, five are left"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "?"), (0.2, "0 s"), (59.4, "59 s"), (185, "3 min 5 s"), (8040, "2 h 14 min")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = RunLines()
    lines.begin(3, [result("a", "robust")])
    lines.running(["tool b", "tool c"])
    lines.finished(result("b", None, ending="crashed", detail="ended by signal 9"))
    lines.running([])
    lines.finished(result("c", "violated"))
    assert capsys.readouterr().err.splitlines() == [
        "run: 1 of 3 were done before",
        "run: tool b: crashed (ended by signal 9)",
        "run: 2/3 done, 2 running, left 0 s; tool: 1 robust, 1 crashed",
        "run: 3/3 done, 0 running, left 0 s; tool: 1 robust, 1 crashed, 1 violated",
    ]


def test_a_watcher_of_any_work_hears_a_run() -> None:
    heard: list[tuple[object, ...]] = []

    class Listening(Watcher):
        def begin(self, total: int, already: int) -> None:
            heard.append((total, already))

        def finished(self, name: str, seconds: float, note: str = "") -> None:
            heard.append((name, seconds, note))

    watcher = hearing(Listening())
    watcher.begin(2, [result("a", "robust")])
    watcher.finished(result("b", None, ending="timeout"))
    assert heard == [(2, 1), ("tool b", 1.0, "timeout")]
