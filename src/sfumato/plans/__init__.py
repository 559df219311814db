"""Plan documents: what to publish, from which table, at what cost."""

from sfumato.plans.document import FORMAT
from sfumato.plans.mistakes import BLANK
from sfumato.plans.plan import Plan, PlannedRelease, read_plan
from sfumato.plans.writing import write_plan

__all__ = ["BLANK", "FORMAT", "Plan", "PlannedRelease", "read_plan", "write_plan"]
