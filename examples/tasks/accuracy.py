"""Accuracy first: the least spend for an error, and a budget divided over questions."""

import sfumato as sf

columns = {"age": sf.Integers(0, 110), "paid": sf.Interval(0, 500)}
session = sf.Session(sf.read("visits.csv", schema=columns, size=3000), budget=3.0, ledger="accuracy.ledger")
print(session.release(sf.count(), within="1%"))
print(session.preview(sf.mean("paid"), within=5).guarantee)
print(session.release_all([{"query": sf.mean("paid")}, {"query": sf.median("age")}], split="auto"))
print(session.releases)
