"""Environments of verifiers: real virtual environments and a real pip, without a network."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tier import sized

from assay.errors import BadInput
from assay.judge import environments
from assay.judge.answers import read_vnncomp
from assay.judge.environment import Environment
from assay.judge.environments import home, install, installed, python_of, remove, source_of
from assay.judge.task import Invocation, Question
from assay.judge.verifier import Verifier

STUCK_PROJECT = """[build-system]
requires = []
build-backend = "stuck"
backend-path = ["."]
"""
STUCK_BACKEND = """import pathlib, time
pathlib.Path({marker!r}).write_text("begun")
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def assay_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path / "home"


def verifier(environment: Environment | None, name: str = "toy") -> Verifier:
    def invoke(question: Question, folder: Path) -> Invocation:
        return Invocation((str(python_of(name)), str(question.onnx), str(folder)))

    return Verifier(
        name=name,
        summary="for tests",
        install_hint=f"assay verifiers install {name}",
        operators=None,
        version=lambda: None,
        invoke=invoke,
        read=read_vnncomp,
        environment=environment,
    )


def wheel(folder: Path) -> Path:
    """A package of one module, written by hand so that nothing has to be built."""
    path = folder / "tinytool-1.5-py3-none-any.whl"
    info = "tinytool-1.5.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tinytool.py", "import shim\nANSWER = 42 + shim.EXTRA\n")
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinytool\nVersion: 1.5\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def recipe(folder: Path) -> Environment:
    return Environment(
        packages=((str(wheel(folder)),),),
        modules={"shim.py": "EXTRA = 1\n", "deep/er.py": ""},
    )


def run_python(name: str, code: str) -> str:
    command = [str(python_of(name)), "-I", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_a_whole_life(tmp_path: Path, assay_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(environments.__file__).parents[2]))
    said: list[str] = []
    tool = verifier(recipe(tmp_path))
    assert installed("toy") is None
    made = install(tool, None, said.append)
    assert installed("toy") == made
    assert made.packages["tinytool"] == "1.5"
    assert set(made.packages) <= {"tinytool", "pip", "setuptools"}, "Assay's own leak in"
    assert (made.source, made.source_version) == (None, None)
    assert made.date.endswith("+00:00")
    assert run_python("toy", "import tinytool, deep.er; print(tinytool.ANSWER)") == "43"
    assert any("pip install" in text for text in said)

    said.clear()
    assert install(tool, None, said.append) == made
    assert "installed already" in said[0]

    remove("toy")
    assert installed("toy") is None
    assert not (assay_home / "verifiers" / "toy").exists()
    with pytest.raises(BadInput, match="not installed; run: assay verifiers install toy"):
        python_of("toy")
    with pytest.raises(BadInput, match="no environment in"):
        remove("toy")


def test_pip_fails(assay_home: Path) -> None:
    tool = verifier(Environment(packages=(("there-is-no-such-package==9.9",),)))
    with pytest.raises(BadInput) as caught:
        install(tool)
    message, log = str(caught.value), assay_home / "verifiers" / "toy" / "install.log"
    assert "pip failed: ERROR: No matching distribution found" in message
    assert "there-is-no-such-package" in message
    assert message.endswith(f"the log is {log}")
    assert "\n" not in message
    assert "no-such-package" in log.read_text()
    assert installed("toy") is None
    assert not (log.parent / "venv").exists()


@pytest.mark.nightly
def test_another_recipe_replaces_the_environment(tmp_path: Path) -> None:
    made = install(verifier(recipe(tmp_path)))
    changed = replace(recipe(tmp_path), modules={"shim.py": "EXTRA = 2\n"})
    assert install(verifier(changed)).recipe != made.recipe
    assert run_python("toy", "import tinytool; print(tinytool.ANSWER)") == "44"
    with pytest.raises(BadInput):
        install(verifier(Environment(packages=(("no-such-package",),))))
    assert installed("toy") is None, "what failed must not pass for the old environment"


