"""Which mechanisms can answer with a function, calibrated, and the error the question predicts for each."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.mechanisms.process import Process
from sfumato.mechanisms.spectral_laplace import SpectralLaplace
from sfumato.privacy.conversions import pure_for
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.functions.question import FunctionQuestion

__all__ = ["function_mechanisms"]


Found = tuple[Process | SpectralLaplace, float]


def function_mechanisms(question: FunctionQuestion, target: Guarantee) -> list[Callable[[], Found]]:
    """Normal noise where the target has delta or rho; always Laplace noise, with as many waves as have least error."""
    assert isinstance(target, Pure | Approximate | Concentrated)
    pure = Pure(pure_for(target.rho) if isinstance(target, Concentrated) else target.epsilon)
    found: list[Callable[[], Found]] = []
    if isinstance(target, Concentrated) or (isinstance(target, Approximate) and target.delta > 0):
        found.append(lambda: _normal(question, target))
    return [*found, lambda: _laplace(question, pure)]


def _normal(question: FunctionQuestion, target: Guarantee) -> Found:
    process = Process.calibrate(question, target)
    return process, question.predicted(process)


def _laplace(question: FunctionQuestion, target: Pure) -> Found:
    tried = [SpectralLaplace.calibrate(question, target, coarser) for coarser in range(question.most_coarse + 1)]
    return min(((one, one.query.predicted(one)) for one in tried), key=lambda pair: pair[1])
