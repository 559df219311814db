"""What no mechanism can beat, with numbers."""

from sfumato.bounds.certificates import certify
from sfumato.bounds.concentrated import concentrated_mean_square
from sfumato.bounds.counting import count_mean_absolute, count_mean_square
from sfumato.bounds.packing import packed_mean_absolute, packed_mean_square
from sfumato.bounds.record import discrete_record_error, printed_record_error, record_error
from sfumato.bounds.staircase import (
    integer_sum_mean_absolute,
    integer_sum_mean_square,
    real_sum_mean_absolute,
)

__all__ = [
    "certify",
    "concentrated_mean_square",
    "count_mean_absolute",
    "count_mean_square",
    "discrete_record_error",
    "integer_sum_mean_absolute",
    "integer_sum_mean_square",
    "packed_mean_absolute",
    "packed_mean_square",
    "printed_record_error",
    "real_sum_mean_absolute",
    "record_error",
]
