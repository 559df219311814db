"""Which mechanisms can answer a workload, calibrated, with the root mean square error of a row and a closer name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from sfumato.elimination import rank
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.geometry.nim import NIM
from sfumato.mechanisms.geometry.noise_body import NoiseBody
from sfumato.mechanisms.geometry.parity_cube import ParityCube
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.noise.complement import Complement
from sfumato.mechanisms.noise.elliptic_gaussian import EllipticGaussian
from sfumato.mechanisms.noise.gaussian import Gaussian
from sfumato.mechanisms.noise.laplace import Laplace
from sfumato.mechanisms.noise.public import Public
from sfumato.mechanisms.noise.strategy import Strategy
from sfumato.mechanisms.noise.sum_zero import SumZero
from sfumato.mechanisms.noise.truncated_laplace import TruncatedLaplace
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries.linear.choosing import measurements
from sfumato.queries.linear.shapes import shapes
from sfumato.queries.linear.workload import Workload
from sfumato.sampling.bodies import Body, rejection, sampler

__all__ = ["linear_mechanisms"]

MOST_COLUMNS = 5000  # of workloads for which bodies are tried
MOST_ROWS = 1000
LARGEST_BODY = 48  # dimensions of bodies other than the cube


class Rowwise(Mechanism, Protocol):
    """A mechanism that knows the error of a row."""

    @property
    def root_mean_square(self) -> float: ...


Found = tuple[Mechanism, float, str]
Make = Callable[[], Found]


def linear_mechanisms(question: Workload, target: Guarantee, allow: frozenset[str]) -> Iterator[Make]:
    """Noise on the answers, on measurements of the histogram, and in the shape of bodies."""
    if question.sensitivity("l1") == 0:
        yield lambda: (Public(question), 0.0, "")
        return
    pure = Pure(target.pure_within())
    yield partial(_per_row, Laplace.calibrate, "laplace on the answers", question, pure)
    if question.total_is_public:
        yield partial(_per_row, SumZero.calibrate, "", question, pure)
        if question.dimension == 2 and target.takes_normal:
            yield partial(_per_row, Complement.calibrate, "", question, target)
    for name, one in measurements(question, "l1"):
        yield partial(_per_row, Strategy.calibrate, f"strategy: {name}", question, pure, one)
    yield from _bodies(question, pure, allow)
    if target.takes_normal:
        yield partial(_per_row, Gaussian.calibrate, "gaussian on the answers", question, target)
        for name, one in measurements(question, "l2"):
            yield partial(_per_row, EllipticGaussian.calibrate, f"elliptic gaussian: {name}", question, target, one)
    if target.takes_normal and not target.counts_rho:
        yield partial(_per_row, Laplace.calibrate, "laplace with delta on the answers", question, target)
        yield partial(_per_row, TruncatedLaplace.calibrate, "truncated laplace on the answers", question, target)
        for name, one in measurements(question, "l1"):
            yield partial(_per_row, Strategy.calibrate, f"strategy with delta: {name}", question, target, one)


def _bodies(question: Workload, target: Pure, allow: frozenset[str]) -> Iterator[Make]:
    """The cube; and where real arithmetic may be assumed, ellipsoid, parallelepiped, K-norm and NIM."""
    if not question.linear.is_small or question.linear.cells > MOST_COLUMNS or question.dimension > MOST_ROWS:
        return
    try:
        vertices = question.vertices
    except UnsupportedQuery:
        return
    bodies = shapes(question)
    yield partial(_of_shape, "cube", bodies["cube"], question, target)
    if question.dimension > 1 and question.moves_keep_parity:
        yield partial(_per_row, ParityCube.calibrate, "", question, target)
    if "real-arithmetic" not in allow or question.dimension > LARGEST_BODY or rank(vertices) < question.dimension:
        return
    try:
        drawn = sampler(bodies["hull"]())
    except ParameterError:  # too flat for doubles: no floating-point noise of any shape around it
        return
    if drawn == "columns":
        return  # K-norm is then exactly Laplace noise on the histogram
    yield partial(_of_shape, "ellipsoid", bodies["ellipsoid"], question, target)
    yield partial(_of_shape, "parallelepiped", bodies["image"], question, target)
    if drawn == "walk" and "mixing" not in allow and rejection.affordable(bodies["hull"]()):
        yield partial(_of_shape, "k-norm", bodies["hull"], question, target, True)
    if drawn != "walk" or "mixing" in allow:
        yield partial(_of_shape, "k-norm", bodies["hull"], question, target)
        if question.dimension > 1:
            yield partial(_per_row, NIM.calibrate, "nim", question, target)


def _per_row(
    calibrate: Callable[..., Rowwise], label: str, question: Workload, target: Guarantee, *more: object
) -> Found:
    """A mechanism of this kind with the root mean square error of a weighted row."""
    mechanism = calibrate(question, target, *more)
    return mechanism, mechanism.root_mean_square, label


def _of_shape(label: str, shape: Callable[[], Body], question: Workload, target: Pure, patient: bool = False) -> Found:
    return _per_row(NoiseBody.calibrate, label, question, target, shape(), patient)
