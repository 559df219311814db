"""The questions of the playground, each with its true answer by plain arithmetic, beside the one of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.answers.answer import Columns
from sfumato.queries import Query, bins, col, count, histogram, mean, median

__all__ = ["QUESTIONS", "Bounds", "Posed"]

Floats = npt.NDArray[np.float64]
Bounds = tuple[float, float] | None  # of salaries, to which values are clipped; None: as they are
EDGES = (0, 18, 30, 45, 65, 120)
OLD = 65


@dataclass(frozen=True, slots=True)
class Posed:
    """A question in words and as the library asks it; `true(age, salary)` is one number for each group."""

    words: str
    unit: str
    query: Query
    true: Callable[[Floats, Floats], list[float]]
    bounded: bool  # whether the bounds of salaries matter
    grouped: bool = False

    def truth(self, people: pa.Table, bounds: Bounds) -> list[float]:
        """What is true of these people, salaries clipped to the bounds where there are some."""
        salary = people["salary"].to_numpy()
        return self.true(people["age"].to_numpy(), salary if bounds is None else np.clip(salary, *bounds))

    def labels(self, columns: Columns) -> list[str]:
        """The groups of an answer in words; one that is empty where there are none."""
        keys = [name for name in columns if name not in ("estimate", "low", "high", "probability")]
        held = zip(*(columns[name] for name in keys), strict=True)
        return [", ".join(map(str, cell)) for cell in held] if keys else [""]

    def person(self, people: pa.Table) -> int:
        """Where the person stands whose leaving changes the answer most: the best paid, or the oldest."""
        return int(np.argmax(people["salary" if self.bounded else "age"].to_numpy()))

    def who(self, people: pa.Table, place: int) -> str:
        """That person in words."""
        age, salary = people["age"][place].as_py(), people["salary"][place].as_py()
        return f"the best paid person (salary {salary:,.0f})" if self.bounded else f"the oldest person (age {age:.0f})"


def _by_age(values: Callable[[Floats], float]) -> Callable[[Floats, Floats], list[float]]:
    """A statistic of the salaries in each band of ages, the last one closed."""

    def true(age: Floats, salary: Floats) -> list[float]:
        places = np.clip(np.digitize(age, EDGES) - 1, 0, len(EDGES) - 2)
        return [values(salary[places == place]) for place in range(len(EDGES) - 1)]

    return true


QUESTIONS = {
    "mean": Posed("What is the mean salary?", "$", mean("salary"), lambda age, salary: [float(salary.mean())], True),
    "count": Posed(
        f"How many people are {OLD} or older?", "people", count().where(col("age") >= OLD),
        lambda age, salary: [float((age >= OLD).sum())], False,
    ),
    "median": Posed(
        "What is the median salary?", "$", median("salary", bars=True),
        lambda age, salary: [float(np.median(salary))], True,
    ),
    "ages": Posed(
        "How many people are there of each age?", "people", histogram(bins("age", *EDGES)),
        _by_age(lambda salary: float(salary.size)), False, True,
    ),
    "salaries": Posed(
        "What is the mean salary at each age?", "$", mean("salary").by(bins("age", *EDGES)),
        _by_age(lambda salary: float(salary.mean())), True, True,
    ),
}  # fmt: skip
