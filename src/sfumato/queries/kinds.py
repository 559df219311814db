"""The closed list of query kinds with details; a name never changes its meaning."""

from __future__ import annotations

from typing import Any

from sfumato.queries.components import Components
from sfumato.queries.functions.covariance import CovarianceDetails
from sfumato.queries.functions.density import DensityDetails, DistributionDetails
from sfumato.queries.functions.learning import ClassificationDetails, LearningDetails
from sfumato.queries.functions.means import MeanCurveDetails
from sfumato.queries.smooth import GaussianMixture, Polynomial
from sfumato.queries.thresholds import Thresholds

__all__ = ["DETAILS"]

DETAILS: dict[str, Any] = {
    "pca": Components,
    "thresholds": Thresholds,
    "gaussian-mixture": GaussianMixture,
    "smooth": Polynomial,
    "density": DensityDetails,
    "distribution": DistributionDetails,
    "mean_curve": MeanCurveDetails,
    "covariance": CovarianceDetails,
    "regression": LearningDetails,
    "classification": ClassificationDetails,
}
