"""Planted bugs, each a small faulty mechanism beside its correct twin."""
