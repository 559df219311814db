"""Noise on vectors of whole numbers."""
