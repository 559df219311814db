"""Synthetic tables that answer a workload: its questions are measured where made rows answer them worst."""
