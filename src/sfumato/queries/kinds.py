"""The closed list of query kinds with details; a name never changes its meaning."""

from __future__ import annotations

from typing import Any

from sfumato.queries.components import Components
from sfumato.queries.functions.density import DensityDetails, DistributionDetails

__all__ = ["DETAILS"]

DETAILS: dict[str, Any] = {
    "pca": Components,
    "density": DensityDetails,
    "distribution": DistributionDetails,
}
