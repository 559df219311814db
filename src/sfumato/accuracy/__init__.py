"""Accuracy first: the least spend that meets a target, a budget divided, linear questions measured together."""
