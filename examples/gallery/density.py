"""The density of an income as one public function, with a band that covers all of it.

Evaluate it anywhere, integrate it, sample from it, save it: all free, since the curve itself is public.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(8)
income = np.r_[rng.normal(30, 6, 1_200), rng.normal(62, 8, 800)]
columns = {"income": sf.Interval(0, 120, step=0.1)}
table = sf.read(pd.DataFrame({"income": income}), schema=columns, dataset="incomes", size=2_000)
session = sf.Session(table, budget=sf.Approximate(1.0, 1e-6), ledger="incomes.ledger")

release = session.release(sf.density("income", bandwidth=3), spend=sf.Approximate(0.5, 1e-7))
curve = release.curve
share, low, high = curve.integral(50, 120)
print(f"above 50 earn {share:.1%}, between {low:.1%} and {high:.1%}; the density at 30 is {curve.at([30])[0]:.4f}")
print("five incomes of nobody:", curve.sample(5, sf.reference.secure()).round(1))
release.plot().save("density.svg")
