"""Synthetic tables whose rows belong to persons."""
