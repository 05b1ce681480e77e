"""The few errors a person can meet, each a sentence that says what to do."""

import os

SAMPLING_WORKS = "where ONNX Runtime runs it, the sampling commands still work (see docs/models.md)"
"""What remains for a network that a part of Assay has no rules for: the lack is ours."""


class AssayError(Exception):
    """Base of every error that Assay raises on purpose."""


class BadInput(AssayError):
    """A file, parameter or option is wrong; the message names the place and the remedy."""


class CannotCertify(AssayError):
    """A constructor could not prove the instance it was asked for; nothing is shipped."""


class Unsupported(AssayError):
    """A network or property uses something this part of Assay does not handle."""


class WrongLabel(AssayError):
    """A truth is refuted by exact arithmetic at a point: nothing that rests on it may go on.

    `point` holds the exact decimals of the inputs.
    """

    def __init__(self, message: str, point: tuple[str, ...] = ()) -> None:
        super().__init__(message, point)
        self.point = point

    def __str__(self) -> str:
        return str(self.args[0])


def defect(error: Exception) -> str:
    """A defect in one line, where the rest of the work goes on; with ASSAY_DEBUG=1 it is raised."""
    if os.environ.get("ASSAY_DEBUG") == "1":
        raise error
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
