"""Gaussian processes: kernels, one path shown piece by piece, paths on grids, Fourier series, suprema."""

from sfumato.sampling.processes.fourier import Fourier
from sfumato.sampling.processes.kernels import Kernel, kernel_from
from sfumato.sampling.processes.series import Series, series_path
from sfumato.sampling.processes.suprema import Basis, supremum_quantile

__all__ = ["Basis", "Fourier", "Kernel", "Series", "kernel_from", "series_path", "supremum_quantile"]
