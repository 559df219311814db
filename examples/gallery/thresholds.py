"""The share of people at or below each of many incomes: shares that never fall, with bars that hold together."""

import numpy as np
import pandas as pd

import sfumato as sf

income = np.random.default_rng(18).lognormal(10.5, 0.5, 6_000)
table = sf.read(
    pd.DataFrame({"income": income}),
    schema={"income": sf.Interval(0, 150_000, step=100)},
    dataset="steps",
    size=6_000,
)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="steps.ledger")
release = session.release(sf.thresholds("income", points=25), spend=sf.Pure(1.0))
print(release)
release.plot().save("thresholds.svg")
