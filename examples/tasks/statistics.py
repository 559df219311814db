"""The statistics of a report: how many, on average, by group, in classes, in the middle."""

import sfumato as sf

columns = {"age": sf.Integers(0, 110), "paid": sf.Interval(0, 500), "shop": sf.Categories(["north", "south", "web"])}
session = sf.Session(sf.read("visits.csv", schema=columns), budget=5.0, ledger="statistics.ledger")
print(session.release(sf.count(), spend=1.0))
print(session.release(sf.mean("paid"), spend=1.0))
print(session.release(sf.mean("paid").by("shop").where("age >= 18"), spend=1.0))
print(session.release(sf.histogram(sf.bins("age", count=11)), spend=1.0))
print(session.release(sf.median("paid"), spend=1.0))
