"""Workloads: many linear answers over one histogram, asked together."""
