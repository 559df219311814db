"""A whole function: evaluable anywhere at no further cost, shown at some points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Columns, Read, failure_of
from sfumato.answers.curves import Covariance, Curve, Trend
from sfumato.answers.statements import Accuracy, ErrorStatement

__all__ = ["Function", "Functions"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Function(Read):
    """A curve with the points at which its table shows it; of covariances also the one without the means."""

    kind: ClassVar[str] = "curve"
    step: ClassVar[float | None] = None
    order: ClassVar[str] = "axis"

    curve: Curve | Trend
    points: Floats
    labels: tuple[str, ...]
    stated: Callable[[float], Accuracy]
    covariance: Covariance | None = None
    smoothed: str | None = None  # by which bandwidth, in words

    @property
    def keys(self) -> Columns:
        """None: a function is of the whole table."""
        return {}

    @property
    def measure(self) -> str:
        """What the curve is."""
        return self.curve.kind

    @property
    def value(self) -> object:
        """The curve at the points shown."""
        return self.curve.at(self.points)

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """Points, estimate, and the ends of pointwise intervals or of the band."""
        level = 1 - failure_of(level)
        low, high = self.curve.band(self.points, level) if joint else self.curve.interval(self.points, level)
        columns: Columns = {label: self.points[:, j].tolist() for j, label in enumerate(self.labels)}
        return columns | {"estimate": self.curve.at(self.points).tolist(), "low": low.tolist(), "high": high.tolist()}

    def error(self, level: float = 0.95) -> Accuracy:
        """The error everywhere at once, or at the points shown."""
        return self.stated(failure_of(level))


@dataclass(frozen=True, slots=True, eq=False)
class Functions(Read):
    """A curve for each group."""

    kind: ClassVar[str] = "curves"
    step: ClassVar[float | None] = None
    order: ClassVar[str] = "axis"

    groups: Columns  # the labels of the groups by key
    parts: tuple[Function, ...]

    @property
    def keys(self) -> Columns:
        """The labels of the group of each row of the table."""
        return {
            key: [label for label, part in zip(labels, self.parts, strict=True) for _ in part.points]
            for key, labels in self.groups.items()
        }

    @property
    def curves(self) -> dict[object, Curve | Trend]:
        """The curve of each group, by its label, or by its labels where the keys are several."""
        labels = list(zip(*self.groups.values(), strict=True))
        named = [label[0] if len(label) == 1 else label for label in labels]
        return {name: part.curve for name, part in zip(named, self.parts, strict=True)}

    @property
    def smoothed(self) -> str | None:
        """By which bandwidth, in words."""
        return self.parts[0].smoothed

    @property
    def measure(self) -> str:
        """What the curves are."""
        return self.parts[0].measure

    @property
    def value(self) -> object:
        """The curves at the points shown, one after another."""
        return np.concatenate([part.curve.at(part.points) for part in self.parts])

    def table(self, level: float = 0.95, *, joint: bool = False) -> Columns:
        """The groups, points, estimate, and the ends of pointwise intervals or of bands for all curves at once."""
        share = 1 - failure_of(level) / len(self.parts) if joint else level
        tables = [part.table(share, joint=joint) for part in self.parts]
        return {**self.keys, **{name: [one for table in tables for one in table[name]] for name in tables[0]}}

    def error(self, level: float = 0.95) -> Accuracy:
        """That of each curve, from the best to the worst."""
        stated = [part.error(level) for part in self.parts]
        known = [one for one in stated if isinstance(one, ErrorStatement)]
        if len(known) < len(stated):
            return next(one for one in stated if not isinstance(one, ErrorStatement))
        worst = max(known, key=lambda one: one.most)
        best = min(one.most if one.least is None else one.least for one in known)
        return replace(worst, least=best, each=True)
