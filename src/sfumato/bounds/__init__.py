"""What no mechanism can beat, with numbers."""

from sfumato.bounds.bounded_tables import packed_mean_error, packed_tail
from sfumato.bounds.certificates import certify
from sfumato.bounds.counting import count_mean_absolute, count_mean_square
from sfumato.bounds.dithering import dithered_mean_square
from sfumato.bounds.isotropy import isotropy
from sfumato.bounds.metric import metric_mean_norm, metric_mean_square, metric_quantile
from sfumato.bounds.packing import packed_mean_absolute, packed_mean_square
from sfumato.bounds.projections import projected_mean_norm, projected_mean_square
from sfumato.bounds.record import discrete_record_error, printed_record_error, record_error
from sfumato.bounds.staircase import (
    integer_sum_mean_absolute,
    integer_sum_mean_square,
    real_sum_mean_absolute,
)
from sfumato.bounds.unit_step import unit_step_mean_norm, unit_step_mean_square
from sfumato.bounds.volume import volume_radius

__all__ = [
    "certify",
    "count_mean_absolute",
    "count_mean_square",
    "discrete_record_error",
    "dithered_mean_square",
    "integer_sum_mean_absolute",
    "integer_sum_mean_square",
    "isotropy",
    "metric_mean_norm",
    "metric_mean_square",
    "metric_quantile",
    "packed_mean_absolute",
    "packed_mean_error",
    "packed_mean_square",
    "packed_tail",
    "printed_record_error",
    "projected_mean_norm",
    "projected_mean_square",
    "real_sum_mean_absolute",
    "record_error",
    "unit_step_mean_norm",
    "unit_step_mean_square",
    "volume_radius",
]
