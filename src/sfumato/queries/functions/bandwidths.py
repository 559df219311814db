"""Bandwidths that do not read the data: by hand, or a rule from the declared size and bounds.

Rules of thumb are (spread) times n^(-1/(d+4)); the data's own spread is secret, so a sixth of the declared range stands
in for it.  A spread that was released and paid for serves too: `from_spread`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries.vector import numeric_space
from sfumato.spaces import Lattice, numeric
from sfumato.spaces.schema import Schema

__all__ = ["RULES", "bandwidths_of", "checked_bandwidth", "from_spread", "lattice_of", "plain_bandwidth"]

RULES = ("scott", "silverman")
LEAST = 1e-100  # beyond it and its inverse, ratios of ranges and widths leave the floats
SIGMAS = 6.0  # of a bell that fills the range


def checked_bandwidth(bandwidth: Any, columns: int) -> str | tuple[float, ...]:
    """A rule's name, or one positive number for each column."""
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            raise ParameterError(
                f"bandwidth must be a number or one of {', '.join(RULES)} (for a density of one column also private), "
                f"got {bandwidth!r:.40}"
            )
        return bandwidth
    several = isinstance(bandwidth, Sequence)
    chosen = tuple(bandwidth) if several else (bandwidth,) * columns
    if len(chosen) != columns:
        raise ParameterError(f"bandwidth has {len(chosen)} numbers for {columns} columns; give one for each")
    for one in chosen:
        if not LEAST <= arguments.number("bandwidth", one) <= 1 / LEAST:
            raise ParameterError(f"bandwidth must be positive and finite, got {one!r}; it is the width of the kernel")
    return tuple(float(one) for one in chosen)


def bandwidths_of(
    bandwidth: str | tuple[float, ...], columns: tuple[str, ...], schema: Schema, groups: int = 1
) -> tuple[float, ...]:
    """The bandwidth of each column, by the rule where a rule is asked for, rows shared equally by the groups."""
    lattices = [lattice_of(column, schema) for column in columns]
    if not isinstance(bandwidth, str):
        return bandwidth
    if schema.size is None:
        raise SchemaError(f"bandwidth={bandwidth!r} needs a public number of rows: declare size=, or give a number")
    factor = rule_factor(bandwidth, max(1, schema.size // groups), len(columns))
    return tuple(factor * (lattice.high_value - lattice.low_value) / SIGMAS for lattice in lattices)


def rule_factor(rule: str, size: int, dimension: int) -> float:
    """What a rule of thumb multiplies a spread by.

    >>> round(rule_factor("scott", 1000, 1), 4), round(rule_factor("silverman", 1000, 1), 4)
    (0.2512, 0.2661)
    """
    bias = 1.0 if rule == "scott" else (4 / (dimension + 2)) ** (1 / (dimension + 4))
    return float(bias * size ** (-1 / (dimension + 4)))


def from_spread(release: Any, rule: str = "silverman", size: int | None = None) -> float:
    """The rule of thumb with a private spread: a released variance, or quantiles 0.25 and 0.75, already charged.

    The two releases together cost what their ledger says; this step costs nothing.
    """
    query, schema = release.question.query, release.question.schema
    rows = schema.size if size is None else size
    if rows is None:
        raise SchemaError("a rule of thumb needs a public number of rows: declare size=, or pass size=")
    arguments.choice("rule", rule, RULES)
    if query.kind == "variance":
        spread = math.sqrt(max(float(release.value), 0.0))
    elif query.to_record().get("probabilities") == [0.25, 0.75]:
        spread = float(release.answer.estimates[1] - release.answer.estimates[0]) / 1.349  # of a normal law
    else:
        raise UnsupportedQuery("a spread is a released variance(...) or quantiles(..., [0.25, 0.75]) of the column")
    lattice = numeric_space(query, schema).lattice
    floor = (lattice.high_value - lattice.low_value) / 1000  # so that a noisy spread of 0 still gives a curve
    return max(rule_factor(rule, rows, 1) * spread, floor)


def lattice_of(column: str, schema: Schema, curves: bool = False) -> Lattice:
    """The lattice of a numeric column; with `curves`, of a column of curves too."""
    space = schema.space(column)
    if curves and space.curve is not None:
        return space.curve.lattice
    if not numeric(space):
        raise UnsupportedQuery(
            f"a curve needs numeric columns; {column!r} is declared as {type(space).__name__}: group by it with by(...)"
        )
    return space.lattice


def plain_bandwidth(bandwidth: str | tuple[float, ...]) -> str | list[float]:
    """A rule, or the numbers, as records hold them."""
    return bandwidth if isinstance(bandwidth, str) else list(bandwidth)
