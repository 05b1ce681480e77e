"""alpha-beta-CROWN and nnenum as declared: all that can be told without having them.

The drivers run here on small source folders that stand for the tools; the last test runs the real
tools where they are installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from assay.errors import BadInput
from assay.judge.answers import read_vnncomp
from assay.judge.catalogue import verifier
from assay.judge.conformance.check import check_verifier
from assay.judge.drivers import abcrown_driver, nnenum_driver
from assay.judge.source_tool import version_of
from assay.judge.task import Answer, Invocation, Question
from assay.judge.verifier import Refused, Verifier

TOOLS = ("abcrown", "nnenum")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def pretend_installed(home: Path, name: str, source: Path) -> Path:
    """What an installation leaves, with no packages in it; returns its interpreter."""
    folder = home / "verifiers" / name
    python = folder / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    document = {
        "schema": 1,
        "name": name,
        "python": "3.11",
        "packages": {},
        "source": str(source),
        "source_version": None,
        "date": "2026-11-15",
        "recipe": "",
    }
    (folder / "installed.json").write_text(json.dumps(document))
    return python


def question(folder: Path) -> Question:
    return Question("q", folder / "q.onnx", folder / "q.vnnlib", 30.0)


def run(driver: Path, source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    arguments = (source, "net.onnx", "net.vnnlib", "30.0", folder / "result.txt")
    return subprocess.run(
        [sys.executable, "-I", str(driver), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def answer_of(driver: Path, source: Path, folder: Path) -> Answer:
    ended = run(driver, source, folder)
    assert ended.returncode == 0, ended.stderr
    return read_vnncomp((folder / "result.txt").read_text())


# ---------------------------------------------------------------- as declared


@pytest.mark.parametrize("name", TOOLS)
def test_not_installed_has_no_version_and_says_how_to_get_it(home: Path, name: str) -> None:
    tool = verifier(name)
    assert tool.version() is None
    assert f"assay verifiers install {name} --source" in tool.install_hint
    with pytest.raises(BadInput, match=f"'{name}' is not installed"):
        tool.invoke(question(home), home)


@pytest.mark.parametrize("name", TOOLS)
def test_a_source_folder_that_is_gone_is_not_installed(
    home: Path, tmp_path: Path, name: str
) -> None:
    pretend_installed(home, name, tmp_path / "gone")
    assert verifier(name).version() is None
    with pytest.raises(BadInput, match="now gone"):
        verifier(name).invoke(question(tmp_path), tmp_path)


@pytest.mark.parametrize("name", TOOLS)
def test_the_command_runs_the_driver_in_the_tools_own_python(
    home: Path, tmp_path: Path, name: str
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    python = pretend_installed(home, name, source)
    made: Invocation = verifier(name).invoke(question(tmp_path), tmp_path / "task")
    driver = {"abcrown": abcrown_driver, "nnenum": nnenum_driver}[name].__file__
    files = [str(tmp_path / "q.onnx"), str(tmp_path / "q.vnnlib")]
    result = str(tmp_path / "task" / "result.txt")
    assert list(made.command) == [str(python), "-I", driver, str(source), *files, "30.0", result]
    assert made.result == "result.txt"
    assert made.environment["OMP_NUM_THREADS"] == "1"
    # Neither tool is to write into the user's own folders.
    assert Path(made.environment["XDG_DATA_HOME"]).is_relative_to(tmp_path / "task")


@pytest.mark.parametrize("name", TOOLS)
def test_every_package_is_pinned_once(name: str) -> None:
    environment = verifier(name).environment
    assert environment is not None
    assert environment.source
    packages = [p for step in environment.packages for p in step if not p.startswith("--")]
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", p) for p in packages)
    names = [p.partition("==")[0].lower() for p in packages]
    assert len(set(names)) == len(names)


def test_the_version_is_what_the_source_declares_its_commit_and_its_files(tmp_path: Path) -> None:
    def version() -> str:
        return version_of(tmp_path, "pyproject.toml")

    assert version() == "version not known"
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1.0.1"\n')
    assert re.fullmatch(r"1\.0\.1, files [0-9a-f]{12}", version())
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(COMMIT + "\n")
    clean = version()
    assert re.fullmatch(r"1\.0\.1, commit 0123456789ab, files [0-9a-f]{12}", clean)
    (tmp_path / "solver.py").write_text("print('unsat')\n")
    edited = version()
    assert edited.startswith("1.0.1, commit 0123456789ab, files ")
    assert edited != clean
    (tmp_path / "pyproject.toml").write_bytes(b"\xff")
    assert version().startswith("commit 0123456789ab, files ")


def test_the_modules_beside_the_packages_of_abcrown_give_what_it_imports(tmp_path: Path) -> None:
    environment = verifier("abcrown").environment
    assert environment is not None
    for file, text in environment.modules.items():
        (tmp_path / file).write_text(text)
    copy = tmp_path / "src" / "helper" / "network" / "onnx2pytorch"
    for part in ("convert", "operations"):
        (copy / part).mkdir(parents=True)
    (copy / "convert" / "__init__.py").write_text("from ..operations import ConvertModel\n")
    (copy / "operations" / "__init__.py").write_text("class ConvertModel: pass\n")
    program = (
        "import torchvision.datasets as d; import torchvision.transforms as t\n"
        "from torchvision import datasets, transforms\n"
        "import onnx2pytorch; print(onnx2pytorch.ConvertModel, onnx2pytorch.operations)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


# ---------------------------------------------------------------- nnenum's driver

NNENUM = Path(nnenum_driver.__file__)
NNENUM_FRONT = """
import sys
from types import SimpleNamespace

def make_spec(vnnlib, onnx):
    assert {reads}, "failed parsing line"

