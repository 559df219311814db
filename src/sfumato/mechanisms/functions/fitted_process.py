r"""Normal noise on the waves of a density in units fitted to its range: cosines and sines apart.

Definition.  A density or distribution of one column, its rows replaced and their number public, answers with whole
coefficients a_j, one step of a_j worth u_j, where u is recorded.  Release a + (round(G_1), ..., round(G_m)), the G_j
independent N(0, sigma^2): a Gaussian process whose covariance is not the kernel's, but sum_j u_j^2 e_j(x) e_j(y).

Guarantee.   If one unit moves a by at most s in l2, k units cost rho = (k s)^2 / (2 sigma^2) concentrated
[BunSteinke2016], or, with `epsilon` given, (epsilon, delta) with the exact Gaussian profile at k s [BalleWang2018];
s is bounded over all values of the declared range, whatever the units are.  Proof: docs/proofs/fitted_process.md.

Accuracy.    That of `Process` in these units: at a bandwidth of half the range .62 of the noise with the kernel for
covariance, at a tenth 1.00.

Assumes.     Nothing beyond random bits: the rounded law is drawn exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sfumato.errors import ParameterError
from sfumato.mechanisms.functions.process import Process
from sfumato.mechanisms.noise.gaussian import Gaussian
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.functions.density import Density
from sfumato.queries.functions.fitting import fitted_units

__all__ = ["FittedProcess"]


@dataclass(frozen=True, slots=True)
class FittedProcess(Process):
    """Rounded normal noise on coefficients in units of their own; concentrated unless `epsilon` is given.

    Proof: docs/proofs/fitted_process.md.
    """

    query: Density
    relative: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        Gaussian.__post_init__(self)
        if self.query.fittable is None:
            raise ParameterError(
                "fitted units are for a density of one column and few waves, rows replaced, their number public"
            )
        object.__setattr__(self, "query", self.query.in_units(self.relative))
        object.__setattr__(self, "relative", self.query.relative)

    @classmethod
    def calibrate(cls, query: Density, target: Guarantee) -> Self:  # type: ignore[override]
        """The least noisy mechanism with fitted units that meets `target`."""
        asked = query.in_units(fitted_units(query))
        return cls(query, *NORMAL.calibrate(asked.sensitivity("l2"), target), asked.relative)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "fitted-process", "sigma": self.sigma, "epsilon": self.epsilon, "relative": list(self.relative),
        }  # fmt: skip

    @classmethod
    def from_record(cls, query: Density, record: Mapping[str, Any]) -> Self:
        """The mechanism that `to_record` described."""
        return cls(query, record["sigma"], record["epsilon"], tuple(record["relative"]))
