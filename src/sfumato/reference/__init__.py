"""Mechanisms, bounds and a laboratory on plain arrays: for those who study mechanisms rather than publish tables.

Everything here takes numbers and matrices, names its randomness (`seeded(1)` or `secure()`), and returns values with
their guarantee, error and certificate.  Names are loaded when first used.  The guide is docs/research/alone.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.answers.certificate import Certificate, Floor, NoBoundKnown
    from sfumato.bounds.line import least_of_answers, least_on_chain, least_variance
    from sfumato.local.optimal import frequencies, least_mean_variance, mutual_information, optimal_channel, separation
    from sfumato.randomness import secure, seeded
    from sfumato.reference import calculators
    from sfumato.reference.bound import Bound, certify
    from sfumato.reference.calibrated import Calibrated, Outcome
    from sfumato.reference.citing import Citation, cite
    from sfumato.reference.comparing import compare
    from sfumato.reference.consistency import least_squares, maximum_entropy, nonnegative
    from sfumato.reference.databases import net, small_database, smooth
    from sfumato.reference.functions import gaussian_process
    from sfumato.reference.geometry import (
        Radii,
        factorization_norm,
        isotropy,
        knorm,
        laplace,
        nim,
        noise_body,
        uniform,
        volume_bound,
        volume_radius,
    )
    from sfumato.reference.laboratory import lab
    from sfumato.reference.problems import minimax, packing
    from sfumato.reference.process_path import density_sensitivity
    from sfumato.reference.scored_choice import exponential, permute_and_flip
    from sfumato.reference.single_records import nearest
    from sfumato.sampling.processes import kernels

_HOMES = {
    "sfumato.answers.certificate": ("Certificate", "Floor", "NoBoundKnown"),
    "sfumato.bounds.line": ("least_of_answers", "least_on_chain", "least_variance"),
    "sfumato.local.optimal": (
        "frequencies", "least_mean_variance", "mutual_information", "optimal_channel", "separation",
    ),
    "sfumato.randomness": ("secure", "seeded"),
    "sfumato.reference.bound": ("Bound", "certify"),
    "sfumato.reference.calibrated": ("Calibrated", "Outcome"),
    "sfumato.reference.citing": ("Citation", "cite"),
    "sfumato.reference.comparing": ("compare",),
    "sfumato.reference.consistency": ("least_squares", "maximum_entropy", "nonnegative"),
    "sfumato.reference.databases": ("net", "small_database", "smooth"),
    "sfumato.reference.functions": ("gaussian_process",),
    "sfumato.reference.geometry": (
        "Radii", "factorization_norm", "isotropy", "knorm", "laplace", "nim", "noise_body", "uniform", "volume_bound",
        "volume_radius",
    ),
    "sfumato.reference.laboratory": ("lab",),
    "sfumato.reference.problems": ("minimax", "packing"),
    "sfumato.reference.process_path": ("density_sensitivity",),
    "sfumato.reference.scored_choice": ("exponential", "permute_and_flip"),
    "sfumato.reference.single_records": ("nearest",),
}  # fmt: skip
_MODULES = {"calculators": "sfumato.reference.calculators", "kernels": "sfumato.sampling.processes.kernels"}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Bound",
    "Calibrated",
    "Certificate",
    "Citation",
    "Floor",
    "NoBoundKnown",
    "Outcome",
    "Radii",
    "calculators",
    "certify",
    "cite",
    "compare",
    "density_sensitivity",
    "exponential",
    "factorization_norm",
    "frequencies",
    "gaussian_process",
    "isotropy",
    "kernels",
    "knorm",
    "lab",
    "laplace",
    "least_mean_variance",
    "least_of_answers",
    "least_on_chain",
    "least_squares",
    "least_variance",
    "maximum_entropy",
    "minimax",
    "mutual_information",
    "nearest",
    "net",
    "nim",
    "noise_body",
    "nonnegative",
    "optimal_channel",
    "packing",
    "permute_and_flip",
    "secure",
    "seeded",
    "separation",
    "small_database",
    "smooth",
    "uniform",
    "volume_bound",
    "volume_radius",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sfumato.reference' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
