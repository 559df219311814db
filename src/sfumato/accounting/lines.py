r"""Releases as a person lists them, one line each: what noise, how often, on a sample, behind a shuffler.

A line is a noise with its size, `times` alike.  `reading` composes the lines by `batch` and says both ends: `upper` may
be claimed; no accounting of the lines can promise less than `lower`, which is absent where a line stands for a claim
that no single pair of laws is the worst of (rho, shuffled reports).  Numbers are rounded outward.
Sampling is Poisson's, about adding or removing one unit; shuffling is about replacing one report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.accounting.amplification import Poisson
from sfumato.accounting.batch import TOLERANCE, Batch
from sfumato.accounting.blankets import Blanket
from sfumato.accounting.lattice import discrete_gaussian_law, discrete_laplace_law
from sfumato.accounting.laws import FiniteLaw, GaussianLaw, LaplaceLaw, Law, approximate_law, pure_law
from sfumato.accounting.profiles import concentrated_law, profile_law
from sfumato.accounting.shuffling import shuffled_delta, shuffled_epsilon
from sfumato.arguments import choice
from sfumato.errors import ParameterError
from sfumato.numeric import ceil_float, exact, round_up
from sfumato.privacy.parameters import positive, probability, whole

__all__ = ["NOISES", "Line", "Reading", "reading"]

NOISES = {
    "gaussian": "Gaussian noise of sigma {amount}",
    "laplace": "Laplace noise of scale {amount}",
    "discrete-gaussian": "discrete Gaussian noise of sigma {amount}",
    "discrete-laplace": "discrete Laplace noise of scale {amount}",
    "response": "randomized response, true with probability {amount}",
    "pure": "any mechanism of epsilon {amount}",
    "approximate": "any mechanism of epsilon {amount} and delta {delta}",
    "rho": "any mechanism of rho {amount}",
}
SCALED = ("gaussian", "laplace", "discrete-gaussian", "discrete-laplace")
SHUFFLED = ("response", "pure")
FAINT = 1e-3  # share of delta that the tails of claims without a worst pair may take
CLOSE = 1e-6  # width of the bracket relative to epsilon where one law is all
LAST_DIGITS = 1e-9  # relative, by which a lower end is lowered: parameters are rounded before they are composed


@dataclass(frozen=True, slots=True)
class Line:
    """One kind of release, `times` alike, of one unit's `sensitivity`.

    >>> Line("gaussian", 20.0, times=1000).words()
    '1,000 times Gaussian noise of sigma 20 for a sensitivity of 1'
    """

    noise: str
    amount: float
    times: int = 1
    sensitivity: float = 1.0
    delta: float = 0.0
    values: int = 2
    sampled: float | None = None
    shuffled: int | None = None

    def __post_init__(self) -> None:
        choice("noise", self.noise, NOISES)
        positive(self.noise, self.amount)
        positive("sensitivity", self.sensitivity)
        whole("times", self.times)
        whole("values", self.values, 2)
        if self.sensitivity != 1 and self.noise not in SCALED:
            raise ParameterError(f"sensitivity belongs to noise, and {self.noise} states a promise: leave it out")
        if self.values != 2 and self.noise != "response":
            raise ParameterError(f"values belong to response, not to {self.noise}")
        if self.noise == "response" and not 1 / self.values < self.amount < 1:
            raise ParameterError(
                f"response must lie between 1/{self.values} and 1, got {self.amount!r}: the chance of the true one"
            )
        if self.shuffled is not None and self.noise not in SHUFFLED:
            raise ParameterError(f"shuffled goes with {' or '.join(SHUFFLED)}, the promise of one report")
        if self.shuffled is not None and self.sampled is not None:
            raise ParameterError("a line is sampled or shuffled, not both")

    @property
    def sharp(self) -> bool:
        """Whether one pair of laws is the worst, so that the lower end is certified."""
        return self.noise != "rho" and self.shuffled is None

    def law(self, tail: float) -> Law:
        """The worst pair of laws of one such release; of claims without one a pair above, down to a delta of `tail`."""
        if self.shuffled is not None:
            return _shuffled(self._report(), whole("shuffled", self.shuffled, 2), tail)
        return self._alone(tail) if self.sampled is None else Poisson(self._alone(tail), self.sampled)

    def _alone(self, tail: float) -> Law:
        match self.noise:
            case "gaussian":
                return GaussianLaw(self._ratio())
            case "laplace":
                return LaplaceLaw(self._ratio())
            case "discrete-gaussian":
                return discrete_gaussian_law(self.amount, self._steps())
            case "discrete-laplace":
                return discrete_laplace_law(self.amount, self._steps())
            case "response":
                rest = (1 - self.amount) / (self.values - 1)
                more = [] if self.values == 2 else [(self.values - 2) * rest]
                return FiniteLaw.of([self.amount, rest, *more], [rest, self.amount, *more])
            case "pure":
                return pure_law(self.amount)
            case "approximate":
                return approximate_law(self.amount, self.delta)
            case _:
                return concentrated_law(self.amount, tail)

    def _ratio(self) -> float:
        """The sensitivity over the scale, rounded up."""
        return ceil_float(exact(self.sensitivity) / exact(self.amount))

    def _steps(self) -> int:
        if self.sensitivity != int(self.sensitivity):
            raise ParameterError(
                f"sensitivity must be a whole number of steps for {self.noise}, got {self.sensitivity!r}: "
                "divide it and the scale by the lattice's step, and round it up"
            )
        return int(self.sensitivity)

    def _report(self) -> float | Blanket:
        """What is known of one report before it is shuffled."""
        if self.noise == "pure":
            return self.amount
        odds = exact(self.amount) * (self.values - 1) / (1 - exact(self.amount))
        return Blanket.generalized_response(self.values, round_up(math.log(odds), 4))

    def words(self) -> str:
        """The line for a reader."""
        text = NOISES[self.noise].format(amount=f"{self.amount:g}", delta=f"{self.delta:g}")
        if self.noise in SCALED:
            text += f" for a sensitivity of {self.sensitivity:g}"
        if self.values != 2:
            text += f" among {self.values} values"
        if self.sampled is not None:
            text += f", on a secret sample of rate {self.sampled:g}"
        if self.shuffled is not None:
            text += f", among {self.shuffled:,} shuffled reports"
        return text if self.times == 1 else f"{self.times:,} times {text}"


@dataclass(frozen=True, slots=True)
class Reading:
    """Epsilon at a delta, or delta at an epsilon, from above and, where it is known, from below."""

    lower: float | None
    upper: float


def reading(lines: Sequence[Line], *, delta: float | None = None, epsilon: float | None = None) -> Reading:
    """Epsilon of all lines together at `delta`, or delta at `epsilon`; every parameter was fixed in advance.

    >>> found = reading([Line("gaussian", 20.0, times=1000)], delta=1e-6)
    >>> 8.306 < found.lower <= found.upper < 8.3063
    True
    """
    if not lines:
        raise ParameterError(f"give at least one line: {', '.join(NOISES)}")
    if (delta is None) == (epsilon is None):
        raise ParameterError("give a delta, to hear of epsilon, or an epsilon (--at), to hear of delta; one of them")
    if len(lines) == lines[0].times == 1 and lines[0].shuffled is not None:
        one = lines[0]._report(), whole("shuffled", lines[0].shuffled, 2)
        return Reading(None, shuffled_epsilon(*one, delta) if epsilon is None else shuffled_delta(*one, epsilon))  # type: ignore[arg-type]
    try:
        return _composed(lines, delta, epsilon)
    except (OverflowError, MemoryError):
        raise ParameterError(
            "these amounts lie beyond what can be computed, and promise nothing; add more noise, or release less often"
        ) from None


def _composed(lines: Sequence[Line], delta: float | None, epsilon: float | None) -> Reading:
    """The loss laws of all lines, one after another."""
    tail = FAINT * (1e-9 if delta is None else probability("delta", delta)) / sum(line.times for line in lines)
    merged = _merged(lines)
    batch = Batch(tuple((line.law(tail), line.times) for line in merged))
    close = CLOSE if len(merged) == merged[0].times == 1 else TOLERANCE
    found = batch.delta(epsilon, close) if epsilon is not None else batch.epsilon(delta, close)  # type: ignore[arg-type]
    if math.isinf(found.upper):
        raise ParameterError(f"delta = {delta!r} is below what these releases may reveal outright; raise it")
    sharp = all(line.sharp for line in lines)
    return Reading(found.lower * (1 - LAST_DIGITS) if sharp else None, found.upper)


def _merged(lines: Sequence[Line]) -> list[Line]:
    """The lines, but those that add up exactly as one: squares of Gaussian ratios, and rhos."""
    rest = [line for line in lines if line.noise not in ("gaussian", "rho") or line.sampled is not None]
    plain = [line for line in lines if line.sampled is None]
    squares = sum(
        line.times * (exact(line.sensitivity) / exact(line.amount)) ** 2 for line in plain if line.noise == "gaussian"
    )
    rhos = sum(line.times * exact(line.amount) for line in plain if line.noise == "rho")
    if squares:
        rest.append(Line("gaussian", 1.0, sensitivity=round_up(math.sqrt(ceil_float(squares)))))
    if rhos:
        rest.append(Line("rho", ceil_float(rhos)))
    return rest


def _shuffled(report: float | Blanket, reports: int, tail: float) -> Law:
    """The worst pair with the curve of shuffled reports."""
    top = shuffled_epsilon(report, reports, tail)
    return profile_law(lambda epsilon: shuffled_delta(report, reports, epsilon), round_up(top))
