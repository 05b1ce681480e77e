"""The numbers that the papers print, beside which ours are put."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

TABLE_2: Mapping[str, Mapping[float, float]] = {
    "ResNet18": {0.01: 59.47, 0.1: 68.53, 0.15: 71.24, 0.2: 73.49},
    "RegNetX": {0.01: 52.86, 0.1: 67.45, 0.15: 70.27, 0.2: 72.68},
    "DenseNet121": {0.01: 41.17, 0.1: 62.36, 0.15: 64.31, 0.2: 61.75},
    "DPN92": {0.01: 34.44, 0.1: 49.19, 0.15: 54.87, 0.2: 59.83},
}
"""Mean l_inf radii of CIFAR-10 networks in the weakened-robustness paper."""


@dataclass(frozen=True)
class Timed:
    """A row of Table 4: seconds of a decision (EWRD) and of a radius (EWRE) by eps."""

    network: str
    data: str
    decide_s: Mapping[float, float]
    radius_s: Mapping[float, float]


_EPS = (0.001, 0.01, 0.1, 0.2)


def _timed(network: str, data: str, *seconds: float) -> Timed:
    """Seconds as the table prints them: decision and radius in turn, for every eps."""
    decide, radius = seconds[::2], seconds[1::2]
    return Timed(
        network,
        data,
        dict(zip(_EPS, decide, strict=True)),
        dict(zip(_EPS, radius, strict=True)),
    )


TABLE_4 = (
    _timed("FullyCon", "MNIST", 0.31, 3.56, 0.02, 0.35, 0.41, 4.97, 1.38, 16.19),
    _timed("Conv1", "MNIST", 0.73, 8.60, 0.06, 0.79, 0.98, 11.63, 3.16, 37.87),
    _timed("ResNet18", "CIFAR-10", 3.34, 40.85, 0.30, 3.40, 4.05, 50.12, 12.89, 153.40),
    _timed("RegNetX", "CIFAR-10", 4.03, 46.84, 0.37, 4.33, 5.47, 63.90, 17.52, 208.30),
    _timed("DPN92", "CIFAR-10", 7.50, 90.02, 0.71, 8.54, 10.11, 118.04, 30.68, 405.11),
    _timed("DenseNet121", "CIFAR-10", 8.60, 101.45, 0.91, 9.71, 12.06, 133.32, 35.80, 437.68),
    _timed("Alexnet", "ImageNet", 34.2, 393.34, 3.38, 38.86, 44.73, 525.13, 165.50, 1942.96),
    _timed("VGG19", "ImageNet", 49.43, 544.03, 4.86, 54.36, 64.30, 738.65, 216.80, 2706.32),
    _timed("ResNet50", "ImageNet", 46.31, 462.19, 4.42, 45.35, 63.30, 602.64, 227.88, 2169.50),
)
"""Mean seconds on a GeForce RTX 2080 Ti."""
