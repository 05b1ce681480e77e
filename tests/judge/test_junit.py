"""Outcomes as JUnit XML: parsed again, and counted."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from small_instances import result, truths

from assay.judge.judgement import Asked, judge
from assay.judge.junit import HEAD, to_junit
from assay.judge.results import Result

WORDS = "ended by signal 11; stderr: \x1b[31m<&\"'>\x00 ]]> \ud800 é"
RESULTS = (
    result("meap-0-robust", "robust", wall_s=0.25),
    result("meap-0-violated", "violated", witness_class="exact", wall_s=0.5),
    result("meap-1-robust", "violated"),
    result("meap-1-violated", "robust"),
    result("meap-2-violated", "violated", witness_class="missing"),
    result("corners-0-robust", ending="crashed", detail=WORDS, log="logs/tool/x.0.log"),
    result("corners-0-violated", ending="garbled", detail="it left no result file"),
    result("corners-1-robust", ending="unsupported", detail="no operator Erf"),
    result("corners-1-violated", "unknown"),
    result("corners-2-robust", ending="timeout"),
    result("edge-0-violated", "robust"),
    result("meap-0-robust", "robust", verifier="other & co"),
)


def document(*results: Result) -> ElementTree.Element:
    names = tuple(dict.fromkeys(r.instance for r in results))
    tools = dict.fromkeys(((r.verifier, r.version) for r in results), 1)
    folders = dict.fromkeys(tools, Path("/runs/first"))
    text = to_junit(judge(results, truths(), "bench", Asked(names, tools)), folders)
    assert text.startswith(HEAD)
    return ElementTree.fromstring(text.encode())


def test_the_counts_are_those_of_the_cases() -> None:
    root = document(*RESULTS)
    assert [suite.get("name") for suite in root] == ["other & co", "tool"]
    for suite in (*root, root):
        cases = [*suite.iter("testcase")]
        assert int(suite.get("tests", "")) == len(cases)
        for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(name, "")) == sum(case.find(kind) is not None for case in cases)
    tool = root[1]
    assert [tool.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        *("11", "3", "2", "3")
    ]
    assert root[0].get("skipped") == "10"
    assert root.get("tests") == "22"
    assert float(tool.get("time", "")) == sum(r.wall_s for r in RESULTS if r.verifier == "tool")


def test_what_a_case_says() -> None:
    cases = {case.get("name"): case for case in document(*RESULTS)[1]}
    assert [child.tag for child in cases["meap-0-robust"]] == ["system-out"]
    assert cases["meap-0-robust"].get("classname") == "tool.meap"
    assert cases["meap-0-robust"].get("time") == "0.250"
    kinds = {
        "meap-1-robust": ("failure", "bogus"),
        "meap-1-violated": ("failure", "unsound"),
        "meap-2-violated": ("failure", "unwitnessed"),
        "corners-0-robust": ("error", "crashed"),
        "corners-0-violated": ("error", "garbled"),
    }
    for name, (kind, outcome) in kinds.items():
        ending = cases[name].find(kind)
        assert ending is not None
        assert ending.get("type") == outcome
    crashed = cases["corners-0-robust"].find("error")
    assert crashed is not None
    said = crashed.get("message", "")
    assert "ended by signal 11" in said
    assert "<&\"'>" in said
    assert crashed.text == "log: /runs/first/logs/tool/x.0.log"
    skipped = cases["corners-1-robust"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "unsupported: no operator Erf"
    edge = cases["edge-0-violated"]
    assert [(child.tag, child.text) for child in edge] == [
        ("system-out", "outcome: unsound, knife-edge")
    ]
