"""Covariance functions, one class each: formula, smoothness, what lies in the reproducing space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.errors import SchemaError
from sfumato.sampling.processes.kernels.combinations import Scaled, Sum, Tensor
from sfumato.sampling.processes.kernels.gaussian import Gaussian
from sfumato.sampling.processes.kernels.kernel import Kernel, points_of
from sfumato.sampling.processes.kernels.matern import Matern, Matern12, Matern32, Matern52
from sfumato.sampling.processes.kernels.periodic import Periodic
from sfumato.sampling.processes.kernels.sobolev import Polynomial, Sobolev
from sfumato.sampling.processes.kernels.supplied import Supplied

__all__ = [
    "KERNELS",
    "Gaussian",
    "Kernel",
    "Matern",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Scaled",
    "Sobolev",
    "Sum",
    "Supplied",
    "Tensor",
    "kernel_from",
    "points_of",
]

# The stored name of each kernel; a name never changes its meaning.
KERNELS: dict[str, Callable[..., Kernel]] = {
    "gaussian": Gaussian,
    "matern-1/2": Matern12,
    "matern-3/2": Matern32,
    "matern-5/2": Matern52,
    "periodic": Periodic,
    "sobolev": Sobolev,
    "polynomial": Polynomial,
    "tensor": Tensor,
    "sum": Sum,
    "scaled": Scaled,
}


def kernel_from(record: dict[str, Any]) -> Kernel:
    """The kernel that `to_record` wrote.

    >>> kernel_from(Scaled(Gaussian(2.0), 3.0).to_record())
    Scaled(part=Gaussian(length=2.0, dimension=1), factor=3.0)
    """
    fields = dict(record)
    kind = fields.pop("kernel", None)
    if kind not in KERNELS:
        raise SchemaError(f"unknown kernel {kind!r}; known are {', '.join(KERNELS)}")
    if "parts" in fields:
        fields["parts"] = tuple(kernel_from(part) for part in fields["parts"])
    if "part" in fields:
        fields["part"] = kernel_from(fields["part"])
    try:
        return KERNELS[kind](**fields)
    except TypeError:
        raise SchemaError(f"kernel {kind!r} does not have the fields {', '.join(sorted(fields))}") from None
