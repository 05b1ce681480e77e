"""Draw the pictures of the docs from what really happens.

python docs/pictures.py check                what `assay check` prints
python docs/pictures.py report audit         the page that an audit wrote (needs chromium)
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parent / "images"
ASSAY = Path(sys.executable).parent / "assay"
QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update")


def check() -> None:
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "88"}
    with tempfile.TemporaryDirectory() as work:
        screen = Console(record=True, width=88, file=io.StringIO())
        for arguments in (["build", "quick", "-o", "bench"], ["check", "bench"]):
            done = subprocess.run(
                [ASSAY, *arguments],
                cwd=work,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=True,
            )
            screen.print(f"[bold]$ assay {' '.join(arguments)}[/bold]")
            screen.print(Text.from_ansi(done.stdout.rstrip()))
        picture = screen.export_svg(title="assay")
        # fonts come from the reader's machine, not from the network
        alone = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
        (IMAGES / "check.svg").write_text(alone)


def report(audit: str) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("pictures: there is no chromium; install it (Debian: chromium)")
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *(*QUIET, f"--user-data-dir={profile}", "--window-size=1120,1080"),
                f"--screenshot={IMAGES / 'report.png'}",
                (Path(audit) / "report.html").resolve().as_uri(),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )


if __name__ == "__main__":
    {"check": check, "report": report}[sys.argv[1]](*sys.argv[2:])
