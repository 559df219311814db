"""Persons with their rows, from a fitted model: what is a person's is drawn once, the rest for each row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.generation import sampled
from sfumato.mechanisms.synthetic.marginals.model import Reals
from sfumato.mechanisms.synthetic.marginals.rounds import Fitted
from sfumato.mechanisms.synthetic.persons.repeats import UNITS, agreements
from sfumato.mechanisms.synthetic.persons.walk import walked

__all__ = ["Drawing", "mean_rows", "several"]

TRIED = 4000  # persons that the shares of kept values are set by
TRIES = 4

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """A model of persons whose last column is the number of rows; `personal` says which columns are a person's."""

    fitted: Fitted
    personal: tuple[bool, ...]
    most: int  # rows of a person

    def drawn(
        self, rows: int, repeats: Mapping[str, float], chance: np.random.Generator
    ) -> tuple[Whole, dict[str, Whole]]:
        """So many rows: whose each is, and the indices of all columns.  `repeats`: how often two rows agree."""
        values, groups, counts = self._persons(rows, chance)
        keeping = self._keeping(groups, counts, values, repeats, chance)
        return self._rows(groups, counts, values, keeping, chance)

    def _persons(self, rows: int, chance: np.random.Generator) -> tuple[dict[str, Whole], Whole, Whole]:
        """Persons who have so many rows together: their values and groups, and the number of their rows."""
        wanted = math.ceil(rows / min(mean_rows(self.fitted), self.most)) + 1
        while True:
            groups = sampled(self.fitted.model, wanted, chance)
            values = self.fitted.opened(groups, chance)
            counts = np.minimum(values[self.fitted.columns[-1].name] + 1, self.most)
            ends = counts.cumsum()
            if ends[-1] >= rows:
                break
            wanted += 1 + wanted // 50
        last = int(np.searchsorted(ends, rows))
        counts = counts[: last + 1]
        counts[-1] -= ends[last] - rows
        return {name: held[: last + 1] for name, held in values.items()}, groups[: last + 1], counts

    def _keeping(
        self,
        groups: Whole,
        counts: Whole,
        values: Mapping[str, Whole],
        repeats: Mapping[str, float],
        chance: np.random.Generator,
    ) -> Reals:
        """How often a row keeps its person's value, so that two rows agree as often as was measured."""
        keeping = np.array([1.0 if own else 0.0 for own in self.personal])
        chosen = np.flatnonzero(counts > 1)[:TRIED]
        free = [place for place, own in enumerate(self.personal) if not own]
        if not len(chosen) or not repeats or not free:
            return keeping
        some = {name: held[chosen] for name, held in values.items()}
        columns, owners = [self.fitted.columns[p] for p in free], [self.fitted.finest[p] for p in free]
        wanted = np.array([repeats[column.name] for column in columns])
        both, idle = np.zeros(len(free)), np.ones(len(free))
        for attempt in range(TRIES):
            persons, made = self._rows(groups[chosen], counts[chosen], some, keeping, chance)
            found = agreements([(persons, made)], columns, owners)[0] / (UNITS * len(chosen))
            idle = np.maximum(1 - found, 0.01) if attempt == 0 else idle
            both = np.clip(both + (wanted - found) / idle, 0.0, 1.0)
            keeping[free] = np.sqrt(both)
        return keeping

    def _rows(
        self, groups: Whole, counts: Whole, values: Mapping[str, Whole], keeping: Reals, chance: np.random.Generator
    ) -> tuple[Whole, dict[str, Whole]]:
        """The rows of these persons."""
        persons = np.repeat(np.arange(len(counts)), counts)
        kept = chance.random((len(persons), len(keeping))) < keeping
        kept[counts[persons] == 1] = True
        found = self.fitted.opened(walked(self.fitted.model, groups[persons], kept, chance), chance)
        return persons, {
            column.name: np.where(kept[:, place], values[column.name][persons], found[column.name])
            for place, column in enumerate(self.fitted.columns)
        }


def mean_rows(fitted: Fitted) -> float:
    """How many rows a person has on average."""
    shares, middles = _numbers(fitted)
    return float(shares @ middles)


def several(fitted: Fitted) -> float:
    """The share of persons who have more than one row."""
    shares, middles = _numbers(fitted)
    return float(shares[middles > 1].sum())


def _numbers(fitted: Fitted) -> tuple[Reals, Reals]:
    """The share of each number of rows; of numbers that are counted together, their middle."""
    column, counts = fitted.columns[-1], fitted.levels[-1]
    return counts / counts.sum(), 1 + np.array(column.edges) + (column.widths() - 1) / 2
