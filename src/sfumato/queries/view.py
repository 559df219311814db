"""A secret view of a table: what a mechanism gets that wants more than one finished answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.queries.parts import Parts
from sfumato.queries.question import Known, Source

__all__ = ["Batches", "SecretView"]

Batches = Iterator[Mapping[str, npt.NDArray[np.int64]]]


@dataclass(frozen=True, slots=True, repr=False)
class SecretView:
    """The rows of the declared columns of one question, as often as they are wanted, and nothing else of the table.

    Exact and secret: it goes from a question's `answer` to one mechanism's `release`, which pays for all that it reads.
    """

    table: Source
    columns: tuple[str, ...]
    parts: tuple[Parts, ...] = ()  # of columns that are read as several
    texts: Known = ()  # that are public by now, of columns of texts

    def __repr__(self) -> str:
        return f"SecretView({', '.join(self.columns)})"

    def batches(self) -> Batches:
        """One pass over the rows: for each column (each part of one) an array of indices, -1 where missing."""
        rows = self.table.rows(self.columns, texts=self.texts) if self.texts else self.table.rows(self.columns)
        return (self._split(batch) for batch in rows) if self.parts else rows

    def persons(self) -> Iterator[tuple[npt.NDArray[np.int64], Mapping[str, npt.NDArray[np.int64]]]]:
        """One pass over the rows of persons, in batches that hold whole persons: for each row its person's number."""
        held: list[tuple[npt.NDArray[np.int64], Mapping[str, npt.NDArray[np.int64]]]] = []
        more = {"texts": self.texts} if self.texts else {}
        for persons, batch in self.table.persons(self.columns, **more):
            held.append((persons, self._split(batch) if self.parts else batch))
            if len(persons) and persons[0] != persons[-1]:  # all but the last are complete
                together, rows = _concatenated(held)
                last = int(np.searchsorted(together, together[-1]))
                yield together[:last], {name: column[:last] for name, column in rows.items()}
                held = [(together[last:], {name: column[last:] for name, column in rows.items()})]
        if held:
            yield _concatenated(held)

    def _split(self, batch: Mapping[str, npt.NDArray[np.int64]]) -> dict[str, npt.NDArray[np.int64]]:
        apart = {name: indices for part in self.parts for name, indices in part.split(batch[part.name]).items()}
        return {**batch, **apart}


def _concatenated(
    held: list[tuple[npt.NDArray[np.int64], Mapping[str, npt.NDArray[np.int64]]]],
) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[np.int64]]]:
    """Batches as one."""
    rows = {name: np.concatenate([batch[name] for _, batch in held]) for name in held[0][1]}
    return np.concatenate([persons for persons, _ in held]), rows
