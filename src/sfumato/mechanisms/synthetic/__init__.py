"""Synthetic databases, built from mechanisms."""
