"""A page as a browser sees it: its elements and texts, and what is left after its script ran."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
EVIL = (
    "</script><script>document.title='OWNED'</script><img src=x onerror=\"document.title='OWNED'\">"
)


class Page(HTMLParser):
    """The elements and texts of a page, as a browser would tell them apart."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.script: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.script.append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.script[-1] += data
        elif self._inside != "style":
            self.text += data

    @property
    def data(self) -> Any:
        return json.loads(self.script[0])

    def count(self, kind: str) -> int:
        """How many elements have this class."""
        return sum(kind in (found.get("class") or "").split() for _, found in self.elements)


def in_browser(page: Path, profile: Path) -> str:
    """The document after a real browser ran the page's script."""
    assert CHROMIUM
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync --dump-dom"
    quiet = "--disable-background-networking --disable-component-update --disable-quic"
    command = [CHROMIUM, *flags.split(), *quiet.split(), f"--user-data-dir={profile}"]
    return subprocess.run(
        [*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    ).stdout
