"""How the checker says no."""

from __future__ import annotations


class Rejected(Exception):
    """The claim is false, or its proof does not hold; the message says where."""


class Unsupported(Exception):
    """The checker does not know how to prove this kind of claim, or it asks for too much."""


class TooMuch(Unsupported):
    """It passes what the checker does, or holds, for one truth; a smaller network may not."""