@pytest.mark.slow
@pytest.mark.parametrize("number", sized([signal.SIGKILL], [signal.SIGINT, signal.SIGKILL]))
def test_interrupted(tmp_path: Path, assay_home: Path, number: int) -> None:
    package, marker = tmp_path / "stuck", tmp_path / "begun"
    package.mkdir()
    (package / "pyproject.toml").write_text(STUCK_PROJECT)
    (package / "stuck.py").write_text(STUCK_BACKEND.format(marker=str(marker)))
    script = tmp_path / "installer.py"
    script.write_text(
        "import test_environments as t\n"
        f"t.install(t.verifier(t.Environment(packages=(({str(package)!r},),))))\n"
    )
    here = Path(__file__).parent
    paths = map(str, (here, here.parent / "tiers", Path(environments.__file__).parents[2]))
    installer = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    folder = assay_home / "verifiers" / "toy"
    try:
        wait_for(marker.exists)
        assert installed("toy") is None
        with pytest.raises(BadInput, match="another process is installing or removing it"):
            install(verifier(recipe(tmp_path)))
        with pytest.raises(BadInput, match="another process is installing or removing it"):
            remove("toy")
        if number == signal.SIGINT:
            os.killpg(installer.pid, number)
        else:
            installer.send_signal(number)
        assert installer.wait(60) != 0
    finally:
        end_session(installer)
    assert installed("toy") is None
    assert (folder / "venv").exists() == (number == signal.SIGKILL)
    install(verifier(recipe(tmp_path)))
    assert run_python("toy", "import tinytool; print(tinytool.ANSWER)") == "43"


def end_session(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the installer, pip included, as a reboot would."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: not group_is_alive(process.pid))


def group_is_alive(group: int) -> bool:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = text_of(stat).rpartition(")")[2].split()
        if len(fields) > 2 and fields[2] == str(group) and fields[0] != "Z":
            return True
    return False


def text_of(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_source_folder(tmp_path: Path) -> None:
    tool = verifier(Environment(packages=(), source=("run.py", "part/model.py")))
    source = tmp_path / "source"
    (source / "part").mkdir(parents=True)
    with pytest.raises(BadInput, match=r"run\.py.*--source PATH"):
        install(tool)
    (source / "run.py").write_text("")
    with pytest.raises(BadInput, match=r"source: holds no part/model\.py"):
        install(tool, source)
    with pytest.raises(BadInput, match=r"holds no run\.py"):
        install(tool, tmp_path / "nowhere")
    (source / "part" / "model.py").write_text("")
    (source / ".git").mkdir()
    (source / ".git" / "HEAD").write_text("0123456789abcdef0123456789abcdef01234567\n")
    made = install(tool, source)
    assert made.source_version == "commit 0123456789ab"
    assert source_of("toy") == source.resolve()
    (source / "run.py").unlink()
    (source / "part" / "model.py").unlink()
    source.rename(tmp_path / "moved")
    with pytest.raises(BadInput, match="now gone; run: assay verifiers install toy --source"):
        source_of("toy")


def test_no_source_where_none_is_needed(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="leave --source out"):
        install(verifier(Environment(packages=())), tmp_path)


def test_nothing_to_install() -> None:
    with pytest.raises(BadInput, match="no environment of its own"):
        install(verifier(None))


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", ".hidden", "a\0b", "/etc"])
def test_names_stay_in_the_folder(name: str) -> None:
    for act in (installed, remove, python_of, source_of):
        with pytest.raises(BadInput, match="is not the name of a verifier"):
            act(name)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": 1}', '{"schema": 2}', "null"])
def test_a_broken_record_is_no_installation(assay_home: Path, text: str) -> None:
    folder = assay_home / "verifiers" / "toy"
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").write_text("")
    (folder / "installed.json").write_text(text)
    assert installed("toy") is None


def test_a_lost_interpreter_is_no_installation(assay_home: Path) -> None:
    install(verifier(Environment(packages=())))
    record = assay_home / "verifiers" / "toy" / "installed.json"
    assert json.loads(record.read_text())["schema"] == 1
    with pytest.raises(BadInput, match="with no source folder"):
        source_of("toy")
    python_of("toy").unlink()
    assert installed("toy") is None


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "file"))
    with pytest.raises(BadInput, match=r"cannot write .*ASSAY_HOME"):
        install(verifier(Environment(packages=())))


def test_where_home_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home() == tmp_path / "home"
    monkeypatch.delenv("ASSAY_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert home() == tmp_path / "data" / "assay"
    monkeypatch.setenv("XDG_DATA_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".local" / "share" / "assay"
