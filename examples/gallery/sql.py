"""Questions in SQL: a SELECT is read as the questions that a plan holds, and no SQL reaches an engine.

What a statement may cost is said beside it; its answers share that so that the largest error is least.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(28)
states = ["CA", "NY", "TX", "WA"]
people = pd.DataFrame({"state": rng.choice(states, 6_000), "age": rng.integers(18, 90, 6_000)})
people["salary"] = 30_000 + 400 * people["age"] + rng.normal(0, 8_000, 6_000)

columns = {"state": sf.Categories(states), "age": sf.Integers(18, 90), "salary": sf.Interval(0, 150_000, step=100)}
table = sf.read(people, schema=columns, dataset="people", size=6_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="people.ledger")
statement = "SELECT state, count(*) AS n, avg(salary) FROM people WHERE age >= 30 GROUP BY state"
counts, means = session.release_all(sf.sql.requests(statement, session.schema, spend=0.5))
print(counts.to_pandas(), means.to_pandas(), sep="\n")
try:
    sf.sql.asked("SELECT max(salary) FROM people", session.schema)
except sf.errors.SfumatoError as refusal:
    print("refused:", refusal)
means.plot().save("sql.svg")
