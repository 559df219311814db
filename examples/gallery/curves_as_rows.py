"""Each row is a curve: the mean day of a thousand electricity meters, with a band around it.

Kind of data: curves.  A Parquet column of lists is one; a smaller radius means less noise and brings outliers nearer.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(22)
hours = np.arange(24)
usual = 1 + 0.6 * np.sin((hours - 8) / 24 * 2 * np.pi) + 0.3 * np.sin((hours - 5) / 12 * 2 * np.pi)
load = usual + rng.gamma(2, 0.15, (1_000, 24))

space = sf.Curves(points=list(range(24)), low=0, high=5, step=0.01)
table = sf.read(pd.DataFrame({"load": load.tolist()}), schema={"load": space}, dataset="meters", size=1_000)
session = sf.Session(table, budget=sf.Approximate(1.0, 1e-6), ledger="meters.ledger")
question = sf.mean_curve("load", points=list(range(24)), radius=1.0, center=1.2, waves=5, period=24)
release = session.release(question, spend=sf.Approximate(1.0, 1e-7))
low, high = release.curve.band([20.0])
print(f"at eight in the evening {release.curve.at([20.0])[0]:.2f} kWh, between {low[0]:.2f} and {high[0]:.2f}")
release.plot().save("curves_as_rows.svg")
