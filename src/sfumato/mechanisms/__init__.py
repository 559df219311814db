"""Mechanisms, one file a theorem; a module is imported when one of its names is first used."""

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.deferred import Listed
from sfumato.errors import SchemaError
from sfumato.mechanisms.mechanism import Mechanism

IN_TURN = "in-turn"  # mechanisms that run one after the other are stored by their parts

# The stored name of each mechanism that a release may name, and where it is; a name never changes its meaning.
MECHANISMS: Listed[type[Mechanism]] = Listed(
    __name__,
    {
        "laplace": "noise.laplace:Laplace",
        "staircase": "noise.staircase:Staircase",
        "truncated-laplace": "noise.truncated_laplace:TruncatedLaplace",
        "gaussian": "noise.gaussian:Gaussian",
        "discrete-gaussian": "noise.discrete_gaussian:DiscreteGaussian",
        "public": "noise.public:Public",
        "exponential": "selection.exponential:Exponential",
        "permute-and-flip": "selection.permute_and_flip:PermuteAndFlip",
        "sorted-counts": "selection.sorted_counts:SortedCounts",
        "recursive-quantiles": "selection.recursive_quantiles:RecursiveQuantiles",
        "bracketed-quantiles": "selection.bracketed_quantiles:BracketedQuantiles",
        "key-discovery": "selection.key_discovery:KeyDiscovery",
        "key-selection": "selection.key_selection:KeySelection",
        "counted-keys": "selection.counted_keys:CountedKeys",
        IN_TURN: "selection.discovered_keys:DiscoveredKeys",
        "strategy": "noise.strategy:Strategy",
        "continual-counting": "noise.continual_counting:ContinualCounting",
        "elliptic-gaussian": "noise.elliptic_gaussian:EllipticGaussian",
        "noise-body": "geometry.noise_body:NoiseBody",
        "nim": "geometry.nim:NIM",
        "noisy-covariance": "components.noisy_covariance:NoisyCovariance",
        "subspace-iteration": "components.subspace_iteration:SubspaceIteration",
        "threshold-database": "selection.threshold_database:ThresholdDatabase",
        "process": "functions.process:Process",
        "fitted-process": "functions.fitted_process:FittedProcess",
        "chosen-bandwidth": "functions.chosen_bandwidth:ChosenBandwidth",
        "spectral-laplace": "functions.spectral_laplace:SpectralLaplace",
        "marginal-synthesis": "synthetic.marginals.mechanism:MarginalSynthesis",
        "smooth-synthesis": "synthetic.numeric:NumericSynthesis",
        "joined-synthesis": "synthetic.joined:JoinedSynthesis",
        "person-synthesis": "synthetic.persons.mechanism:PersonSynthesis",
        "text-synthesis": "synthetic.texts:TextSynthesis",
        "cut-synthesis": "synthetic.cuts:CutSynthesis",
        "workload-synthesis": "synthetic.workload.mechanism:WorkloadSynthesis",
        "sanitization": "sanitized:Sanitization",
        "trigonometric": "synthetic.trigonometric:Trigonometric",
        "small-database": "synthetic.small_database:SmallDatabase",
        "net": "synthetic.net:Net",
        "spectral-ball": "functions.spectral_ball:SpectralBall",
        "sum-zero": "noise.sum_zero:SumZero",
        "complement": "noise.complement:Complement",
        "parity-cube": "geometry.parity_cube:ParityCube",
    },
)
_NAMES: Listed[Any] = MECHANISMS.by_name(
    "functions.process:Coefficients",
    "noise.additive:Vector",
    "noise.finite_channel:FiniteChannel",
    "noise.randomized_response:RandomizedResponse",
)

__all__ = ["MECHANISMS", "Mechanism", "joined", "listed", "mechanism_from", "steps", *_NAMES]


def __getattr__(name: str) -> Any:
    return _NAMES.attribute(name)


def __dir__() -> list[str]:
    return sorted(__all__)


def mechanism_from(record: Mapping[str, Any], question: Any) -> Mechanism:
    """The mechanism of a question that `to_record` described, from the closed list."""
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in MECHANISMS:
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
