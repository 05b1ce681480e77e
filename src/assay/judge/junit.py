"""Outcomes as JUnit XML, which CI systems show: a suite for each verifier, a case an instance.

A right answer passes. What is wrong (unsound, contradicted, bogus, unwitnessed, inconsistent) is a
failure, a crash or an unreadable result an error. Where there is no answer to judge (unknown,
timeout, out of memory, unsupported, refused, not run) the case is skipped, with the reason.
Knife-edge instances never fail: rounding may turn their answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from assay.judge.judgement import Judged, Judgement
from assay.judge.outcome import Outcome

Kind = Literal["passed", "failure", "error", "skipped"]
HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n'
HEAD = f'{HEADER}<testsuites name="assay"'
"""What every such file of ours begins with."""
_FAILURES: Mapping[Outcome, str] = {
    "unsound": "says robust, but an exact counterexample exists",
    "contradicted": "says robust, but another verifier has an exact counterexample",
    "bogus": "says violated, but the instance is proved robust",
    "unwitnessed": "says violated, but its witness shows no violation",
    "inconsistent": "repeats gave different answers",
}
_ERRORS: Mapping[Outcome, str] = {
    "crashed": "crashed",
    "garbled": "its result could not be read",
}
_SKIPPED: Mapping[Outcome, str] = {
    "unknown": "no answer: unknown",
    "timeout": "no answer: timeout",
    "out-of-memory": "no answer: out of memory",
    "unsupported": "unsupported",
    "refused": "no answer: the tool refused the question",
}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(judgement: Judgement, folders: Mapping[tuple[str, str], Path]) -> str:
    """The whole document; `folders` are the runs of the tools, for the full names of their logs."""
    by_verifier: dict[str, dict[str, Judged]] = defaultdict(dict)
    for judged in judgement.judged:
        by_verifier[judged.settled.verifier][judged.settled.instance] = judged
    root = ElementTree.Element("testsuites", {"name": "assay"})
    for verifier in sorted(judgement.tools):
        suite = ElementTree.SubElement(root, "testsuite", {"name": _text(verifier)})
        for instance, place in judgement.places.items():
            found = by_verifier[verifier].get(instance)
            seconds = 0.0 if found is None else found.settled.wall_s
            case = ElementTree.SubElement(
                suite,
                "testcase",
                {
                    "classname": _text(f"{verifier}.{place.family}"),
                    "name": _text(instance),
                    "time": f"{seconds:.3f}",
                },
            )
            _add_ending(case, found, folders)
        _add_counts(suite)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', '0')) for suite in root):.3f}")
    ElementTree.indent(root, " ")
    return HEADER + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_ending(
    case: ElementTree.Element, judged: Judged | None, folders: Mapping[tuple[str, str], Path]
) -> None:
    if judged is None:
        ElementTree.SubElement(case, "skipped", {"message": "not run"})
        return
    kind, message = _kind(judged)
    outcome, detail = judged.settled.outcome, judged.settled.result.detail
    if kind == "skipped":
        words = f"{message}: {detail}" if detail else message
        ElementTree.SubElement(case, "skipped", {"message": _text(words)})
    elif kind != "passed":
        ending = ElementTree.SubElement(
            case, kind, {"type": outcome, "message": _text(f"{message}; {detail}".rstrip("; "))}
        )
        result = judged.settled.result
        if result.log:
            folder = folders.get((result.verifier, result.version))
            log = result.log if folder is None else folder.absolute() / result.log
            ending.text = _text(f"log: {log}")
    edge = ", knife-edge" if judged.place.group == "real" else ""
    ElementTree.SubElement(case, "system-out").text = _text(f"outcome: {outcome}{edge}")


def _kind(judged: Judged) -> tuple[Kind, str]:
    outcome = judged.settled.outcome
    if outcome in _FAILURES:
        knife_edge = judged.place.group == "real" and outcome != "inconsistent"
        return ("passed", "") if knife_edge else ("failure", _FAILURES[outcome])
    if outcome in _ERRORS:
        return "error", _ERRORS[outcome]
    if outcome in _SKIPPED:
        return "skipped", _SKIPPED[outcome]
    return "passed", ""


def _add_counts(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in suite):.3f}")


def _text(words: str) -> str:
    """What XML can hold: a tool's last words may have any character."""
    return _NOT_XML.sub("\ufffd", words)
