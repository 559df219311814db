"""Accounting for researchers: loss laws, compositions with certified ends, conversions, divergences, channels.

A loss law is a pair of output laws (P, Q) seen through ln(dP/dQ): `laplace(mu)` and `gaussian(mu)` with mu =
sensitivity / scale, `discrete_laplace` and `discrete_gaussian` on the integers, `pure` and `approximate` (the worst
mechanism with that claim), `pair(p, q)` of two probability vectors, `densities(p, q)` of two laws on the line;
`poisson` and `without_replacement` sample it.  `compose(...)` adds them up: `.epsilon(delta)`, `.delta(epsilon)`,
`.tradeoff(alpha)`, `.renyi(order)`, `.plot()`.  Names are loaded when first used.  Guide: docs/guide/accounting.md.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "amplification": {"poisson": "Poisson", "subsampled": "subsampled", "without_replacement": "WithoutReplacement"},
    "batch": {"Batch": "Batch", "Bracket": "Bracket"},
    "blankets": {"Blanket": "Blanket"},
    "calibration": {"best_split": "best_split", "releases_within": "releases_within"},
    "channels": {"Channel": "Channel", "Verdict": "Verdict"},
    "composition": {"advanced": "advanced", "basic": "basic", "parallel": "parallel"},
    "contractions": {"classical_divergence": "classical_divergence", "largest_divergence": "largest_divergence"},
    "divergences.continuous": {"LaplaceDensity": "LaplaceDensity", "NormalDensity": "NormalDensity"},
    "doors": {
        name: name for name in ("calibrate", "compose", "contraction", "divergence", "optimal", "pair")
    },
    "enclosures": {"densities": "density_law"},
    "lattice": {"discrete_gaussian": "discrete_gaussian_law", "discrete_laplace": "discrete_laplace_law"},
    "laws": {
        "FiniteLaw": "FiniteLaw", "Law": "Law", "approximate": "approximate_law", "gaussian": "GaussianLaw",
        "laplace": "LaplaceLaw", "pure": "pure_law",
    },
    "sfumato.privacy.converting": {"convert": "convert"},
    "sfumato.privacy.odometer": {"Odometer": "Odometer"},
    "lines": {"Line": "Line", "reading": "reading"},
    "posteriors": {"beliefs": "beliefs"},
    "profiles": {"concentrated": "concentrated_law", "profile": "profile_law"},
    "promises": {"promised": "curve"},
    "shuffling": {"shuffled": "shuffled"},
    "tradeoff": {"tradeoff_of": "tradeoff_of"},
}  # fmt: skip
_HOME_OF = {name: (module, own) for module, names in _HOMES.items() for name, own in names.items()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"sfumato.accounting has no {name!r}; it has {', '.join(__all__)}")
    module, own = _HOME_OF[name]
    home = module if module.startswith("sfumato.") else f"sfumato.accounting.{module}"
    return getattr(importlib.import_module(home), own)


def __dir__() -> list[str]:
    return sorted(__all__)
