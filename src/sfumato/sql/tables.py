"""The names that a plan's table goes by in SQL."""

from __future__ import annotations

from sfumato.plans import Plan
from sfumato.spaces.schema import is_pattern, stem

__all__ = ["tables_of"]


def tables_of(plan: Plan) -> tuple[str, ...]:
    """What may stand after FROM beside the dataset's name: the plan's, the file's, and the table's within an engine."""
    file, within = plan.table.file, plan.table.name_within
    files = () if file is None or is_pattern(file) else (stem(file),)
    return (plan.path.stem, *files, *(() if within is None else (within,)))
