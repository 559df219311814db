"""Mechanisms, one file a theorem."""

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.errors import SchemaError
from sfumato.mechanisms.components.noisy_covariance import NoisyCovariance
from sfumato.mechanisms.components.subspace_iteration import SubspaceIteration
from sfumato.mechanisms.functions.chosen_bandwidth import ChosenBandwidth
from sfumato.mechanisms.functions.fitted_process import FittedProcess
from sfumato.mechanisms.functions.process import Coefficients, Process
from sfumato.mechanisms.functions.spectral_ball import SpectralBall
from sfumato.mechanisms.functions.spectral_laplace import SpectralLaplace
from sfumato.mechanisms.geometry.nim import NIM
from sfumato.mechanisms.geometry.noise_body import NoiseBody
from sfumato.mechanisms.geometry.parity_cube import ParityCube
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.noise.additive import Vector
from sfumato.mechanisms.noise.continual_counting import ContinualCounting
from sfumato.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from sfumato.mechanisms.noise.elliptic_gaussian import EllipticGaussian
from sfumato.mechanisms.noise.finite_channel import FiniteChannel
from sfumato.mechanisms.noise.gaussian import Gaussian
from sfumato.mechanisms.noise.laplace import Laplace
from sfumato.mechanisms.noise.public import Public
from sfumato.mechanisms.noise.randomized_response import RandomizedResponse
from sfumato.mechanisms.noise.staircase import Staircase
from sfumato.mechanisms.noise.strategy import Strategy
from sfumato.mechanisms.noise.sum_zero import SumZero
from sfumato.mechanisms.noise.truncated_laplace import TruncatedLaplace
from sfumato.mechanisms.sanitized import Sanitization
from sfumato.mechanisms.selection.bracketed_quantiles import BracketedQuantiles
from sfumato.mechanisms.selection.counted_keys import CountedKeys
from sfumato.mechanisms.selection.discovered_keys import DiscoveredKeys
from sfumato.mechanisms.selection.exponential import Exponential
from sfumato.mechanisms.selection.key_discovery import KeyDiscovery
from sfumato.mechanisms.selection.key_selection import KeySelection
from sfumato.mechanisms.selection.permute_and_flip import PermuteAndFlip
from sfumato.mechanisms.selection.recursive_quantiles import RecursiveQuantiles
from sfumato.mechanisms.selection.sorted_counts import SortedCounts
from sfumato.mechanisms.selection.threshold_database import ThresholdDatabase
from sfumato.mechanisms.synthetic.joined import JoinedSynthesis
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.net import Net
from sfumato.mechanisms.synthetic.numeric import NumericSynthesis
from sfumato.mechanisms.synthetic.persons.mechanism import PersonSynthesis
from sfumato.mechanisms.synthetic.small_database import SmallDatabase
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.mechanisms.synthetic.workload.mechanism import WorkloadSynthesis

__all__ = [
    "MECHANISMS",
    "NIM",
    "BracketedQuantiles",
    "ChosenBandwidth",
    "Coefficients",
    "ContinualCounting",
    "CountedKeys",
    "DiscoveredKeys",
    "DiscreteGaussian",
    "EllipticGaussian",
    "Exponential",
    "FiniteChannel",
    "FittedProcess",
    "Gaussian",
    "JoinedSynthesis",
    "KeyDiscovery",
    "KeySelection",
    "Laplace",
    "MarginalSynthesis",
    "Mechanism",
    "Net",
    "NoiseBody",
    "NoisyCovariance",
    "NumericSynthesis",
    "ParityCube",
    "PermuteAndFlip",
    "PersonSynthesis",
    "Process",
    "Public",
    "RandomizedResponse",
    "RecursiveQuantiles",
    "Sanitization",
    "SmallDatabase",
    "SortedCounts",
    "SpectralBall",
    "SpectralLaplace",
    "Staircase",
    "Strategy",
    "SubspaceIteration",
    "SumZero",
    "ThresholdDatabase",
    "Trigonometric",
    "TruncatedLaplace",
    "Vector",
    "WorkloadSynthesis",
    "joined",
    "listed",
    "mechanism_from",
    "steps",
]

IN_TURN = "in-turn"  # mechanisms that run one after the other are stored by their parts

# The stored name of each mechanism that a release may name; a name never changes its meaning.
MECHANISMS: dict[str, type[Mechanism]] = {
    "laplace": Laplace,
    "staircase": Staircase,
    "truncated-laplace": TruncatedLaplace,
    "gaussian": Gaussian,
    "discrete-gaussian": DiscreteGaussian,
    "public": Public,
    "exponential": Exponential,
    "permute-and-flip": PermuteAndFlip,
    "sorted-counts": SortedCounts,
    "recursive-quantiles": RecursiveQuantiles,
    "bracketed-quantiles": BracketedQuantiles,
    "key-discovery": KeyDiscovery,
    "key-selection": KeySelection,
    "counted-keys": CountedKeys,
    IN_TURN: DiscoveredKeys,
    "strategy": Strategy,
    "continual-counting": ContinualCounting,
    "elliptic-gaussian": EllipticGaussian,
    "noise-body": NoiseBody,
    "nim": NIM,
    "noisy-covariance": NoisyCovariance,
    "subspace-iteration": SubspaceIteration,
    "threshold-database": ThresholdDatabase,
    "process": Process,
    "fitted-process": FittedProcess,
    "chosen-bandwidth": ChosenBandwidth,
    "spectral-laplace": SpectralLaplace,
    "marginal-synthesis": MarginalSynthesis,
    "smooth-synthesis": NumericSynthesis,
    "joined-synthesis": JoinedSynthesis,
    "person-synthesis": PersonSynthesis,
    "workload-synthesis": WorkloadSynthesis,
    "sanitization": Sanitization,
    "trigonometric": Trigonometric,
    "small-database": SmallDatabase,
    "net": Net,
    "spectral-ball": SpectralBall,
    "sum-zero": SumZero,
    "parity-cube": ParityCube,
}


def mechanism_from(record: Mapping[str, Any], question: Any) -> Mechanism:
    """The mechanism of a question that `to_record` described, from the closed list."""
    kind = record.get("type")
    if kind not in MECHANISMS:
        raise SchemaError(f"unknown mechanism {kind!r:.40}; known are {', '.join(MECHANISMS)}")
    return MECHANISMS[kind].from_record(question, record)


def listed(mechanism: Mechanism) -> bool:
    """Whether it is of the very class that its stored name stands for."""
    kind = mechanism.to_record().get("type")
    return isinstance(kind, str) and type(mechanism) is MECHANISMS.get(kind)


def steps(mechanism: Mechanism) -> list[dict[str, Any]]:
    """The records of what a mechanism runs in turn: its own, or those of its parts."""
    record: dict[str, Any] = mechanism.to_record()
    return list(record["parts"]) if record["type"] == IN_TURN else [record]


def joined(records: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The record of the mechanism whose `steps` these are."""
    return records[0] if len(records) == 1 else {"type": IN_TURN, "parts": list(records)}
