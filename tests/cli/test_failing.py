"""What CI reads: exit codes by --fail-on, JUnit XML, and the last words of a tool that crashed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import assay

TOOLS = {
    "crasher": "import sys; sys.exit('ImportError: no module named solver')",
    "garbler": "import sys; open(sys.argv[1], 'w').write('robust, I guess')",
    "bogus": "import sys; open(sys.argv[1], 'w').write('sat')",
    "liar": "import sys; open(sys.argv[1], 'w').write('unsat')",
    "modest": "import sys; open(sys.argv[1], 'w').write('unknown')",
}


@pytest.fixture(scope="module")
def runs(bench: Path) -> Path:
    """A folder with the run of each tool, taken from one run of all of them."""
    folder = bench.parent
    commands: list[object] = []
    for name, script in TOOLS.items():
        (folder / f"{name}.py").write_text(script)
        commands += ["--verifier-command", command_of(folder, name)]
    done = assay("run", bench, "-v", "milp", *commands, "-o", folder / "all", "--json")
    assert done.returncode == 0, done.stderr
    plan = json.loads((folder / "all" / "run.json").read_text())
    lines = (folder / "all" / "results.jsonl").read_text().splitlines(keepends=True)
    for name in ("milp", *TOOLS):
        (folder / name).mkdir()
        (folder / name / "logs").symlink_to(folder / "all" / "logs")
        alone = {**plan, "verifiers": {name: plan["verifiers"][name]}}
        (folder / name / "run.json").write_text(json.dumps(alone))
        own = [line for line in lines if json.loads(line)["verifier"] == name]
        (folder / name / "results.jsonl").write_text("".join(own))
    return folder


def command_of(folder: Path, name: str) -> str:
    return f"{name}={sys.executable} {folder / name}.py {{result}} {{onnx}} {{vnnlib}}"


@pytest.mark.parametrize(
    ("tool", "by_default", "faults"),
    [
        ("crasher", 1, ["crash", "no-answer"]),
        ("garbler", 1, ["crash", "no-answer"]),
        ("bogus", 1, ["bogus", "unwitnessed", "no-answer"]),
        ("liar", 1, ["unsound"]),
        ("modest", 1, ["no-answer"]),
        ("milp", 0, []),
    ],
)
def test_exit_codes_of_a_score(runs: Path, tool: str, by_default: int, faults: list[str]) -> None:
    done = assay("score", runs / tool)
    assert done.returncode == by_default
    if by_default:
        assert f"assay: {tool} has " in done.stderr
        assert "(--fail-on unsound,no-answer)" in done.stderr
    words = "unsound,bogus,unwitnessed,crash,no-answer"
    every = assay("score", runs / tool, "--fail-on", words, "--json")
    assert every.returncode == bool(faults)
    document = json.loads(every.stdout)
    assert document["fail_on"] == words.split(",")
    failed = [(f["verifier"], f["fault"]) for f in document["failed"]]
    assert failed == [(tool, fault) for fault in faults]


def test_only_what_is_named_fails(runs: Path) -> None:
    for word, code in (("unsound", 1), ("bogus,crash", 0), ("none", 0)):
        assert assay("score", runs / "liar", "--fail-on", word).returncode == code


@pytest.mark.parametrize("command", ["run", "score", "report"])
def test_a_tool_that_only_crashed_shows_its_stderr(runs: Path, command: str) -> None:
    given = {
        "run": ("run", runs / "bench", "-o", runs / "crasher"),
        "score": ("score", runs / "crasher"),
        "report": ("report", runs / "crasher", "-o", runs / "crasher.html"),
    }[command]
    if command == "run":
        given += ("--verifier-command", command_of(runs, "crasher"))
    shown = assay(*given).stdout
    if command == "report":
        shown = (runs / "crasher.html").read_text()
        assert shown.index("crashed on all 2 tasks") < shown.index('id="verdicts"')
    assert "crasher crashed on all 2 tasks (ended by exit code 1)" in shown
    assert "ImportError: no module named solver" in shown
    if command != "report":
        assert shown.index("crasher crashed") < shown.index("verifier")
        document = json.loads(assay(*given, "--json").stdout)
        assert document["crashed"][0]["stderr"] == ["ImportError: no module named solver"]


def test_the_same_of_an_audit(bench: Path, runs: Path, tmp_path: Path) -> None:
    suite = bench.parent / "t.yaml"
    tool = f"broken={sys.executable} {runs / 'crasher.py'} {{result}} {{onnx}} {{vnnlib}}"
    command = ("audit", "--suite", suite, "--verifier-command", tool, "-o", tmp_path / "out")
    done = assay(*command, "--junit", tmp_path / "ci" / "junit.xml")
    assert done.returncode == 1
    assert done.stdout.startswith("broken crashed on all 2 tasks (ended by exit code 1).")
    assert "ImportError: no module named solver" in done.stdout
    assert done.stderr.splitlines()[-1] == (
        "assay: broken has no valid answer to any of 2 instances (--fail-on unsound,no-answer)"
    )
    root = ElementTree.parse(tmp_path / "ci" / "junit.xml").getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        *("2", "0", "2", "0")
    ]
    assert {case.get("name") for case in root.iter("testcase")} == {
        path.stem for path in (tmp_path / "out" / "benchmark" / "truth").iterdir()
    }
    assert assay(*command, "--fail-on", "unsound,bogus").returncode == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<pre>ImportError: no module named solver</pre>" in page
    told = json.loads(assay(*command, "--json").stdout)
    assert told["failed"] == [{"verifier": "broken", "fault": "no-answer", "instances": 2}]
    assert told["crashed"][0]["verifier"] == "broken"


def test_junit_of_a_score_is_replaced_whole(runs: Path, tmp_path: Path) -> None:
    target = tmp_path / "junit.xml"
    assert assay("score", runs / "liar", "--junit", target).returncode == 1
    before = target.read_text()
    with target.open() as held:
        assert assay("score", runs / "milp", "--junit", target).returncode == 0
        assert held.read() == before
    assert [suite.get("name") for suite in ElementTree.parse(target).getroot()] == ["milp"]
    assert [path.name for path in tmp_path.iterdir()] == ["junit.xml"]


def test_wrong_options_are_one_sentence_and_write_nothing(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.xml").write_text("<mine/>")
    for words, said in (
        (("--fail-on", "unsond"), "did you mean 'unsound'?"),
        (("--fail-on", "none,crash"), "'none' stands alone"),
        (("--junit", tmp_path / "mine.xml"), "was not written by Assay"),
        (("--junit", tmp_path), "is a folder"),
        (("--junit", tmp_path / "mine.xml" / "x.xml"), "mine.xml is a file"),
    ):
        for command in (("score", runs / "liar"), ("audit", "interval", "-o", tmp_path / "new")):
            done = assay(*command, *words)
            assert done.returncode == 2, done.stderr
            assert said in done.stderr
            assert done.stderr.startswith("assay: ")
            assert done.stderr.count("\n") == 1
    assert (tmp_path / "mine.xml").read_text() == "<mine/>"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.xml"]
