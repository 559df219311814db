"""Plots and the readable report of releases.  Altair is imported only when a picture is made."""

from sfumato.report.html import write_report
from sfumato.report.plots import plot_budget, plot_release

__all__ = ["plot_budget", "plot_release", "write_report"]
