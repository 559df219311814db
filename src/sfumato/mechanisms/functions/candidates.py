"""Which mechanisms can answer with a function, calibrated, and the error the question predicts for each."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.mechanisms.functions.fitted_process import FittedProcess
from sfumato.mechanisms.functions.process import Process
from sfumato.mechanisms.functions.spectral_ball import SpectralBall
from sfumato.mechanisms.functions.spectral_laplace import SpectralLaplace
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries.functions.density import Density
from sfumato.queries.functions.question import FunctionQuestion

__all__ = ["function_mechanisms"]


Found = tuple[Process | SpectralLaplace | SpectralBall, float]


def function_mechanisms(question: FunctionQuestion, target: Guarantee) -> list[Callable[[], Found]]:
    """Normal noise where the target takes it, also in fitted units; always Laplace and ball noise, with the waves that
    have least error.
    """
    pure = Pure(target.pure_within())
    found: list[Callable[[], Found]] = []
    if target.takes_normal:
        found.append(lambda: _normal(question, target))
        fittable = question.fittable
        if fittable is not None:
            found.append(lambda: _fitted(fittable, target))
    return [*found, lambda: _fewest(SpectralLaplace, question, pure), lambda: _fewest(SpectralBall, question, pure)]


def _normal(question: FunctionQuestion, target: Guarantee) -> Found:
    process = Process.calibrate(question, target)
    return process, question.predicted(process)


def _fitted(question: Density, target: Guarantee) -> Found:
    process = FittedProcess.calibrate(question, target)
    return process, process.query.predicted(process)


def _fewest(kind: type[SpectralLaplace | SpectralBall], question: FunctionQuestion, target: Pure) -> Found:
    """With as many waves as have the least predicted error."""
    tried = [kind.calibrate(question, target, coarser) for coarser in range(question.most_coarse + 1)]
    return min(((one, one.query.predicted(one)) for one in tried), key=lambda pair: pair[1])
