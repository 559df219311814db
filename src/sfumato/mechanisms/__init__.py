"""Mechanisms, one file a theorem."""

from sfumato.mechanisms.additive import Vector
from sfumato.mechanisms.discrete_gaussian import DiscreteGaussian
from sfumato.mechanisms.elliptic_gaussian import EllipticGaussian
from sfumato.mechanisms.exponential import Exponential
from sfumato.mechanisms.gaussian import Gaussian
from sfumato.mechanisms.key_discovery import KeyDiscovery
from sfumato.mechanisms.laplace import Laplace
from sfumato.mechanisms.nim import NIM
from sfumato.mechanisms.noise_body import NoiseBody
from sfumato.mechanisms.noisy_covariance import NoisyCovariance
from sfumato.mechanisms.permute_and_flip import PermuteAndFlip
from sfumato.mechanisms.process import Coefficients, Process
from sfumato.mechanisms.public import Public
from sfumato.mechanisms.randomized_response import RandomizedResponse
from sfumato.mechanisms.recursive_quantiles import RecursiveQuantiles
from sfumato.mechanisms.spectral_laplace import SpectralLaplace
from sfumato.mechanisms.staircase import Staircase
from sfumato.mechanisms.strategy import Strategy
from sfumato.mechanisms.subspace_iteration import SubspaceIteration
from sfumato.mechanisms.threshold_database import ThresholdDatabase

__all__ = [
    "ADDITIVE",
    "MECHANISMS",
    "NIM",
    "Coefficients",
    "DiscreteGaussian",
    "EllipticGaussian",
    "Exponential",
    "Gaussian",
    "KeyDiscovery",
    "Laplace",
    "Mechanism",
    "NoiseBody",
    "NoisyCovariance",
    "PermuteAndFlip",
    "Process",
    "Public",
    "RandomizedResponse",
    "RecursiveQuantiles",
    "SpectralLaplace",
    "Staircase",
    "Strategy",
    "SubspaceIteration",
    "ThresholdDatabase",
    "Vector",
]

AdditiveMechanism = Laplace | Staircase | Gaussian | DiscreteGaussian | Public
ADDITIVE = (Laplace, Staircase, Gaussian, DiscreteGaussian, Public)

LinearMechanism = Strategy | EllipticGaussian | NoiseBody | NIM
ComponentMechanism = NoisyCovariance | SubspaceIteration
Mechanism = (
    AdditiveMechanism
    | LinearMechanism
    | Exponential
    | PermuteAndFlip
    | RecursiveQuantiles
    | KeyDiscovery
    | Process
    | SpectralLaplace
    | ComponentMechanism
    | ThresholdDatabase
)

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
    "strategy": Strategy,
    "elliptic-gaussian": EllipticGaussian,
    "noise-body": NoiseBody,
    "nim": NIM,
    "noisy-covariance": NoisyCovariance,
    "subspace-iteration": SubspaceIteration,
    "threshold-database": ThresholdDatabase,
    "process": Process,
    "spectral-laplace": SpectralLaplace,
}
