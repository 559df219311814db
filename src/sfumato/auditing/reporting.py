"""Evidence made ready for a reader: the reproducing script, and findings that need no sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.auditing.findings import Attempt, Evidence, Finding
from sfumato.auditing.sources import source_of
from sfumato.auditing.tabular import ArrowTable, PandasFrame
from sfumato.privacy.guarantees import Claim

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["exact_finding", "script_for", "shown"]


def shown(data: object) -> str:
    """Python source that rebuilds the data."""
    if isinstance(data, np.ndarray):
        return f"np.array({data.tolist()!r}, dtype=np.{data.dtype.name})"
    if isinstance(data, ArrowTable):
        schema = ", ".join(f"({field.name!r}, {_kind(field.type)})" for field in data.schema)
        return f"pa.table({data.to_pydict()!r}, schema=pa.schema([{schema}]))"
    if isinstance(data, PandasFrame):
        kinds = {str(name): str(kind) for name, kind in data.dtypes.items()}
        return f"pd.DataFrame({data.to_dict('list')!r}).astype({kinds!r})"
    return repr(data)


def _kind(kind: pa.DataType) -> str:
    """Python source of an Arrow type."""
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return f"pa.list_({_kind(kind.value_type)})"
    if kind.num_fields:
        parts = ", ".join(f"({kind[k].name!r}, {_kind(kind[k].type)})" for k in range(kind.num_fields))
        return f"pa.struct([{parts}])"
    return f"pa.type_for_alias({str(kind)!r})"


def script_for(
    target: Callable[..., Any],
    neighbors: tuple[Any, Any],
    event: object,
    claim: tuple[float, float],
    trials: int,
    around: tuple[str, Any] | None = None,
    generator: Callable[..., Any] = np.random.default_rng,
) -> str:
    """A script that runs the target afresh on both inputs and prints what the event shows.

    `around` names what the target was wrapped in, and the public data it was run on beside.
    """
    own = generator is not np.random.default_rng
    wrap = []
    if around is not None:
        home = "isolation" if around[0] == "Isolated" else "repeats"
        wrap = [f"from sfumato.auditing.{home} import {around[0]}", f"target = {around[0]}(target, {shown(around[1])})"]
    return "\n".join(
        [
            '"""Reproduces evidence against a privacy claim."""',
            "import datetime",
            "from math import inf, nan",
            "",
            "import numpy as np",
            "import pandas as pd",
            "import pyarrow as pa",
            "",
            "from sfumato.auditing.confirming import reproduce",
            "from sfumato.auditing.events import Event",
            "from sfumato.auditing.features import FeatureMap",
            "from sfumato.auditing.scores import Bayes, ColumnScore, LinearScore",
            "",
            source_of(target),
            *([source_of(generator, "generator")] if own else []),
            *wrap,
            "",
            f"first = {shown(neighbors[0])}",
            f"second = {shown(neighbors[1])}",
            f"event = {event!r}",
            f"print(reproduce(target, first, second, event, epsilon={claim[0]!r}, "
            f"delta={claim[1]!r}, trials={trials}{', generator=generator' if own else ''}))",
            "",
        ]
    )


def exact_finding(
    name: str,
    claim: Claim | str,
    *,
    attack: str,
    neighbors: tuple[Any, Any],
    relation: str,
    words: str,
    epsilon: float,
    delta: float = 0.0,
    event: Callable[[Any], bool] | None = None,
    rates: tuple[float, float] = (1.0, 0.0),
    script: str = "",
) -> Finding:
    """Evidence by computation: no sampling, no error rate."""
    evidence = Evidence(attack, neighbors, relation, words, event or bool, epsilon, delta, 0.0, rates, 0, script)
    return Finding(name, claim, evidence, (Attempt(attack, words, 0),))
