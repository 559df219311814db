"""A cross table with its margins, published as whole numbers that add up.

Cells and sums come from one release; `adding_up` makes them whole, none negative, at no further cost.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(7)
shops, ages = ["north", "south", "web"], ["under 30", "30 to 60", "over 60"]
visits = pd.DataFrame({"shop": rng.choice(shops, 3_000, p=[0.2, 0.3, 0.5]), "age": rng.choice(ages, 3_000)})

schema = {"shop": sf.Categories(shops), "age": sf.Categories(ages)}
table = sf.read(visits, schema=schema, dataset="visits", size=3_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="visits.ledger")
release = session.release(sf.crosstab("shop", "age"), spend=sf.Pure(0.5))
print(release.pivot().to_pandas())
print(release.adding_up().to_pandas())
release.plot().save("cross_table.svg")
