"""What a decision about a failure rate promises: two rates and two error probabilities."""

from __future__ import annotations

from dataclasses import dataclass

from assay.errors import BadInput

# Closer than this (relative to eps) the evidence between the two rates is lost in rounding.
NARROWEST_ZONE = 1e-5

# What a decision may take unless it is told otherwise.
MOST_SAMPLES = 10**8


@dataclass(frozen=True)
class Promise:
    """Whatever the failure rate is, a wrong verdict is rare.

    `not robust` is said with probability at most `alpha` where the rate is `eps_inner` or less
    (type I), `robust` with probability at most `beta` where it is `eps` or more (type II).
    Between `eps_inner` and `eps` lies the indifference zone, where either verdict is right.
    """

    eps: float
    eps_inner: float
    alpha: float = 0.001
    beta: float = 0.001

    def __post_init__(self) -> None:
        if not 0 < self.eps < 1:
            raise BadInput(f"eps = {self.eps:g} is no failure rate; give one above 0 and below 1")
        if not 0 <= self.eps_inner < self.eps:
            raise BadInput(
                f"eps' = {self.eps_inner:g} must lie below eps = {self.eps:g} and not below 0; "
                f"eps' = {inner_rate(self.eps):g} is usual"
            )
        if self.eps - self.eps_inner < NARROWEST_ZONE * self.eps:
            raise BadInput(
                f"eps' = {self.eps_inner:.12g} is too near eps = {self.eps:.12g} to be told apart; "
                f"give at most {(1 - 2 * NARROWEST_ZONE) * self.eps:.6g}"
            )
        for name, error in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < error < 1:
                raise BadInput(
                    f"{name} = {error:g} is no error probability; give one above 0 and below 1, "
                    f"such as 0.001"
                )
        if self.alpha + self.beta >= 1:
            raise BadInput(
                f"alpha + beta = {self.alpha + self.beta:g} is no better than guessing; "
                f"give errors that add up to less than 1"
            )


def inner_rate(eps: float) -> float:
    """The usual eps' for an eps: line 5 of Algorithm 1 of the weakened robustness paper."""
    return eps - min(eps * (1 - eps), 0.005)
