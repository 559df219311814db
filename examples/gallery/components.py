"""The directions in which four measurements vary together: private principal components.

Columns are scaled by their declared bounds; each axis says how far it may be from the true one.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(16)
size, shape = rng.normal(0, 1, 20_000), rng.normal(0, 0.5, 20_000)
names = ["height", "reach", "weight", "girth"]
parts = np.c_[size + shape, size + shape, size - shape, size - shape] + rng.normal(0, 0.2, (20_000, 4))

table = sf.read(
    pd.DataFrame(parts, columns=names),
    schema={name: sf.Interval(-4, 4, step=0.01) for name in names},
    dataset="bodies",
    size=20_000,
)
session = sf.Session(table, budget=sf.Pure(2.0), ledger="bodies.ledger")
release = session.release(sf.pca(names, k=2), spend=sf.Pure(2.0))
print(release)
release.plot().save("components.svg")
