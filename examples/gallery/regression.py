"""How salary depends on age: a private regression curve for each of two groups.

The band is about the mean salary at that age; where hardly anybody is, it is the whole range.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(9)
age, office = rng.uniform(18, 66, 12_000), rng.choice(["city", "country"], 12_000)
salary = 30 + 0.9 * (age - 18) - 0.012 * (age - 18) ** 2 + 8 * (office == "city") + rng.normal(0, 8, 12_000)

columns = {
    "age": sf.Interval(16, 70, step=1),
    "salary": sf.Interval(0, 120, step=0.1),
    "office": sf.Categories(["city", "country"]),
}
frame = pd.DataFrame({"age": age, "salary": salary, "office": office})
table = sf.read(frame, schema=columns, dataset="trend", size=12_000)
session = sf.Session(table, budget=sf.Pure(2.0), ledger="trend.ledger")
release = session.release(sf.regression("salary", "age").by("office"), spend=sf.Pure(1.0))
print({office: release.curves[office].at([25, 45, 60]).round(1) for office in ("city", "country")})
release.plot().save("regression.svg")
