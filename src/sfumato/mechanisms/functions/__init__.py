"""Noise on functions."""
