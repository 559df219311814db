"""Mean salary by team: each group with its own error bar, wider where few people are.

Kind of data: numbers and categories.  The private means and their 95 % intervals, one charge for all teams.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(1)
teams = ["north", "south", "east", "west", "sea"]
team = rng.choice(teams, 8_000, p=[0.45, 0.3, 0.15, 0.08, 0.02])
staff = pd.DataFrame({"team": team, "salary": rng.lognormal(10.8, 0.35, 8_000) + 4_000 * (team == "west")})

columns = {"team": sf.Categories(teams), "salary": sf.Interval(0, 200_000, step=10)}  # public: never read off the data
table = sf.read(staff, schema=columns, dataset="staff", size=8_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="staff.ledger")

question = sf.mean("salary").by("team")
print(session.preview(question, spend=sf.Pure(0.5)))  # free: cost, error and certificate before anything is spent
release = session.release(question, spend=sf.Pure(0.5))
print(release)
release.plot().save("groups.svg")
