"""Towns that people typed in: the list itself is private, and only names that enough people share are shown.

Kind of data: texts that nobody declared.  A name of a single person appears with probability at most delta.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(5)
towns = ["Ulm", "Bonn", "Kiel", "Trier", "Jena", *(f"hamlet {i}" for i in range(400))]
share = np.r_[[0.4, 0.25, 0.15, 0.08, 0.04], np.full(400, 0.08 / 400)]
visits = pd.DataFrame({"town": rng.choice(towns, 4_000, p=share)})

table = sf.read(visits, schema={"town": sf.Texts(longest=40)}, dataset="towns", size=4_000)
session = sf.Session(table, budget=sf.Approximate(1.0, 1e-6), ledger="towns.ledger")
release = session.release(sf.count().by(sf.discovered("town")), spend=sf.Approximate(0.5, 5e-7))
print(release)  # five towns; of four hundred hamlets, none or next to none
release.plot().save("discovered_keys.svg")
