"""What people ask every day: shares, ratios, differences, weights, dates, derived columns, texts, gaps."""

import sfumato as sf

columns = {
    "age": sf.Integers(0, 110),
    "paid": sf.Interval(0, 500),
    "shop": sf.Categories(["north", "south", "web"]),
    "member": sf.Categories([False, True]),
    "town": sf.Texts(),
    "day": sf.Dates("2026-01-01", "2026-12-31"),
    "items": sf.Subsets([f"i{place}" for place in range(50)], cap=4),
    "weight": sf.Interval(0, 2),
}
derived = {"a year": ("paid / max(age, 1)", sf.Interval(0, 100))}
table = sf.read("visits.csv", schema=columns, derived=derived)
session = sf.Session(table, budget=sf.Approximate(20.0, 1e-5), ledger="everyday.ledger")
for question in [
    sf.share("age >= 65").by("shop"),
    sf.ratio("paid", "weight", bounds=(0, 500)),
    sf.difference(sf.mean("paid"), across="member", between=(True, False)),
    sf.mean("paid", weight="weight"),
    sf.std("paid"),
    sf.items("items"),
    sf.top("items", 3),
    sf.count().by("month(day)"),
    sf.quantiles("day", [0.25, 0.75]),
    sf.count().where("town startswith 'B' and age is not null"),
    sf.mean("a year").by("quarter(day)"),
]:
    print(session.release(question, spend=1.0))
print(session.release(sf.count().by(sf.discovered("town"), "shop"), spend=sf.Approximate(1.0, 1e-6)))
