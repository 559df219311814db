"""The closed list of kinds of query, each a frozen class; a name never changes its meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.queries.components import Components
from sfumato.queries.correlation import CorrelationDetails
from sfumato.queries.counts import CountDetails, HistogramDetails
from sfumato.queries.details import Grouped, Kind
from sfumato.queries.deviation import DeviationDetails
from sfumato.queries.difference import DifferenceDetails
from sfumato.queries.extent import ExtentDetails
from sfumato.queries.functions.covariance import CovarianceDetails
from sfumato.queries.functions.density import DensityDetails, DistributionDetails
from sfumato.queries.functions.learning import ClassificationDetails, LearningDetails
from sfumato.queries.functions.means import MeanCurveDetails
from sfumato.queries.items import ItemsDetails
from sfumato.queries.linear.crossing import crosstab_parts
from sfumato.queries.linear.workload import WorkloadDetails
from sfumato.queries.mean import MeanDetails
from sfumato.queries.names import NamesDetails
from sfumato.queries.popular import TopDetails
from sfumato.queries.quantiles import QuantilesDetails
from sfumato.queries.quotient import RatioDetails
from sfumato.queries.rows_per_person import RowsPerPersonDetails
from sfumato.queries.running import RunningDetails
from sfumato.queries.sanitized import Sanitized
from sfumato.queries.scored import ChooseDetails
from sfumato.queries.share import ShareDetails
from sfumato.queries.small_database import SmallDatabaseDetails
from sfumato.queries.smooth import GaussianMixture, Polynomial
from sfumato.queries.synthetic import Synthetic
from sfumato.queries.thresholds import Thresholds
from sfumato.queries.total import SumDetails
from sfumato.queries.trigonometric import SmoothTable
from sfumato.queries.variance import VarianceDetails

__all__ = ["ALIASES", "KINDS", "grouped"]


KINDS: dict[str, type[Kind]] = {
    "count": CountDetails,
    "sum": SumDetails,
    "mean": MeanDetails,
    "variance": VarianceDetails,
    "std": DeviationDetails,
    "share": ShareDetails,
    "ratio": RatioDetails,
    "difference": DifferenceDetails,
    "correlation": CorrelationDetails,
    "histogram": HistogramDetails,
    "quantiles": QuantilesDetails,
    "running": RunningDetails,
    "rows_per_person": RowsPerPersonDetails,
    "extent": ExtentDetails,
    "top": TopDetails,
    "items": ItemsDetails,
    "keys": NamesDetails,
    "choose": ChooseDetails,
    "workload": WorkloadDetails,
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
    "synthetic": Synthetic,
    "sanitized": Sanitized,
    "small_database": SmallDatabaseDetails,
    "trigonometric": SmoothTable,
}
# Names by which a plan may ask for a kind with a part already given, or one that follows from the number of keys.
ALIASES: dict[str, tuple[str, dict[str, Any] | Callable[[int], dict[str, Any]]]] = {
    "median": ("quantiles", {"probabilities": [0.5]}),
    "most_popular": ("top", {"k": 1}),
    "crosstab": ("workload", crosstab_parts),
    "count_people": ("count", {"per_person": {"each": 1}}),
}


def grouped() -> tuple[str, ...]:
    """The names of kinds that are asked for each cell of keys, which may be discovered."""
    own = [name for name, kind in KINDS.items() if issubclass(kind, Grouped)]
    limited = [alias for alias, (_, given) in ALIASES.items() if not callable(given) and "per_person" in given]
    # these are asked by public groups only
    return (*own, *(alias for alias, (name, _) in ALIASES.items() if name in own and alias not in limited))
