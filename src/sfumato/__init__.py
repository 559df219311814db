"""Sfumato: private answers with their guarantee, error bar and certificate.

Names are loaded when first used, so that importing the package costs little.
"""

from __future__ import annotations

import importlib
from typing import Any

from sfumato import version

__version__ = version.VERSION

_HOMES = {
    "sfumato.spaces": ("Box", "Categories", "Curves", "Dates", "Integers", "Interval", "Record", "Subsets", "Texts"),
    "sfumato.privacy.adjacency": ("AddRemove", "Person", "Replace", "Row"),
    "sfumato.privacy.guarantees": ("Approximate", "Concentrated", "Pure"),
    "sfumato.schema": ("Schema",),
    "sfumato.queries": (
        "Query", "bins", "col", "count", "discovered", "histogram", "mean", "median", "most_popular",
        "quantiles", "sum", "top", "variance",
    ),
    "sfumato.queries.components": ("pca",),
    "sfumato.queries.thresholds": ("thresholds",),
    "sfumato.publishing.smooth": ("trigonometric",),
    "sfumato.queries.smooth": ("evaluate", "gaussian_mixture", "smooth"),
    "sfumato.queries.functions.covariance": ("covariance",),
    "sfumato.queries.functions.density": ("density", "distribution"),
    "sfumato.queries.functions.learning": ("classification", "regression"),
    "sfumato.queries.functions.means": ("mean_curve",),
    "sfumato.queries.linear.doors": ("marginals", "predicates", "prefix", "ranges", "weighted", "workload"),
    "sfumato.engines": ("Check", "Table", "check", "read"),
    "sfumato.ledger": ("Ledger",),
    "sfumato.release": ("Release",),
    "sfumato.synthesis.comparison": ("compare",),
    "sfumato.archive": ("load",),
    "sfumato.sanitization": ("together",),
    "sfumato.session": ("Session",),
    "sfumato.auditing": ("audit",),
}  # fmt: skip
# Whole parts of the library, for those who work with mechanisms, bounds or local reports themselves.
_PARTS = ("auditing", "bounds", "engines", "errors", "local", "mechanisms", "privacy", "report", "sampling", "spaces",
          "synthesis")  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"sfumato.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS})
