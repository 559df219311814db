"""Quantiles of a salary, with intervals in money that hold on every table.

A quantile's own error is in ranks; `bars=True` spends half of the budget on ends in the column's units.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(2)
salary = np.r_[rng.normal(38_000, 6_000, 6_000), rng.normal(71_000, 9_000, 3_000)]
people = pd.DataFrame({"salary": salary})

table = sf.read(people, schema={"salary": sf.Interval(0, 200_000, step=100)}, dataset="earners", size=9_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="earners.ledger")
release = session.release(sf.quantiles("salary", [0.1, 0.25, 0.5, 0.75, 0.9], bars=True), spend=sf.Pure(1.0))
print(release)
print("true quantiles, shown because nobody in this table exists:", np.quantile(salary, [0.1, 0.25, 0.5, 0.75, 0.9]))
release.plot().save("quantiles.svg")
