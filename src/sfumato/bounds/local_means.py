"""Which bound speaks about a regression: the means of its cells are means over private numbers of rows.

What smoothing makes of them depends on how smooth the data are, of which nothing is known; the certificate is about the
noisy means that were released, before smoothing, on tables of the declared size whose cells hold equally many rows.
"""

from __future__ import annotations

from dataclasses import replace

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds.ratios import Claiming, certify_ratio
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.functions.local_means import LocalMeans
from sfumato.queries.ratio_error import mean_place_mean_square, triple_mean_mean_square

__all__ = ["certify_local_means"]

MEASURE = "root mean square error of the noisy means of its cells, before they are smoothed,"


def certify_local_means(question: LocalMeans, mechanism: Claiming, claim: Guarantee) -> Certificate | NoBoundKnown:
    """The certificate of the means of the cells."""
    error = mean_place_mean_square if question.coordinates == 2 else triple_mean_mean_square
    found = certify_ratio("mean", question, mechanism, claim, None, error, 1, part="cell")
    return replace(found, measure=MEASURE) if isinstance(found, Certificate) else found
