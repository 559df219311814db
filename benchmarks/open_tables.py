"""Public tables that synthesis is measured on: some that its constants were set on, and some that only judge them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import sfumato as sf

__all__ = ["FOLDER", "JUDGING", "LEFT_OUT", "TUNING", "opened"]

FOLDER = Path(__file__).parent.parent.parent / "shared" / "data"
TUNING = ("adult", "flights_100k", "pums_ca_1000", "parkinsons_telemonitoring", "cardiotocography", "wdbc")
JUDGING = ("eu_lfs_fr_50k", "pums_fulton", "cps_earnings", "california_housing")
LEFT_OUT = ("split", "subject", "id")  # no values, or identifiers
STEPS = 10_000  # of a number that is not whole, at least, over its bounds


def opened(name: str, folder: Path = FOLDER) -> tuple[pd.DataFrame, sf.Schema]:
    """The table, and a schema with its listed bounds; texts, and numbers without bounds, are categories."""
    frame = pd.read_csv(folder / f"{name}.csv.gz")
    frame = frame.drop(columns=[column for column in LEFT_OUT if column in frame])
    seen = [column.casefold() for column in frame]
    frame = frame[
        [column for place, column in enumerate(frame) if seen.index(seen[place]) == place]
    ]  # told apart by more than capitals
    listed = pd.read_csv(folder / "bounds.csv")
    bounds = listed[listed["dataset"] == name].set_index("column")
    frame = frame.drop(columns=list(bounds.index[bounds["lower"] == bounds["upper"]]))  # the same in every row
    spaces: dict[str, sf.spaces.Space] = {}
    for column in frame:
        values = frame[column]
        if column in bounds.index and pd.api.types.is_numeric_dtype(values):
            low, high = (float(bounds.loc[column, end]) for end in ("lower", "upper"))
            whole = bool((values.dropna() % 1 == 0).all())
            step = 10.0 ** np.floor(np.log10((high - low) / STEPS))
            ends = round(float(np.floor(low / step)) * step, 9), round(float(np.ceil(high / step)) * step, 9)
            spaces[column] = sf.Integers(int(low), int(high)) if whole else sf.Interval(*ends, step=step)
        else:
            frame[column] = values.map(str, na_action="ignore")
            spaces[column] = sf.Categories(sorted(frame[column].dropna().unique()))
    return frame, sf.Schema(spaces, dataset=name)
