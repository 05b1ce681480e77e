"""The JSON of `assay roma`: what was found, and everything to find it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from assay import __version__
from assay.analyse.asked import Asked
from assay.analyse.roma_classes import ClassResult, InputResult, Surroundings, most_warned
from assay.analyse.roma_counted import RateInterval, RomaCounted, RomaSettings
from assay.cli.asked_options import PointOptions

_LIBRARIES = ("numpy", "scipy", "torch", "onnxruntime")


def input_document(
    asked: Asked,
    found: RomaCounted,
    settings: RomaSettings,
    options: PointOptions,
    seconds: float,
) -> dict[str, Any]:
    return {
        **_head(asked.description, settings, options, seconds),
        "index": options.index,
        **_result(found, settings),
    }


def data_set_document(
    results: Sequence[InputResult],
    classes: Sequence[ClassResult],
    settings: RomaSettings,
    options: PointOptions,
    surroundings: Surroundings,
    seconds: float,
) -> dict[str, Any]:
    description, warned = results[0].asked.description, most_warned(results)
    shared = {key: value for key, value in description.items() if key != "labels"}
    shared |= {"numbers": warned.numbers, "warnings": list(warned.warnings)}
    return {
        **_head(shared, settings, options, seconds),
        "surroundings": asdict(surroundings),
        "classes": [_class(c) for c in classes],
        "inputs": [
            {
                "name": r.name,
                "label": r.label,
                "predicted": r.predicted,
                **r.asked.kept.description,
                **_result(r.result, settings),
            }
            for r in results
        ],
    }


def _head(
    description: dict[str, object], settings: RomaSettings, options: PointOptions, seconds: float
) -> dict[str, Any]:
    return {
        "versions": {"assay": __version__, **{name: version(name) for name in _LIBRARIES}},
        **description,
        "input": str(options.where),
        "settings": asdict(settings),
        "seconds": round(seconds, 4),
    }


def _result(found: RomaCounted, settings: RomaSettings) -> dict[str, Any]:
    said = {}
    if settings.eps is not None:
        verdict = found.counted.verdict(settings.eps)
        said = {"verdict": "undecided" if verdict is None else verdict.value}
    roma = found.extrapolation
    between = roma.if_normal(settings.confidence)
    return {
        **said,
        "counted": _counted(found.counted),
        "roma": {
            "basis": roma.basis,
            "extrapolation": roma.accepted,
            "reason": roma.reason,
            "failure_rate": found.failure_rate,
            "plr": 1 - found.failure_rate,
            "failure_rate_if_the_law_holds": None if between is None else list(between),
            "disagrees": found.disagrees,
            "unconfirmed": found.unconfirmed,
            "z": roma.z,
            "normal": None if roma.plain is None else asdict(roma.plain),
            "box_cox": None if roma.transform is None else asdict(roma.transform),
            "normal_after_box_cox": None if roma.transformed is None else asdict(roma.transformed),
        },
        "scores": {
            **asdict(found.moments),
            "threshold": found.threshold,
            "not_below_threshold": found.reached,
            "softmax": found.softmax,
        },
    }


def _class(found: ClassResult) -> dict[str, Any]:
    return {
        "label": found.label,
        "inputs": found.inputs,
        "misclassified": found.misclassified,
        "normality_accepted": found.accepted / found.inputs,
        "roma_mean_plr": 1 - found.roma_failure_rate,
        "roma_mean_failure_rate": found.roma_failure_rate,
        "disagrees": found.disagrees,
        "counted": _counted(found.counted),
    }


def _counted(found: RateInterval) -> dict[str, Any]:
    return {
        **asdict(found),
        "rate": found.rate,
        "plr": 1 - found.rate,
        "plr_interval": [1 - found.upper, 1 - found.lower],
    }
