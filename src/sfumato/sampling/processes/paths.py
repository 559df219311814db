"""The path that suits a kernel, and one that goes on from what was stored of it."""

from __future__ import annotations

from typing import Any

from sfumato.errors import SchemaError
from sfumato.sampling.processes.kernels import Kernel
from sfumato.sampling.processes.markov import MarkovPath, is_markov
from sfumato.sampling.processes.path import DensePath, Path

__all__ = ["path_from", "path_of"]


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
