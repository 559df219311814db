"""People with many rows: how many people, what they spend, what one may count, a range to declare."""

import sfumato as sf

columns = {"paid": sf.Interval(0, 10_000), "shop": sf.Categories(["north", "south", "web"])}
table = sf.read("visits.csv", schema=columns, unit="visitor", rows=5)
session = sf.Session(table, budget=5.0, ledger="persons.ledger")
print(session.release(sf.count_people(), spend=1.0))
print(session.release(sf.count_people(groups=2).by("shop"), spend=1.0))
print(session.release(sf.sum("paid").per_person(total=(0, 800)), spend=1.0))
print(session.release(sf.mean("paid").by("shop").per_person(rows=3), spend=1.0))
print(session.release(sf.extent("paid"), spend=1.0))
