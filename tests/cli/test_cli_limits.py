"""Questions with limits of their own, and ledgers that hold them, through the command line."""

import pandas as pd

import sfumato as sf
from sfumato.release.verification import verify

COLUMNS = {"shop": sf.Categories(["north", "south", "web"]), "paid": sf.Interval(0, 500, step=1)}
VISITS = pd.DataFrame({
    "visitor": [str(i % 15) for i in range(90)],
    "shop": [["north", "south", "web"][i % 3] for i in range(90)],
    "paid": [float(7 * i % 90) for i in range(90)],
})  # fmt: skip
PEOPLE = pd.DataFrame({"visitor": [str(i) for i in range(15)], "age": [18 + i for i in range(15)]})

FORMS = {
    "plain": sf.count(),
    "rows": sf.count().per_person(rows=6),
    "one": sf.count().per_person(rows=1),
    "mean": sf.mean("paid").by("shop").per_person(rows=5),
    "median": sf.median("paid").per_person(rows=2),
    "people": sf.count_people().where("shop == 'web'"),
    "people by": sf.count_people(groups=2).by("shop"),
    "each": sf.count().by("shop").per_person(each=2, groups=2),
    "total": sf.sum("paid").per_person(total=(0, 800)),
    "total by": sf.sum("paid").by("shop").per_person(total=(0, 400), groups=2),
    "difference": sf.difference(sf.count(), across="shop", between=("north", "web")).per_person(each=1),
    "rows a person": sf.rows_per_person([0.5, 0.95], most=100),
}


def read(**besides):
    return sf.read(VISITS, schema=COLUMNS, unit="visitor", rows=3, dataset="purchases", **besides)


def test_a_ledger_of_questions_with_their_own_limits_holds(tmp_path, run):
    path = tmp_path / "purchases.ledger"
    session = sf.Session(read(), budget=sf.Pure(100.0), ledger=path)
    for name, query in FORMS.items():
        session.release(query, spend=sf.Pure(1.0), name=name)
    both = read(people=PEOPLE, attributes={"age": sf.Integers(0, 120)})
    joined = sf.Session(both, budget=sf.Pure(100.0), ledger=path)
    joined.release(sf.sum("paid").where("age < 40").per_person(total=(0, 800)), spend=sf.Pure(1.0), name="joined")
    only = sf.read(PEOPLE, schema={"age": sf.Integers(0, 120)}, unit="visitor", rows=3, dataset="purchases")
    sf.Session(only, budget=sf.Pure(100.0), ledger=path).release(sf.count(), spend=sf.Pure(1.0), name="only")
    done = run("ledger", "verify", path)
    assert (done.code, done.err) == (0, "")
    assert f"spent epsilon {len(FORMS) + 2}" in done.out


def test_a_release_about_others_does_not_verify_whatever_its_limits(tmp_path):
    session = sf.Session(read(), budget=sf.Pure(100.0), ledger=tmp_path / "purchases.ledger")
    made = {
        name: session.release(FORMS[name], spend=sf.Pure(1.0)).to_bytes() for name in ("plain", "rows", "people by")
    }
    for unit, disputed in (
        (sf.Person("customer", 3), {"plain", "rows", "people by"}),
        (sf.Person("visitor", 4), {"plain"}),  # what a question's own limits say, they say in any ledger about visitors
        (sf.Row(), {"plain", "rows", "people by"}),
    ):
        ledger = sf.Ledger.open(tmp_path / f"{unit.words()[:40]}.ledger", dataset="purchases", unit=unit,
                                adjacency=sf.AddRemove(), budget=sf.Pure(10.0))  # fmt: skip
        for name, content in made.items():
            ledger.store(ledger.charge(name, "0" * 64, sf.Pure(1.0), {}), content)
        told = " ".join(verify(ledger).disputes)
        assert {name for name in made if f"release {name!r} was made for another dataset" in told} == disputed
