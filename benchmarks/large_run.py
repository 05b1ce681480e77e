"""Scoring and reporting 10^5 results: seconds, memory, size of the page, and how fast it opens.

python benchmarks/large_run.py [--instances 10000] [--tools 10]
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from assay.judge.results import Result
from assay.judge.run_folder import RESULTS_FILE, RUN_FILE, benchmark_sha256
from assay.suite.folder import BenchmarkFolder
from assay.truth.families import family
from assay.truth.instance import Instance

ASSAY = (sys.executable, "-m", "assay.cli.main")
SETTING = {"inputs": 50, "classes": 3, "pairs": 2, "gamma": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--tools", type=int, default=10)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        results = write_run(work, chosen.instances, chosen.tools)
        print(f"{results} results, {(work / 'run' / RESULTS_FILE).stat().st_size / 1e6:.0f} MB")
        measure("score", [*ASSAY, "score", "run", "--json"], work)
        measure("report", [*ASSAY, "report", "run", "-o", "report.html"], work)
        print(f"page: {(work / 'report.html').stat().st_size / 1e6:.1f} MB")
        open_page(work)


def write_run(work: Path, instances: int, tools: int) -> int:
    """A benchmark of one question under many names, and answers with witnesses to it."""
    constructor = family("meap")
    robust, violated = constructor.make(constructor.knobs.model_validate(SETTING), 0)
    bench = work / "bench"
    for part in ("onnx", "vnnlib", "truth"):
        (bench / part).mkdir(parents=True)
    made = {f"question-{i:06}": (robust, violated)[i % 2] for i in range(instances)}
    rows = []
    for name, instance in made.items():
        (bench / "onnx" / f"{name}.onnx").write_bytes(instance.onnx)
        (bench / "vnnlib" / f"{name}.vnnlib").write_bytes(instance.vnnlib)
        (bench / "truth" / f"{name}.json").write_text(instance.truth.to_json())
        rows.append(f"onnx/{name}.onnx,vnnlib/{name}.vnnlib,60\n")
    (bench / "instances.csv").write_text("".join(rows))
    run = work / "run"
    run.mkdir()
    plan = {"benchmark": str(bench), "timeout_s": 60.0, "memory_mb": 4096.0}
    plan["verifiers"] = {f"tool-{tool}": "1" for tool in range(tools)}
    plan["benchmark_sha256"] = benchmark_sha256(BenchmarkFolder.open(bench))
    (run / RUN_FILE).write_text(json.dumps(plan))
    draw = random.Random(0)
    with (run / RESULTS_FILE).open("w") as stream:
        for name, instance in made.items():
            for tool in range(tools):
                stream.write(answer(name, instance, f"tool-{tool}", draw).to_line())
    return instances * tools


def answer(name: str, instance: Instance, tool: str, draw: random.Random) -> Result:
    """Right, late or unknown; one in two thousand wrong."""
    truth, chance = instance.truth, draw.random()
    verdict, ending = ("unknown", "answered") if chance < 0.1 else (truth.answer, "answered")
    if chance > 0.8:
        verdict, ending = None, "timeout"
    if chance < 0.0005:
        verdict = "violated" if truth.answer == "robust" else "robust"
    falsified = verdict == "violated"
    witness = tuple(str(v) for v in (truth.witness or ["0.5"] * 50)) if falsified else None
    right = falsified and truth.answer == "violated"
    return Result(
        instance=name,
        verifier=tool,
        version="1",
        verdict=verdict,
        ending=ending,
        wall_s=round(draw.expovariate(0.1), 3),
        cpu_s=1.0,
        memory_mb=100.0,
        repeat=0,
        onnx_sha256=truth.onnx_sha256,
        vnnlib_sha256=truth.vnnlib_sha256,
        command=("tool", "--net", f"/bench/onnx/{name}.onnx"),
        witness=witness,
        witness_class=("exact" if right else "no violation") if falsified else None,
    )


def measure(what: str, command: list[str], work: Path) -> None:
    before, started = _largest_child(), time.monotonic()
    done = subprocess.run(command, cwd=work, stdout=subprocess.DEVNULL, check=False)
    peak = max(_largest_child(), before)
    print(f"{what}: exit {done.returncode}, {time.monotonic() - started:.1f} s, peak {peak:.0f} MB")


def _largest_child() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def open_page(work: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print("there is no chromium here; the page was not opened")
        return
    (work / "empty.html").write_text("<p>empty</p>")
    seconds = {}
    for page in ("empty.html", "report.html", "empty.html", "report.html"):
        started = time.monotonic()
        subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-background-networking", "--disable-component-update"),
                *(f"--user-data-dir={work / 'profile'}", "--window-size=1280,1000"),
                *(f"--screenshot={work / 'page.png'}", (work / page).as_uri()),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )
        seconds[page] = time.monotonic() - started
    more = seconds["report.html"] - seconds["empty.html"]
    print(f"chromium: drawn in {more:.1f} s beyond an empty page ({seconds['report.html']:.1f} s)")


if __name__ == "__main__":
    main()
