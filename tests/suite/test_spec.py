"""Suites: what is accepted, and the sentence for what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import BadInput
from assay.suite.draw import draw_tasks
from assay.suite.spec import MAX_BYTES, bundled_suites, load_suite, parse_suite

GOOD = """\
name: mine
seed: 3
timeout: 30
families:
  - family: tiny
    count: 4
    grid:
      level: [1e-2, 0.5]
      steps: [1, 2]
    range: {sleep: {low: 1e-5, high: 1e-1, log: true}}
    fixed: {sizes: [3, 4]}
"""

BROKEN = [
    ("count: 4", "coutn: 4", "mine.yaml:6: unknown key 'families.0.coutn'; did you mean 'count'?"),
    ("seed: 3", "sed: 3", "mine.yaml:2: unknown key 'sed'; did you mean 'seed'?"),
    ("seed: 3", "name: again", "mine.yaml:2: key 'name' is written twice (first on line 1)"),
    ("name: mine\n", "", "mine.yaml:1: key 'name' is missing"),
    ("seed: 3", "seed: -3", "mine.yaml:2: seed: should be greater than or equal to 0"),
    ("seed: 3", "seed: 010", "mine.yaml:2: '010' is not a plain decimal number"),
    ("timeout: 30", "timeout: 1:30", "mine.yaml:3: '1:30' is not a plain decimal number"),
    ("timeout: 30", "timeout: .inf", "mine.yaml:3: '.inf' is not a plain decimal number"),
    ("timeout: 30", "timeout: 1e999", "mine.yaml:3: '1e999' is not a plain decimal number"),
    ("timeout: 30", "timeout: '30'", "mine.yaml:3: timeout"),
    ("family: tiny", "family: tinny", "mine.yaml:5: unknown family 'tinny'; did you mean 'tiny'?"),
    (
        "      level:",
        "      levle:",
        "mine.yaml:8: tiny has no knob 'levle'; did you mean 'level'?",
    ),
    ("steps: [1, 2]", "steps: [1, 200]", "mine.yaml:9: 'steps' of tiny should be less than"),
    ("steps: [1, 2]", "steps: [1, '2']", "mine.yaml:9: 'steps' of tiny should be a valid integer"),
    ("steps: [1, 2]", "steps: [1, true]", "mine.yaml:9: 'steps' of tiny should be a valid integer"),
    ("steps: [1, 2]", "steps: 1", "mine.yaml:9: families.0.grid.steps: should be a valid list"),
    ("steps: [1, 2]", "steps: []", "the grid of 'steps' is empty"),
    ("[3, 4]", "[3, x]", "mine.yaml:11: 'sizes' of tiny should be a valid integer"),
    ("fixed: {", "fixed: {steps: 1, ", "'steps' is given twice"),
    ("low: 1e-5", "low: 5", "mine.yaml:10: families.0.range.sleep: low 5 is above high 0.1"),
    ("low: 1e-5", "low: 0", "a logarithmic range needs low above 0"),
    ("low: 1e-5", "lo: 1e-5", "unknown key 'families.0.range.sleep.lo'; did you mean 'low'?"),
    ("sleep: {low: 1e-5", "level: {low: 1e-5", "'level' is given twice"),
    ("count: 4", "count: 4\n    seeds: [1, 1]", "a seed is listed twice"),
    ("count: 4", "count: 9\n    seeds: [1, 2]", "mine.yaml:6: count 9 is more than the 8"),
    ("{sizes: [3, 4]}", "{sizes: &a [3, 4]}\n  - *a", "mine.yaml:12: aliases (*a) are not"),
    ("name: mine", "name: !!python/object:os.system x", "is not used; write a plain value"),
    ("name: mine", "name: [" * 40, "mine.yaml:1: nested more than"),
    ("name: mine", "name: ../mine", "mine.yaml:1: name: String should match"),
    ("name: mine", "? [a]\n: b\nname: mine", "mine.yaml:1: a key must be a word"),
    ("name: mine", "name: {", "mine.yaml:"),
    ("name: mine", "--- 1\n--- 2", "mine.yaml:2: not valid YAML"),
    (GOOD, "- a\n", "mine.yaml:1: a suite must be a mapping"),
    (GOOD, "# nothing\n", "mine.yaml: the file is empty"),
]


@pytest.mark.usefixtures("tiny")
class TestText:
    def test_good(self) -> None:
        suite = parse_suite(GOOD, "mine.yaml")
        entry = suite.spec.families[0]
        assert entry.grid == {"level": [0.01, 0.5], "steps": [1, 2]}
        assert entry.range["sleep"].low == 1e-5
        assert len(draw_tasks(suite)) == 4

    @pytest.mark.parametrize(("old", "new", "sentence"), BROKEN)
    def test_broken(self, old: str, new: str, sentence: str) -> None:
        assert old in GOOD
        with pytest.raises(BadInput) as caught:
            draw_tasks(parse_suite(GOOD.replace(old, new, 1), "mine.yaml"))
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("word", ["no", "false", "off", "False"])
    def test_words_for_off(self, word: str) -> None:
        suite = parse_suite(GOOD.replace("count: 4", f"twins: {word}"), "mine.yaml")
        assert suite.spec.families[0].twins is False


class TestFiles:
    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            (b"", "the file is empty"),
            (b"\x00\x01\x02", "not valid YAML"),
            (b"\xff\xfe\x00", "not UTF-8 text"),
            (b"a: " + b"x" * MAX_BYTES, "larger than"),
            (b"[" * 100_000, "nested more than"),
            (b"- " * 60_000, "nested more than"),
        ],
    )
    @pytest.mark.timeout(120)  # a hang
    def test_refused(self, tmp_path: Path, content: bytes, sentence: str) -> None:
        path = tmp_path / "mine.yaml"
        path.write_bytes(content)
        with pytest.raises(BadInput, match=sentence):
            load_suite(str(path))

    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="not a file"):
            load_suite(str(tmp_path))

    def test_missing_names_the_nearest_bundled_one(self) -> None:
        with pytest.raises(BadInput, match="did you mean 'quick'"):
            load_suite("quikc")

    def test_every_bundled_suite_draws(self) -> None:
        assert "quick" in bundled_suites()
        for name in bundled_suites():
            suite = load_suite(name)
            assert suite.spec.name == name
            assert draw_tasks(suite)
