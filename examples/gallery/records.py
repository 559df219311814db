"""Records as values: questions about their fields, by name.

Kind of data: structures, as Parquet and JSON hold them.  A missing record has all of its fields missing.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(21)
cities, prices = ["Bonn", "Kiel", "Ulm"], {"Bonn": 900, "Kiel": 750, "Ulm": 820}
homes = []
for city in rng.choice(cities, 4_000, p=[0.5, 0.3, 0.2]):
    rooms = int(rng.integers(1, 6))
    homes.append({"city": city, "rooms": rooms, "rent": prices[city] * rooms**0.5 + rng.normal(0, 80)})
homes[::50] = [None] * len(homes[::50])  # some are missing

fields = {"city": sf.Categories(cities), "rooms": sf.Integers(1, 5), "rent": sf.Interval(0, 3_000, step=10)}
table = sf.read(pd.DataFrame({"home": homes}), schema={"home": sf.Record(fields)}, dataset="homes", size=4_000)
session = sf.Session(table, budget=sf.Pure(2.0), ledger="homes.ledger")
release = session.release(sf.mean("home.rent").by("home.city", "home.rooms"), spend=sf.Pure(1.0))
print(release)
release.plot().save("records.svg")
