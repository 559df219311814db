"""Noise in the shape of a body."""
