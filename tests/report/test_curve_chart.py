"""The picture of a robustness curve: its bounds can be seen, and its words keep apart."""

from __future__ import annotations

import re

import pytest

from assay.analyse.promise import Promise
from assay.analyse.weakened.curve import CurvePoint
from assay.report.curve_chart import curve_chart


def point(radius: float) -> CurvePoint:
    return CurvePoint(radius, Promise(0.01, 0.005), 20, 15, 0, 0.5, 0.9)


@pytest.mark.parametrize("radii", [(0.3,), (0.1, 0.3)])
def test_bounds_are_drawn_with_an_edge(radii: tuple[float, ...]) -> None:
    drawn = curve_chart([point(r) for r in radii], "net")
    assert re.search(r'class="band" fill="(#\w+)" stroke="\1"', drawn)
    assert "stroke:none" not in drawn


def test_titles_keep_apart_and_inside() -> None:
    drawn = curve_chart([point(0.3)], "a/long/way/" * 30 + "net.onnx")
    heights = [float(y) for y in re.findall(r'class="title" x="[\d.-]+" y="([\d.]+)"', drawn)]
    assert min(abs(a - b) for a in heights for b in heights if a is not b) >= 20
    assert max(len(text) for text in re.findall(r">([^<>]*)</text>", drawn)) <= 90
