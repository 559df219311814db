"""Gaussian processes: kernels, one path shown piece by piece, paths on grids, Fourier series, suprema."""

from typing import Any

from sfumato.errors import SchemaError
from sfumato.sampling.processes.grids import GridPath, grid_path
from sfumato.sampling.processes.kernels import Kernel, kernel_from
from sfumato.sampling.processes.markov import MarkovPath, is_markov
from sfumato.sampling.processes.path import DensePath, Path
from sfumato.sampling.processes.series import Series, series_path
from sfumato.sampling.processes.suprema import Basis, supremum_quantile
from sfumato.sampling.processes.torus import Torus

__all__ = [
    "Basis",
    "DensePath",
    "GridPath",
    "Kernel",
    "MarkovPath",
    "Path",
    "Series",
    "Torus",
    "grid_path",
    "kernel_from",
    "path_from",
    "path_of",
    "series_path",
    "supremum_quantile",
]


def path_of(kernel: Kernel) -> Path:
    """A path of the kernel of which nothing has been shown."""
    return MarkovPath(kernel) if is_markov(kernel) else DensePath(kernel)


def path_from(record: dict[str, Any]) -> Path:
    """The path that `to_record` wrote, to go on with."""
    kind = record.get("path")
    if kind == "markov":
        return MarkovPath.from_record(record)
    if kind == "dense":
        return DensePath.from_record(record)
    raise SchemaError(f"unknown path {kind!r}; known are dense and markov")
