"""A synthetic table in place of a sensitive one."""

import sfumato as sf

columns = {"age": sf.Integers(0, 110), "paid": sf.Interval(0, 500), "shop": sf.Categories(["north", "south", "web"])}
session = sf.Session(sf.read("visits.csv", schema=columns), budget=1.0, ledger="synthetic.ledger")
session.synthesize(spend=1.0).save("made.parquet")
