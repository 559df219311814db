"""Lower bounds by the name of their problem: what local protocols must cost, and packings of whole tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from sfumato import arguments
from sfumato.bounds.minimax import (
    assouad,
    ball_mean_error,
    cube_mean_error,
    density_error,
    fano,
    frequency_error,
    le_cam,
    mean_error,
    worst_frequency_error,
)
from sfumato.bounds.packing import packed_mean_absolute, packed_mean_square
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Pure
from sfumato.reference.bound import Bound

__all__ = ["PROBLEMS", "minimax", "packing"]

LOCAL = "sequentially interactive protocols of the same pure local privacy, estimating the population"
# Each gives a worst mean SQUARE error, summed over what is estimated; further parameters by name.
PROBLEMS: dict[str, Callable[..., float]] = {
    "mean": mean_error,  # of a law on [low, high]
    "mean in a cube": cube_mean_error,  # of d numbers in [-1, 1]
    "mean in a ball": ball_mean_error,  # of d numbers in the unit ball
    "frequencies": frequency_error,  # of k categories
    "worst frequency": worst_frequency_error,
    "density": density_error,  # integrated, of Lipschitz densities on [0, 1]
    "two hypotheses": le_cam,
    "many hypotheses": fano,
    "hypotheses on a cube": assouad,
}


def minimax(problem: str, n: int, epsilon: float, **parameters: float) -> Bound:
    """The mean square error that no epsilon-private local protocol with n people beats for every population.

    `problem` is one of `PROBLEMS`, with its own parameters: `low`, `high` of "mean"; `d` of the vectors; `k` of
    "frequencies"; `lipschitz` of "density"; `distance`, `total_variation` of two hypotheses [Le Cam]; `distance`,
    `count`, `divergence` of many [Fano]; `step`, `dimension`, `total_variation` on a cube [Assouad].
    Proof: docs/proofs/bounds-minimax.md.

    >>> minimax("frequencies", 10_000, 1.0, k=16).measure
    'root mean square l2 error'
    """
    arguments.choice("problem", problem, PROBLEMS)
    claim = Pure(arguments.number("epsilon", epsilon))
    try:
        value = PROBLEMS[problem](n=n, epsilon=epsilon, **parameters)
    except TypeError:
        known = inspect.signature(PROBLEMS[problem]).parameters.values()
        wanted = [f"{p.name}={'...' if p.default is p.empty else p.default}" for p in known]
        more = ", ".join(each for each in wanted if each.split("=")[0] not in ("n", "epsilon")) or "nothing"
        given = ", ".join(parameters) or "nothing"
        raise ParameterError(f"problem {problem!r} takes {more} beside n and epsilon, got {given}") from None
    if not value > 0:
        raise ParameterError(f"for {n:,} people at epsilon = {epsilon:g} no error can be ruled out: there is no bound")
    return Bound(value, claim, f"minimax, {problem}", LOCAL, power=2.0, worst="population", setting="local")


def packing(sensitivity: int, epsilon: float, reach: int, power: int = 1) -> Bound:
    """A packing bound on one whole sum of a table of fixed size, which lies within `reach` of its middle.

    Proof: docs/proofs/bounds-packing.md.
    """
    arguments.whole("power", power, 1, 2)  # of the mean absolute error, or of the mean square
    found = (packed_mean_absolute if power == 1 else packed_mean_square)(sensitivity, epsilon, reach)
    among = "pure mechanisms with whole answers on tables of the declared size"
    return Bound(found, Pure(epsilon), "packing", among, power=float(power))
