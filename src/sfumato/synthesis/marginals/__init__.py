"""Synthetic tables of numbers and categories from noisy marginals."""

from sfumato.synthesis.marginals.mechanism import MarginalSynthesis
from sfumato.synthesis.marginals.rounds import Synthesis

__all__ = ["MarginalSynthesis", "Synthesis"]
