"""The closed list of kinds of query, each a frozen class, and where it is; a name never changes its meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.deferred import Listed
from sfumato.queries.details import Grouped, Kind
from sfumato.queries.linear.crossing import crosstab_parts

__all__ = ["ALIASES", "KINDS", "grouped", "is_grouped"]


KINDS: Listed[type[Kind]] = Listed(
    "sfumato.queries",
    {
        "count": "counts:CountDetails",
        "sum": "total:SumDetails",
        "mean": "mean:MeanDetails",
        "variance": "variance:VarianceDetails",
        "std": "deviation:DeviationDetails",
        "share": "share:ShareDetails",
        "ratio": "quotient:RatioDetails",
        "difference": "difference:DifferenceDetails",
        "correlation": "correlation:CorrelationDetails",
        "histogram": "counts:HistogramDetails",
        "quantiles": "quantiles:QuantilesDetails",
        "running": "running:RunningDetails",
        "rows_per_person": "rows_per_person:RowsPerPersonDetails",
        "extent": "extent:ExtentDetails",
        "top": "popular:TopDetails",
        "items": "items:ItemsDetails",
        "keys": "names:NamesDetails",
        "choose": "scored:ChooseDetails",
        "workload": "linear.workload:WorkloadDetails",
        "pca": "components:Components",
        "thresholds": "thresholds:Thresholds",
        "gaussian-mixture": "smooth:GaussianMixture",
        "smooth": "smooth:Polynomial",
        "density": "functions.density:DensityDetails",
        "distribution": "functions.density:DistributionDetails",
        "mean_curve": "functions.means:MeanCurveDetails",
        "covariance": "functions.covariance:CovarianceDetails",
        "regression": "functions.learning:LearningDetails",
        "classification": "functions.learning:ClassificationDetails",
        "synthetic": "synthetic:Synthetic",
        "sanitized": "sanitized:Sanitized",
        "small_database": "small_database:SmallDatabaseDetails",
        "trigonometric": "trigonometric:SmoothTable",
    },
)
# Names by which a plan may ask for a kind with a part already given, or one that follows from the number of keys.
ALIASES: dict[str, tuple[str, dict[str, Any] | Callable[[int], dict[str, Any]]]] = {
    "median": ("quantiles", {"probabilities": [0.5]}),
    "most_popular": ("top", {"k": 1}),
    "crosstab": ("workload", crosstab_parts),
    "count_people": ("count", {"per_person": {"each": 1}}),
}


def is_grouped(name: str) -> bool:
    """Whether queries of this name are asked for each cell of keys, which may be discovered."""
    kind, given = ALIASES.get(name, (name, {}))
    limited = not callable(given) and "per_person" in given  # these are asked by public groups only
    return kind in KINDS and issubclass(KINDS[kind], Grouped) and not limited


def grouped() -> tuple[str, ...]:
    """The names of such kinds."""
    return tuple(name for name in (*KINDS, *ALIASES) if is_grouped(name))
