"""Invented people to try things on: most with one row, some with several, some rows hostile.

Nothing here describes anyone.  The same arguments give the same table.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["HOBBIES", "STATES", "people", "tidy_people"]

STATES = [
    "AK", "AL", "AR", "AZ", "CA", "CO", "CT", "DC", "DE", "FL", "GA", "HI", "IA", "ID", "IL", "IN", "KS",
    "KY", "LA", "MA", "MD", "ME", "MI", "MN", "MO", "MS", "MT", "NC", "ND", "NE", "NH", "NJ", "NM", "NV",
    "NY", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VA", "VT", "WA", "WI", "WV", "WY",
]  # fmt: skip
SHARES = np.array(
    [0.7, 5, 3, 7.3, 39, 5.8, 3.6, 0.7, 1, 22, 11, 1.4, 3.2, 1.9, 12.6, 6.8, 2.9, 4.5, 4.6, 7, 6.2, 1.4, 10, 5.7, 6.2,
     2.9, 1.1, 10.6, 0.8, 2, 1.4, 9.3, 2.1, 3.1, 19.6, 11.8, 4, 4.2, 13, 1.1, 5.3, 0.9, 7, 30, 3.4, 8.7, 0.6, 7.8, 5.9,
     1.8, 0.6]
)  # fmt: skip
HOBBIES = ["chess", "cooking", "cycling", "gardening", "hiking", "judo", "opera", "painting", "reading", "swimming"]
LIKED = np.array([0.06, 0.38, 0.17, 0.33, 0.29, 0.03, 0.04, 0.12, 0.45, 0.22])
CITIES = ["Springfield", "Riverton", "Fairview", "Clinton", "Georgetown", "Salem", "Madison", "Franklin", "Arlington"]


def people(count: int, seed: int = 7) -> pa.Table:
    """One row for most people, two to five for some, in an order that says nothing; some values are hostile."""
    rng = np.random.default_rng(seed)
    return _hostile(_tidy(count, rng), rng)


def tidy_people(count: int, seed: int = 7) -> pa.Table:
    """The same people without a hostile value: those of whom a true answer can be shown."""
    return _tidy(count, np.random.default_rng(seed))


def _tidy(count: int, rng: np.random.Generator) -> pa.Table:
    state = rng.choice(len(STATES), count, p=SHARES / SHARES.sum())
    age = np.clip(rng.gamma(5.5, 7.6, count), 0, 104).round()
    wages = np.exp(0.11 * np.random.default_rng(50).standard_normal(len(STATES)))
    level = 44_000 * wages[state] * (1 + 0.5 * np.clip(age - 18, 0, 32) / 32)
    salary = np.where(age < 16, 0.0, level * rng.lognormal(0.0, 0.42, count)).round(2)
    height = rng.normal(169.5, 9.6, count).round(1)
    city = _cities(count, rng)
    hobbies = rng.random((count, len(HOBBIES))) < LIKED
    rows = np.repeat(np.arange(count), np.where(rng.random(count) < 0.05, rng.integers(2, 6, count), 1))
    rng.shuffle(rows)
    raise_ = rng.normal(1.0, 0.02, rows.size)
    return pa.table(
        {
            "person_id": rows + 100_000,
            "age": age[rows],
            "salary": (salary[rows] * raise_).round(2),
            "state": pa.array(np.array(STATES)[state[rows]]),
            "height": height[rows],
            "hobbies": _lists(hobbies[rows]),
            "city": pa.array(city[rows]),
        }
    )


def _hostile(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    """The same table with some of what real files hold: NaN, infinities, negative ages, unknown states, nulls."""
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    for name, bad in (
        ("age", [float("nan"), -17.0, 999.0, None]),
        ("salary", [float("nan"), float("inf"), -1e308, 1e308, None]),
        ("height", [float("-inf"), 0.0, None]),
        ("state", ["Atlantis", "", None]),
        ("city", [None]),
        ("hobbies", [None, ["time travel"], ["chess"] * 40]),
    ):
        places = rng.random(table.num_rows) < 0.004
        values = pa.array([bad[i] for i in rng.integers(0, len(bad), int(places.sum()))], columns[name].type)
        if name == "hobbies":
            spread = np.where(places, table.num_rows + np.cumsum(places) - 1, np.arange(table.num_rows))
            columns[name] = pa.concat_arrays([columns[name], values]).take(pa.array(spread))
        else:
            columns[name] = pc.replace_with_mask(columns[name], pa.array(places), values)
    return pa.table(columns)


def _cities(count: int, rng: np.random.Generator) -> np.ndarray:
    """A few large cities, many small ones, and some that only one person lives in."""
    small = [a + b for a in ("Ash", "Oak", "Elm", "Mill", "Glen", "Fox") for b in ("ford", "ton", "dale")]
    names = np.array([*CITIES, *small])
    weights = 1.0 / np.arange(1, len(names) + 1) ** 1.15
    chosen = names[rng.choice(len(names), count, p=weights / weights.sum())]
    hermits = rng.random(count) < 0.0005
    alone = np.array([f"Hermitage {i}" for i in range(int(hermits.sum()))], dtype=object)
    cities = chosen.astype(object)
    cities[hermits] = alone
    return cities


def _lists(member: np.ndarray) -> pa.Array:
    """Rows of a yes-or-no matrix as lists of the hobbies that are ticked."""
    offsets = np.concatenate([[0], np.cumsum(member.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.array(HOBBIES)[np.nonzero(member)[1]]))
