"""The picture of a calibration: marks where the axis says, colour and shape by the verdict."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from assay.analyse.calibration.measured import Measured
from assay.analyse.calibration.summary import summaries
from assay.report.calibration_chart import calibration_chart
from assay.report.drawing import PALETTE
from assay.report.own_files import SVG_MARK

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [
    Measured("kept", "q", "misses <p>", "n = 1", 0.01, True, 1000, 10, 5.0),
    Measured("broken", "q", "misses <p>", "n = 1", 0.01, False, 1000, 100, 5.0),
    Measured("silent", "q", "misses <p>", "n = 1", None, False, 1000, 1000, 5.0),
    Measured("never", "q", "misses <p>", "n = 1", 0.01, True, 1000, 0, 5.0),
]
KEPT, BROKEN, NOTHING = PALETTE[2], PALETTE[1], PALETTE[7]


def marks(svg: str) -> list[tuple[str, str, float]]:
    """Shape, colour and place of the mark of every line."""
    found = []
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        mark = next(part for part in group if part.tag != f"{SVG}title")
        if mark.tag == f"{SVG}path":
            place = float(mark.attrib["d"].split()[0].removeprefix("M"))
            found.append(("diamond", mark.attrib["fill"], place))
        else:
            filled = mark.attrib["fill"] == mark.attrib["stroke"]
            shape = "disc" if filled else "ring"
            found.append((shape, mark.attrib["stroke"], float(mark.attrib["cx"])))
    return found


def test_rates_lie_on_a_logarithmic_axis_in_the_colour_and_shape_of_their_verdict() -> None:
    drawn = calibration_chart(summaries(ROWS, {"q": 0.1}))
    assert SVG_MARK in drawn
    looks = {
        "broken": ("diamond", BROKEN),
        "kept": ("disc", KEPT),
        "never": ("disc", KEPT),
        "silent": ("ring", NOTHING),
    }
    found = dict(zip(sorted(looks), marks(drawn), strict=True))
    assert {name: mark[:2] for name, mark in found.items()} == looks
    places = [found[name][2] for name in ("never", "kept", "broken", "silent")]
    step = (places[3] - places[0]) / 4
    assert abs(places[1] - places[0] - 2 * step) < 0.2
    assert abs(places[2] - places[1] - step) < 0.2
    assert drawn.count("v18") == 3  # a promise each, but for the one that makes none


def test_labels_fit_and_are_escaped() -> None:
    drawn = calibration_chart(summaries(ROWS, {"q": 0.1}), page=True)
    assert "misses &lt;p&gt;" in drawn
    assert SVG_MARK not in drawn


def test_tests_of_a_law_have_no_error_rate_to_draw() -> None:
    law = Measured("sampler", "q", "another law", "boxes", 0.0, True, 1000, 0, chance=0.5)
    assert calibration_chart(summaries([law], {"q": 0.1})) == calibration_chart([])
    drawn = calibration_chart(summaries([*ROWS, law], {"q": 0.1}))
    assert drawn == calibration_chart(summaries(ROWS, {"q": 0.1}))


def test_nothing_measured_is_a_picture_too() -> None:
    ElementTree.fromstring(calibration_chart([]))
