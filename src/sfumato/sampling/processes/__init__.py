"""Gaussian processes: kernels, one path shown piece by piece, paths on grids, Fourier series, suprema.

A module is imported when one of its names is first used: a curve that is read needs suprema alone.
"""

from typing import Any

from sfumato.deferred import Listed

_NAMES: Listed[Any] = Listed(__name__, {}).by_name(
    "grids:GridPath",
    "grids:grid_path",
    "kernels:Kernel",
    "kernels:kernel_from",
    "markov:MarkovPath",
    "path:DensePath",
    "path:Path",
    "paths:path_from",
    "paths:path_of",
    "series:Series",
    "series:series_path",
    "suprema:Basis",
    "suprema:supremum_quantile",
    "torus:Torus",
)

__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    return _NAMES.attribute(name)


def __dir__() -> list[str]:
    return sorted(__all__)
