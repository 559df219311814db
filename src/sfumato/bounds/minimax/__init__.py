"""What local privacy must cost: lower bounds on the risk of every protocol, with numbers."""

from sfumato.bounds.minimax.certificates import certify_local
from sfumato.bounds.minimax.densities import density_error
from sfumato.bounds.minimax.frequencies import (
    asymptotic_frequency_error,
    frequency_error,
    frequency_l1_error,
    worst_frequency_error,
)
from sfumato.bounds.minimax.information import cap_information, cube_information, pair_information, subset_information
from sfumato.bounds.minimax.means import ball_mean_error, cube_mean_error, mean_error
from sfumato.bounds.minimax.testing import assouad, fano, le_cam
from sfumato.bounds.minimax.trees import van_trees

__all__ = [
    "assouad",
    "asymptotic_frequency_error",
    "ball_mean_error",
    "cap_information",
    "certify_local",
    "cube_information",
    "cube_mean_error",
    "density_error",
    "fano",
    "frequency_error",
    "frequency_l1_error",
    "le_cam",
    "mean_error",
    "pair_information",
    "subset_information",
    "van_trees",
    "worst_frequency_error",
]
