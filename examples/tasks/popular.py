"""The ten most bought of two thousand items, with their counts, and the counts of all."""

import sfumato as sf

columns = {"items": sf.Subsets([f"i{place}" for place in range(2001)], cap=4)}
session = sf.Session(sf.read("visits.csv", schema=columns), budget=2.0, ledger="popular.ledger")
print(session.release(sf.top("items", 10), spend=1.0))
print(session.release(sf.items("items"), spend=1.0))
