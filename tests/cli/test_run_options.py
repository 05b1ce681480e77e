"""The options of `assay run` that choose tools and what they get."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import assay


def test_a_command_and_a_folder_with_an_environment(bench: Path, tmp_path: Path) -> None:
    (tmp_path / "say.sh").write_text('echo "$WORD" > "$1"\n')
    folder = tmp_path / "competitor"
    folder.mkdir()
    (folder / "prepare_instance.sh").write_text("#!/bin/bash\nexit 0\n")
    (folder / "run_instance.sh").write_text('#!/bin/bash\necho "$WORD" > "$5"\n')
    done = assay(
        *("run", bench, "-o", tmp_path / "run", "--json"),
        *("--verifier-command", f"says=sh {tmp_path}/say.sh {{result}} {{onnx}} {{vnnlib}}"),
        *("--verifier-dir", folder, "--env", "WORD=unknown", "--cpu-time", 9, "--memory", 999999),
    )
    assert done.returncode == 0, done.stderr
    assert "lower --memory or --jobs" in done.stderr
    assert "run: 4/4 done, 0 running" in done.stderr
    results = json.loads(done.stdout)["results"]
    said = {(r["verifier"], r["verdict"], r["ending"]) for r in results}
    assert said == {("says", "unknown", "answered"), ("competitor", "unknown", "answered")}
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["cpu_s"] == 9
    assert all("WORD=unknown" in version for version in record["verifiers"].values())


def test_more_jobs_than_cores_are_told(bench: Path, tmp_path: Path) -> None:
    words = ("-o", tmp_path / "run", "--jobs", 4096, "--memory", 0.1)
    done = assay("run", bench, "--verifier-command", "true {onnx} {vnnlib} {result}", *words)
    assert done.returncode == 0, done.stderr
    assert "4096 threads on" in done.stderr
    assert "times will suffer; lower --jobs" in done.stderr
