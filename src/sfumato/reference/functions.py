"""Functions as answers, for any kernel: document 001, 6.1 to 6.12, on plain Python functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sfumato.answers.certificate import NoBoundKnown
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Guarantee
from sfumato.reference.calibrated import Calibrated
from sfumato.reference.process_path import FunctionQuery, ProcessPath, ReleasedPath
from sfumato.sampling.processes.kernels import Kernel

__all__ = ["gaussian_process"]

Function = Callable[[npt.NDArray[np.float64]], npt.ArrayLike]
NO_BOUND = NoBoundKnown("none is proven here for functions with a kernel of one's own")


def gaussian_process(kernel: Kernel, norm: float, target: Guarantee) -> Calibrated[Function, ReleasedPath]:
    """A function plus one path of the Gaussian process with this kernel, shown wherever it is asked.

    Proof: docs/proofs/process_path.md.

    `norm` is by how much one unit moves the function in the reproducing space of the kernel, as
    `density_sensitivity` says for kernel densities.  `release` takes the function; ask the value `at(points, rng)`,
    and `close()` it when done.

    >>> from sfumato.privacy.guarantees import Concentrated
    >>> from sfumato.sampling.processes.kernels import Gaussian
    >>> gaussian_process(Gaussian(1.0), 1.5, Concentrated(0.125)).guarantee()
    Concentrated(rho=0.125, assumptions=['real-arithmetic'])
    """
    mechanism = ProcessPath.calibrate(FunctionQuery("function", kernel, norm), target)
    try:
        mechanism.error()
    except (AttributeError, TypeError):
        raise ParameterError(
            f"kernel must be one of sf.reference.kernels, such as Matern52(0.5), or Supplied(...) for one's own, got a "
            f"{type(kernel).__name__}"
        ) from None
    return Calibrated("Gaussian process", mechanism, mechanism.release, lambda: NO_BOUND)
