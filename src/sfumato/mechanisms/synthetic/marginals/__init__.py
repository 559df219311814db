"""Synthetic tables of numbers and categories from noisy marginals."""
