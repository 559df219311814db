"""How many people hold each item of a set, all items at once.

Kind of data: sets.  With a concentrated spend the noise grows by the root of what one person may hold.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(4)
hobbies = ["chess", "cooking", "cycling", "gardening", "hiking", "judo", "opera", "reading"]
likely = np.array([0.06, 0.38, 0.17, 0.33, 0.29, 0.03, 0.04, 0.45])
held = [[hobby for hobby, yes in zip(hobbies, rng.random(8) < likely, strict=True) if yes] for _ in range(3_000)]

schema = {"hobbies": sf.Subsets(hobbies, cap=4)}  # of each row at most four count
table = sf.read(pd.DataFrame({"hobbies": held}), schema=schema, dataset="hobbies", size=3_000)
session = sf.Session(table, budget=sf.Concentrated(0.1), ledger="hobbies.ledger")
release = session.release(sf.items("hobbies"), spend=sf.Concentrated(0.05))
print(release)
release.plot().save("sets.svg")
