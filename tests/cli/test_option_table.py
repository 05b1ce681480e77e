"""The same option means the same in every command, and the docs have the table of it."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest
from command_line import assay

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import command_line_table as table  # noqa: E402

MEANINGS = {
    "--output": {
        "Folder to write: new or empty.",
        "Folder to write: new, empty, or one where the same command was stopped.",
        "File to write.",
    },
    "--verifier": {
        "Name of a verifier (`assay verifiers` lists them).",
        "Name of a verifier (`assay verifiers` lists them); may be repeated.",
    },
}
"""Where one option has more than one form; all others have exactly one."""
DEFAULTS = {
    "--jobs": {"0"},
    "--memory": {"2", "4"},
    "--device": {"cpu", "auto"},
    "--seed": {"0", "the suite's own"},
    "--fail-on": {"unsound,no-answer"},
    "--json": {"optional"},
}
SHORT = {"--output": "-o", "--jobs": "-j", "--verifier": "-v"}


def test_a_name_has_one_meaning_and_one_short_name() -> None:
    meanings, shorts, defaults = defaultdict(set), defaultdict(set), defaultdict(set)
    for _, long, option in table.shared_options():
        meanings[long].add(table.meaning(option))
        shorts[long].add(table.short_name(option))
        defaults[long].add(table.default(option))
    for long, found in meanings.items():
        if long in MEANINGS:
            assert found <= MEANINGS[long]
        else:
            assert len(found) == 1, (long, found)
        assert shorts[long] == {SHORT.get(long, "")}
        assert defaults[long] <= DEFAULTS.get(long, defaults[long]), long


def test_a_short_name_belongs_to_one_option() -> None:
    owners = defaultdict(set)
    for name, command in table.commands():
        for option in command.params:
            for short in option.opts:
                if short.startswith("-") and not short.startswith("--"):
                    owners[short].add(max(option.opts, key=len))
        assert command.help, name
    assert {short: len(names) for short, names in owners.items()} == dict.fromkeys(owners, 1)
    assert owners.keys() >= {"-o", "-j", "-v"}


def test_commands_have_what_their_kind_has() -> None:
    has = defaultdict(set)
    for name, long, _ in table.shared_options():
        has[name].add(long)
    for name, _ in table.commands():
        if name != "verifiers remove":
            assert "--json" in has[name], name
    for name in ("audit", "run", "shrink", "verifiers check"):
        assert has[name] >= {"--verifier", "--verifier-dir", "--verifier-command"}
    assert {name for name in has if "--device" in has[name]} == {
        *("attack", "profile", "roma", "splitting", "train"),
        *("weakened decide", "weakened radius", "weakened curve"),
    }


def test_the_docs_have_the_table() -> None:
    page = DOCS / "command-line.md"
    assert table.tables_of(page) == [table.option_table(), table.use_table()], (
        "run: python docs/command_line_table.py"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "quick", "-o", "x", "--jobs", "-1"), "--jobs -1 cannot be done at once"),
        (("build", "quick", "-o", "x", "--seed", "-1"), "--seed -1 is not a seed"),
        (("profile", ".", "--seed", 2**63), "is not a seed; give a whole number from 0"),
        (("profile", ".", "--device", "tpu"), "--device tpu is not known; give cpu, cuda or auto"),
        (("train", "tiny_mlp", "-o", "x", "--device", "tpu"), "--device tpu is not known"),
        (("train", "tiny_mlp", "-o", "x", "--seed", 2**31 + 1), "is too large here"),
        (("certify", "n.onnx", "--centre", "c", "-o", "x", "--timeout", 0), "is not a limit"),
        (("count", "n.onnx", "q.vnnlib", "--time", "inf"), "--time inf is not a limit"),
        (("shrink", "r", "i", "--budget", 0), "--budget 0 is not a limit"),
        (("shrink", "r", "i", "marabou", "-v", "milp"), "marabou and -v milp are two verifiers"),
    ],
)
def test_a_value_out_of_range_is_one_sentence(
    words: tuple[object, ...], said: str, tmp_path: Path
) -> None:
    done = assay(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.startswith("assay: ")
    assert done.stderr.count("\n") == 1
    assert not [*tmp_path.iterdir()]


def test_verifiers_with_and_without_the_option(bench: Path, tmp_path: Path) -> None:
    mixed = assay("run", bench, "interval", "-v", "linear", "-o", tmp_path / "run", "--json")
    assert mixed.returncode == 0, mixed.stderr
    assert '"linear"' in mixed.stdout
    assert '"interval"' in mixed.stdout
    done = assay("audit", "-v", "marabu", "-o", tmp_path / "x")
    assert "did you mean 'marabou'?" in done.stderr
