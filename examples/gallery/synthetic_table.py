"""A synthetic table: invented rows drawn from a private model.

One charge, then every question about the rows is free.  The table says what it is good at and what not to ask.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(13)
age = np.clip(rng.gamma(9, 4.5, 4_000), 18, 90).round()
salary = np.clip(rng.normal(20_000 + 700 * age, 9_000), 0, 150_000)
people = pd.DataFrame({"age": age, "salary": salary, "owner": np.where(rng.random(4_000) < age / 100, "yes", "no")})

columns = {
    "age": sf.Integers(18, 90),
    "salary": sf.Interval(0, 150_000, step=100),
    "owner": sf.Categories(["no", "yes"]),
}
table = sf.read(people, schema=columns, dataset="households", size=4_000)
session = sf.Session(table, budget=sf.Approximate(1.0, 1e-6), ledger="households.ledger")
made = session.synthesize(spend=sf.Approximate(1.0, 1e-6))
print(made)
print(made.ask(sf.mean("salary").by("owner")).to_pandas())  # free, with an interval that counts the model's own error
made.plot().save("synthetic_table.svg")
