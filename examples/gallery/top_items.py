"""The most popular of a thousand tags, chosen without telling how many people like each.

Kind of data: sets.  A person holds several tags; the list is found item by item, or read off one noisy histogram.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(3)
tags = [f"tag {i:03}" for i in range(1_000)]
popularity = 1 / np.arange(1, 1_001)
liked = [list({tags[i] for i in rng.choice(1_000, 3, p=popularity / popularity.sum())}) for _ in range(5_000)]

table = sf.read(pd.DataFrame({"liked": liked}), schema={"liked": sf.Subsets(tags, cap=3)}, dataset="tags", size=5_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="tags.ledger")
release = session.release(sf.top("liked", 8), spend=sf.Pure(1.0))
print(release)
release.plot().save("top_items.svg")
