"""Mechanisms, one file a theorem."""

from sfumato.mechanisms.additive import Vector
from sfumato.mechanisms.discrete_gaussian import DiscreteGaussian
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.gaussian import Gaussian
from sfumato.mechanisms.key_discovery import KeyDiscovery
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.permute_and_flip import PermuteAndFlip
from sfumato.mechanisms.public import Public
from sfumato.mechanisms.randomized_response import RandomizedResponse
from sfumato.mechanisms.recursive_quantiles import RecursiveQuantiles
from sfumato.mechanisms.staircase import Staircase

__all__ = [
    "ADDITIVE",
    "MECHANISMS",
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "KeyDiscovery",
    "Laplace",
    "Mechanism",
    "PermuteAndFlip",
    "Public",
    "RandomizedResponse",
    "RecursiveQuantiles",
    "Staircase",
    "Vector",
]

AdditiveMechanism = Laplace | Staircase | Gaussian | DiscreteGaussian | Public
ADDITIVE = (Laplace, Staircase, Gaussian, DiscreteGaussian, Public)

Mechanism = AdditiveMechanism | Exponential | PermuteAndFlip | RecursiveQuantiles | KeyDiscovery

# The stored name of each mechanism; a name never changes its meaning.
MECHANISMS: dict[str, type] = {
    "laplace": Laplace,
    "staircase": Staircase,
    "gaussian": Gaussian,
    "discrete-gaussian": DiscreteGaussian,
    "public": Public,
    "exponential": Exponential,
    "permute-and-flip": PermuteAndFlip,
    "recursive-quantiles": RecursiveQuantiles,
    "key-discovery": KeyDiscovery,
    "randomized-response": RandomizedResponse,
}
