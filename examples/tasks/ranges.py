"""Every range of ages at once, from one noise made for that."""

import sfumato as sf

session = sf.Session(sf.read("visits.csv", schema={"age": sf.Integers(0, 99)}), budget=1.0, ledger="ranges.ledger")
print(session.release(sf.ranges(sf.bins("age", count=20)), spend=1.0).to_pandas())