def load_onnx_network(onnx):
    assert {takes}, "Onnx model contains node with op Erf"

def enumerate_network(box, network, spec):
    assert {sane}, "an assert of its own"
    return SimpleNamespace(result_str={word!r}, cinput={cinput}, coutput=[0.25])

def main():
    onnx, vnnlib, timeout, outfile, processes = sys.argv[1:]
    assert processes == "1"
    make_spec(vnnlib, onnx)
    load_onnx_network(onnx)
    found = enumerate_network(None, None, None).result_str
    if found == "safe":
        found = "holds"
    elif "unsafe" in found:
        found = "violated"
    with open(outfile, "w") as stream:
        stream.write(found)
    if found == "error":
        sys.exit(1)
"""


def nnenum_source(
    folder: Path,
    word: str,
    *,
    cinput: str = "[0.1, -0.5]",
    reads: bool = True,
    takes: bool = True,
    sane: bool = True,
) -> Path:
    package = folder / "source" / "src" / "nnenum"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    text = NNENUM_FRONT.format(word=word, cinput=cinput, reads=reads, takes=takes, sane=sane)
    (package / "nnenum.py").write_text(text)
    return folder / "source"


def test_nnenum_gives_a_confirmed_counterexample_to_the_last_digit(tmp_path: Path) -> None:
    answer = answer_of(NNENUM, nnenum_source(tmp_path, "unsafe"), tmp_path)
    assert answer.verdict == "violated"
    assert answer.witness is not None
    assert [Fraction(text) for text in answer.witness] == [Fraction(0.1), Fraction(-0.5)]
    assert answer.witness_outputs == ("0.25",)


def test_nnenum_without_a_confirmed_counterexample_gives_none(tmp_path: Path) -> None:
    source = nnenum_source(tmp_path, "unsafe (unconfirmed)", cinput="[0.0, 0.0]")
    assert answer_of(NNENUM, source, tmp_path) == Answer("violated")


@pytest.mark.parametrize(("word", "verdict"), [("safe", "robust"), ("timeout", "unknown")])
def test_nnenum_words(tmp_path: Path, word: str, verdict: str) -> None:
    answer = answer_of(NNENUM, nnenum_source(tmp_path, word), tmp_path)
    assert (answer.verdict, answer.witness) == (verdict, None)


@pytest.mark.parametrize("failing", ["reads", "takes"])
def test_nnenum_declines_what_it_cannot_read(tmp_path: Path, failing: str) -> None:
    source = nnenum_source(tmp_path, "safe", reads=failing != "reads", takes=failing != "takes")
    with pytest.raises(Refused):
        answer_of(NNENUM, source, tmp_path)


@pytest.mark.parametrize("word", ["safe", "error"])
def test_nnenum_failing_in_its_own_work_is_no_refusal(tmp_path: Path, word: str) -> None:
    ended = run(NNENUM, nnenum_source(tmp_path, word, sane=word == "error"), tmp_path)
    assert ended.returncode == 1
    assert not (tmp_path / "result.txt").exists()


# ---------------------------------------------------------------- alpha-beta-CROWN's driver

ABCROWN = Path(abcrown_driver.__file__)
ABCROWN_MAIN = """
import argparse

class ABCROWN:
    def __init__(self, args):
        parser = argparse.ArgumentParser()
        for name in ("config", "onnx_path", "vnnlib_path", "results_file", "cex_path"):
            parser.add_argument("--" + name, required=True)
        parser.add_argument("--timeout", type=float, required=True)
        self.given = parser.parse_args(args)

    def main(self):
        {first}
        assert "device: cpu" in open(self.given.config).read()
        with open(self.given.cex_path, "w") as stream:
            stream.write("((X_0  0.1)\\n(X_1  -0.5)\\n(Y_0  0.25))")
        with open(self.given.results_file, "w") as stream:
            stream.write({word!r})
            if {word!r} == "sat":
                stream.write("\\n" + open(self.given.cex_path).read())
"""


def abcrown_source(folder: Path, word: str, first: str = "pass") -> Path:
    package = folder / "source" / "complete_verifier"
    package.mkdir(parents=True)
    (package / "abcrown.py").write_text(ABCROWN_MAIN.format(word=word, first=first))
    return folder / "source"


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("unsat", Answer("robust")),
        ("timeout", Answer("unknown")),
        ("sat", Answer("violated", ("0.1", "-0.5"), ("0.25",))),
    ],
)
def test_abcrown_words(tmp_path: Path, word: str, answer: Answer) -> None:
    assert answer_of(ABCROWN, abcrown_source(tmp_path, word), tmp_path) == answer


def test_abcrown_declines_what_it_has_not_implemented(tmp_path: Path) -> None:
    source = abcrown_source(tmp_path, "unsat", "raise NotImplementedError('no Erf')")
    with pytest.raises(Refused):
        answer_of(ABCROWN, source, tmp_path)


def test_abcrown_failing_otherwise_is_a_crash(tmp_path: Path) -> None:
    ended = run(ABCROWN, abcrown_source(tmp_path, "unsat", "raise ValueError('oops')"), tmp_path)
    assert ended.returncode == 1
    assert not (tmp_path / "result.txt").exists()


# ---------------------------------------------------------------- the real tools


@pytest.mark.slow
@pytest.mark.parametrize("name", TOOLS)
def test_the_real_tool_fails_nothing_in_the_exam(name: str) -> None:
    tool: Verifier = verifier(name)
    if tool.version() is None:
        pytest.skip(f"not installed; {tool.install_hint}")
    marks = list(check_verifier(tool))
    assert [m for m in marks if m.mark == "fails"] == []
    assert sum(m.mark == "passes" for m in marks) >= 8
