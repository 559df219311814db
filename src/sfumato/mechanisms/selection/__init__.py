"""Choices by a score, ranks and keys."""
