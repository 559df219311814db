"""A table of two columns with its margins."""

import sfumato as sf

columns = {"shop": sf.Categories(["north", "south", "web"]), "member": sf.Categories([False, True])}
session = sf.Session(sf.read("visits.csv", schema=columns), budget=1.0, ledger="cross.ledger")
print(session.release(sf.crosstab("shop", "member"), spend=1.0))
