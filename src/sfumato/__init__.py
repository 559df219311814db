"""Sfumato: private answers with their guarantee, error bar and certificate.

Names are loaded when first used, so that importing the package costs little.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from sfumato import version

__version__ = version.VERSION

_HOMES = {
    "sfumato.privacy.adjacency": ("AddRemove", "Person", "Replace", "Row"),
    "sfumato.privacy.guarantees": ("Approximate", "Concentrated", "Pure"),
    "sfumato.spaces.schema": ("Schema",),
    "sfumato.queries": (
        "Query", "bins", "col", "correlation", "count", "count_people", "difference", "discovered", "histogram",
        "items", "mean", "median", "most_popular", "quantiles", "ratio", "share", "std", "sum", "top", "variance",
    ),
    "sfumato.queries.components": ("pca",),
    "sfumato.queries.rows_per_person": ("rows_per_person",),
    "sfumato.queries.running": ("running",),
    "sfumato.queries.extent": ("extent",),
    "sfumato.queries.names": ("keys",),
    "sfumato.queries.scored": ("choose",),
    "sfumato.queries.thresholds": ("thresholds",),
    "sfumato.queries.sanitized": ("sanitized", "together"),
    "sfumato.queries.small_database": ("small_database",),
    "sfumato.queries.synthetic": ("synthetic",),
    "sfumato.queries.trigonometric": ("trigonometric",),
    "sfumato.queries.smooth": ("gaussian_mixture", "smooth"),
    "sfumato.queries.functions.covariance": ("covariance",),
    "sfumato.queries.functions.density": ("density", "distribution"),
    "sfumato.queries.functions.learning": ("classification", "regression"),
    "sfumato.queries.functions.means": ("mean_curve",),
    "sfumato.queries.linear.doors": ("crosstab", "marginals", "predicates", "prefix", "ranges", "weighted", "workload"),
    "sfumato.engines": ("check", "read"),
    "sfumato.ledger": ("Ledger",),
    "sfumato.release": ("Release",),
    "sfumato.release.archive": ("load",),
    "sfumato.session": ("Session",),
    "sfumato.client": ("connect",),
    "sfumato.auditing": ("audit",),
}  # fmt: skip
# Whole parts of the library, for those who work with mechanisms, bounds or local reports themselves.
_PARTS = (
    "accounting", "auditing", "bounds", "engines", "errors", "local", "mechanisms", "privacy", "reference", "report",
    "sampling", "spaces", "sql",
)  # fmt: skip
_CALLED = {  # elsewhere, or in words
    "avg": "mean", "average": "mean", "hist": "histogram", "kde": "density", "len": "count", "max": "extent",
    "min": "extent", "mode": "most_popular", "percentile": "quantiles", "percentiles": "quantiles",
    "quantile": "quantiles", "stddev": "std", "var": "variance", "corr": "correlation", "synthesize": "synthetic",
    "sanitize": "sanitized", "read_csv": "read", "read_parquet": "read", "epsilon": "Pure",
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return ["__version__", *_column_types(), *_HOME_OF]
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    if name[:1].isupper() and name in _column_types():
        return _column_types()[name]
    if name[:1].islower() and importlib.util.find_spec(f"sfumato.{name}") is not None:
        return importlib.import_module(f"sfumato.{name}")  # whether or not somebody imported it before
    raise AttributeError(f"module 'sfumato' has no attribute {name!r}{_meant(name)}")


def _meant(name: str) -> str:
    """A hint at what is called otherwise here; empty where nothing is near."""
    from difflib import get_close_matches

    near = [_CALLED[name]] if name in _CALLED else get_close_matches(name, __dir__(), n=1)
    return f"; did you mean sf.{near[0]}?" if near else ""


def __dir__() -> list[str]:
    return sorted({"__version__", *_column_types(), *_HOME_OF, *_PARTS})


def _column_types() -> dict[str, object]:
    """The column types by name, whose list is that of `sfumato.spaces`."""
    return {space.__name__: space for space in importlib.import_module("sfumato.spaces").SPACES.values()}
