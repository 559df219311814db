"""How far two laws are apart, rounded up: finite, Laplace and normal ones, and the outputs of channels."""

from sfumato.accounting.divergences.continuous import LaplaceDensity, NormalDensity
from sfumato.accounting.divergences.finite import (
    FINITE,
    approximate_max_divergence,
    chi_square,
    hockey_stick,
    kullback_leibler,
    max_divergence,
    output_divergence,
    pure_kullback_leibler,
    renyi,
    squared_hellinger,
    total_variation,
)

__all__ = [
    "FINITE",
    "LaplaceDensity",
    "NormalDensity",
    "approximate_max_divergence",
    "chi_square",
    "hockey_stick",
    "kullback_leibler",
    "max_divergence",
    "output_divergence",
    "pure_kullback_leibler",
    "renyi",
    "squared_hellinger",
    "total_variation",
]
