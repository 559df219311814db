"""Synthetic points for smooth queries on many numeric columns: measured moments, candidates, fitted weights."""

from sfumato.mechanisms.synthetic.smooth.fitted import Fitted
from sfumato.mechanisms.synthetic.smooth.plan import SmoothSynthesis

__all__ = ["Fitted", "SmoothSynthesis"]
