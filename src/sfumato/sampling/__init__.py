"""Exact noise: laws on the integers, coins, selection, and lazily refined reals."""

from sfumato.sampling.bernoulli import bernoulli, bernoulli_exp
from sfumato.sampling.cube import CubeNoise
from sfumato.sampling.gaussian import DiscreteGaussian
from sfumato.sampling.geometric import Geometric
from sfumato.sampling.laplace import DiscreteLaplace
from sfumato.sampling.lazy import LazyReal, exponential, gamma, normal, rounded, rounded_gamma
from sfumato.sampling.rounded_normal import RoundedNormal
from sfumato.sampling.selection import choose, permute_and_flip
from sfumato.sampling.staircase import Staircase
from sfumato.sampling.truncated_laplace import TruncatedLaplace
from sfumato.sampling.uniform import uniform_integers

__all__ = [
    "CubeNoise",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Geometric",
    "LazyReal",
    "RoundedNormal",
    "Staircase",
    "TruncatedLaplace",
    "bernoulli",
    "bernoulli_exp",
    "choose",
    "exponential",
    "gamma",
    "normal",
    "permute_and_flip",
    "rounded",
    "rounded_gamma",
    "uniform_integers",
]
