"""Synthetic points for smooth queries on many numeric columns: measured moments, candidates, fitted weights."""

from sfumato.synthesis.smooth.fitted import Fitted
from sfumato.synthesis.smooth.plan import SmoothSynthesis

__all__ = ["Fitted", "SmoothSynthesis"]
