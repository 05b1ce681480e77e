"""Draw the picture in the README from what the command really prints.

python docs/pictures.py
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
ASSAY = Path(sys.executable).parent / "assay"


def main() -> None:
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
        (HERE / "images" / "check.svg").write_text(alone)


if __name__ == "__main__":
    main()
