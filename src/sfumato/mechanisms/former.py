"""Mechanisms as version 0.2.0 stored them, where it kept less than a mechanism's parameters: read for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.errors import SchemaError
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from sfumato.mechanisms.geometry.nim import NIM
    from sfumato.mechanisms.geometry.noise_body import NoiseBody
    from sfumato.queries.linear.workload import Workload

__all__ = ["FORMER"]


def _noise_body(query: Workload, record: Mapping[str, Any], spend: Guarantee) -> NoiseBody:
    """Noise whose body follows from the workload's own columns, found again from its name."""
    from sfumato.mechanisms.geometry.noise_body import NoiseBody
    from sfumato.queries.linear.shapes import shapes

    bodies = shapes(query)
    if record["body"] not in bodies:
        raise SchemaError(f"unknown body {record['body']!r:.40}; known are {', '.join(bodies)}")
    return NoiseBody(query, bodies[record["body"]](), record["epsilon"])


def _nim(query: Workload, record: Mapping[str, Any], spend: Guarantee) -> NIM:
    """Levels that follow from calibrating again."""
    from sfumato.mechanisms.geometry.nim import NIM

    return NIM.calibrate(query, spend)


# By stored name: the mechanism of a question, from its record and what was spent on the release.
FORMER: dict[str, Callable[[Any, Mapping[str, Any], Guarantee], Mechanism]] = {"noise-body": _noise_body, "nim": _nim}
