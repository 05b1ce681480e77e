"""Charts as PNG images, drawn from their SVG by resvg (the extra `png`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from assay.errors import BadInput
from assay.optional_packages import missing_package

_ZOOM = 2.0
"""Twice the size on screen: about 200 dots an inch in a column of a paper."""
_FONTS = {
    "DejaVuSans.ttf": "DejaVu Sans",
    "LiberationSans-Regular.ttf": "Liberation Sans",
    "NotoSans-Regular.ttf": "Noto Sans",
    "Arial.ttf": "Arial",
    "arial.ttf": "Arial",
}
_PLACES = (
    Path("/usr/share/fonts"),
    Path("/usr/local/share/fonts"),
    Path.home() / ".fonts",
    Path.home() / ".local/share/fonts",
    Path("/Library/Fonts"),
    Path("/System/Library/Fonts"),
    Path("C:/Windows/Fonts"),
)


def png(svg: str) -> bytes:
    """The chart as a PNG on white."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise missing_package("resvg_py", "a PNG chart") from None
    file, family = _font()
    drawn = svg_to_bytes(
        svg_string=svg,
        background="#ffffff",
        zoom=_ZOOM,
        font_family=family,
        sans_serif_family=family,
        font_files=[str(file)],
    )
    return bytes(drawn)


@cache
def _font() -> tuple[Path, str]:
    """A font that is here: without one the drawing would silently lose its words."""
    for place in _PLACES:
        for name, family in _FONTS.items():
            for file in sorted(place.rglob(name)) if place.is_dir() else []:
                return file, family
    raise BadInput(
        "PNG charts need a font, and none of DejaVu, Liberation, Noto or Arial is here; install "
        "one (Debian: fonts-dejavu-core) or use the SVG files"
    )
