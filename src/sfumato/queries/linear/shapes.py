"""The bodies around a workload's columns, by the name that a stored release gives them; found from the matrix alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.queries.linear.ellipsoid import least_ellipsoid
from sfumato.queries.linear.frames import least_box
from sfumato.queries.linear.workload import Workload
from sfumato.sampling.bodies import Cube, Ellipsoid, Hull, Image

__all__ = ["shapes"]

ROOM = 1 + 1e-9  # so that columns on the boundary are proven to lie inside


def shapes(query: Workload) -> dict[str, Callable[[], Any]]:
    """Cube, hull (K-norm), least ellipsoid, and the least parallelepiped that was found."""
    return {
        "cube": lambda: Cube(query.dimension, query.sensitivity("linf")),
        "hull": lambda: Hull(query.vertices),
        "ellipsoid": lambda: Ellipsoid(_symmetric(least_ellipsoid(query.vertices).shape * ROOM)),
        "image": lambda: Image(Cube(query.dimension), least_box(query.vertices) * ROOM),
    }


def _symmetric(shape: Any) -> Any:
    return np.asarray((shape + shape.T) / 2)
