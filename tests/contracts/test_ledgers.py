"""The laws of every ledger, wherever it keeps its entries.

A new implementation adds one line to `LEDGERS`: a function that takes a directory for its own use
and returns an opener, which opens the same ledger each time it is called.
"""

import contextlib
import copy
import dataclasses
import inspect
import json
import os
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import (
    AssumptionRefused,
    BudgetExceeded,
    LedgerError,
    ParameterError,
)
from sfumato.ledger import Charge, Ledger, LedgerLike, Member
from sfumato.ledger.memory import MemoryLedger
from sfumato.ledger.terms import Terms
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.assumptions import assumed
from sfumato.privacy.claims import to_record
from sfumato.privacy.filters import UNIT
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure

TERMS = {
    "dataset": "people-2024",
    "adjacency": AddRemove(),
    "unit": Person("person_id", 2),
    "budget": Pure(2.0),
}
DIGEST, OTHER = "a" * 64, "b" * 64
ABOUT = {"mechanism": "laplace", "parameters": {"scale": 4}, "query": {"type": "count"}}


def sqlite_ledger(directory):
    def opener(**changes):
        return Ledger.open(Path(directory) / "people.ledger", **{**TERMS, **changes})

    return opener


def memory_ledger(directory):
    """One ledger for all callers, each with what it allows."""
    held = []

    def opener(*, allow=(), **changes):
        declared = {**TERMS, **changes}
        if not held and declared["budget"] is None:
            raise LedgerError("there is no such ledger yet; give budget= to create it")
        if not held:
            held.append(MemoryLedger(Terms(**declared)))
        held[0].terms.must_match(*declared.values())
        again = copy.copy(held[0])
        again._allow = assumed(allow)
        return again

    return opener


def postgres_ledger(directory):
    """A ledger of its own on the server of `make test-postgres`, under the name of the directory."""
    from sfumato.ledger.postgres import PostgresLedger

    address, name = f"host={os.environ['SFUMATO_POSTGRES']} user=postgres dbname=postgres", str(directory)

    def opener(**changes):
        return PostgresLedger.open(address, name=name, **{**TERMS, **changes})

    return opener


LEDGERS = [
    pytest.param(sqlite_ledger, id="sqlite"),
    pytest.param(memory_ledger, id="memory"),
    pytest.param(postgres_ledger, id="postgres", marks=pytest.mark.postgres),
]
pytestmark = pytest.mark.parametrize("implementation", LEDGERS)


@pytest.fixture
def opener(implementation, tmp_path):
    return implementation(tmp_path)


# shape


def test_offers_the_whole_interface(opener):
    ledger = opener()
    for name, member in inspect.getmembers(LedgerLike):
        if name.startswith("_"):
            continue
        assert hasattr(ledger, name), name
        if inspect.isfunction(member):
            asked = list(inspect.signature(member).parameters)[1:]
            assert list(inspect.signature(getattr(ledger, name)).parameters) == asked


def test_offers_no_refund_and_no_context_manager(opener):
    offered = {name.lower() for name in dir(opener())}
    assert not offered & {"__enter__", "__exit__", "refund", "cancel", "delete", "update", "reset"}


def test_charges_and_findings_are_frozen(opener):
    ledger = opener()
    charge = ledger.charge("a", DIGEST, Pure(0.5), ABOUT)
    ledger.store(charge, b"x")
    for value in (charge, ledger.find("a", DIGEST), ledger.verify(), ledger.entries()[0]):
        field = dataclasses.fields(value)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field, None)


# spending


def test_a_new_ledger_has_spent_nothing(opener):
    ledger = opener()
    assert ledger.spent() == Pure(0.0)
    assert ledger.remaining() == TERMS["budget"]
    assert ledger.verify().holds


def test_a_crash_after_the_charge_counts_as_spent(opener):
    opener().charge("a", DIGEST, Pure(0.5), ABOUT)
    again = opener()
    assert again.spent() == Pure(0.5)
    assert again.find("a", DIGEST) is None
    again.charge("a", DIGEST, Pure(0.5), ABOUT)
    assert opener().spent() == Pure(1.0)


def test_the_budget_can_be_spent_to_the_last_unit_and_no_further(opener):
    ledger = opener()
    for turn in range(4):
        ledger.charge(f"part {turn}", DIGEST, Pure(0.5), ABOUT)
    with pytest.raises(BudgetExceeded, match="nothing was charged"):
        ledger.charge("one unit more", DIGEST, Pure(1 / UNIT), ABOUT)
    assert ledger.remaining() == Pure(0.0)
    ledger.charge("free", DIGEST, Pure(0.0), ABOUT)


def test_a_refused_charge_changes_nothing_and_says_what_remains(opener):
    ledger = opener()
    ledger.charge("a", DIGEST, Pure(1.5), ABOUT)
    before = ledger.export()
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.charge("b", DIGEST, Pure(0.75), ABOUT)
    text = str(refusal.value)
    assert "epsilon 0.75 was asked for, and epsilon 0.5 is left" in text
    assert "Ask for less" in text
    for bad in (Approximate(0.1, 1e-6), Concentrated(0.1)):
        with pytest.raises(ParameterError, match="only pure charges"):
            ledger.charge("b", DIGEST, bad, ABOUT)
    assert ledger.export() == before


@pytest.mark.parametrize("bad", [{"x": float("nan")}, {1: "x"}, {"x": object()}, {"x": b"raw"}])
def test_a_description_that_is_not_json_is_refused_and_nothing_charged(opener, bad):
    ledger = opener()
    with pytest.raises(ParameterError, match="description"):
        ledger.charge("a", DIGEST, Pure(0.5), bad)
    assert ledger.spent() == Pure(0.0)


@pytest.mark.parametrize("bad", ["", "line\nbreak", "\x00", "\ud800", "x" * 1001, None])
def test_names_and_digests_are_printable_text(opener, bad):
    ledger = opener()
    with pytest.raises(ParameterError, match="name must be printable"):
        ledger.charge(bad, DIGEST, Pure(0.5), ABOUT)
    with pytest.raises(ParameterError, match="digest must be printable"):
        ledger.find("a", bad)
    assert ledger.spent() == Pure(0.0)


def test_a_claim_must_be_a_guarantee(opener):
    with pytest.raises(ParameterError, match="claim must be a guarantee"):
        opener().charge("a", DIGEST, 0.5, ABOUT)


def test_assumptions_are_refused_unless_allowed_by_name(opener):
    claim = Pure(0.5, assumptions=frozenset({"mixing"}))
    with pytest.raises(AssumptionRefused, match="allow=\\{'mixing'\\}"):
        opener().charge("a", DIGEST, claim, ABOUT)
    with pytest.raises(AssumptionRefused):
        opener(allow={"real-arithmetic"}).charge("a", DIGEST, claim, ABOUT)
    assert opener().spent() == Pure(0.0)
    ledger = opener(allow={"mixing"})
    ledger.charge("a", DIGEST, claim, ABOUT)
    assert ledger.entries()[-1].guarantee == to_record(claim)
    with pytest.raises(ParameterError, match="unknown assumption"):
        opener(allow={"luck"})


def test_totals_beyond_64_bits_are_exact(opener):
    ledger = opener(budget=Pure(2.0**40))
    ledger.charge("most", DIGEST, Pure(2.0**40 - 0.5), ABOUT)
    ledger.charge("rest", DIGEST, Pure(0.5), ABOUT)
    assert ledger.entries()[-1].total == (2**40 * UNIT,)
    assert 2**40 * UNIT > 2**64
    with pytest.raises(BudgetExceeded):
        ledger.charge("one unit more", DIGEST, Pure(1 / UNIT), ABOUT)
    assert ledger.verify().holds


AMOUNTS = st.integers(0, 3 * 2**12).map(lambda steps: steps / 2**12)  # whole units: 2^-12 has twelve decimals


@settings(max_examples=25, deadline=None)
@given(claims=st.lists(AMOUNTS, max_size=8), budget=AMOUNTS)
def test_spending_follows_the_model_and_never_exceeds_the_budget(implementation, claims, budget):
    with tempfile.TemporaryDirectory() as directory:
        ledger = implementation(directory)(budget=Pure(budget))
        spent = Fraction(0)
        for turn, epsilon in enumerate(claims):
            if spent + Fraction(epsilon) <= Fraction(budget):
                ledger.charge(f"{turn}", DIGEST, Pure(epsilon), {})
                spent += Fraction(epsilon)
            else:
                with pytest.raises(BudgetExceeded):
                    ledger.charge(f"{turn}", DIGEST, Pure(epsilon), {})
        assert abs(Fraction(ledger.spent().epsilon) - spent) <= Fraction(len(claims) + 1, UNIT)
        assert ledger.verify().holds


BUDGETS = st.one_of(
    AMOUNTS.map(Pure),
    st.builds(Approximate, AMOUNTS, st.sampled_from([0.0, 1e-9, 1e-6, 0.01])),
    AMOUNTS.map(Concentrated),
)


@settings(max_examples=40, deadline=None)
@given(budget=BUDGETS, epsilons=st.lists(st.floats(0, 0.5), max_size=4))
def test_what_remains_can_be_spent_and_is_of_the_budgets_type(implementation, budget, epsilons):
    with tempfile.TemporaryDirectory() as directory:
        ledger = implementation(directory)(budget=budget)
        for turn, epsilon in enumerate(epsilons):
            try:
                ledger.charge(f"{turn}", DIGEST, Pure(epsilon), {})
            except BudgetExceeded:
                break
        rest = ledger.remaining()
        assert type(rest) is type(budget)
        ledger.charge("rest", DIGEST, rest, {})
        with pytest.raises(BudgetExceeded):
            ledger.charge("more", DIGEST, Pure(1e-4), {})  # rho: 5e-9, far above one unit
        assert ledger.verify().holds


@pytest.mark.parametrize("budget", [Pure(1e300), Pure(0.0), Approximate(0.0, 0.0), Approximate(1e300, 0.5)])
def test_what_remains_of_extreme_budgets_can_be_spent(opener, budget):
    ledger = opener(budget=budget)
    ledger.charge("all", DIGEST, ledger.remaining(), ABOUT)
    assert ledger.verify().holds


def test_threads_share_one_ledger_without_overspending(opener):
    ledger, outcomes = opener(budget=Pure(0.5)), []

    def work(who):
        for turn in range(20):
            try:
                ledger.charge(f"{who}-{turn}", DIGEST, Pure(1 / 64), ABOUT)
                outcomes.append("admitted")
            except BudgetExceeded:
                outcomes.append("refused")

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcomes.count("admitted"), outcomes.count("refused")) == (32, 48)
    assert ledger.spent() == Pure(0.5)
    assert ledger.verify().holds


# releases


def test_a_retry_returns_the_stored_bytes(opener):
    ledger = opener()
    charge = ledger.charge("a", DIGEST, Pure(0.5), ABOUT)
    head = ledger.store(charge, b"\x00 any bytes \xff")
    found = opener().find("a", DIGEST)
    assert found.content == b"\x00 any bytes \xff"
    assert (found.charge, found.head) == (charge, head)
    assert ledger.head == head
    assert ledger.spent() == Pure(0.5)


def test_a_name_stands_for_one_specification(opener):
    ledger = opener()
    ledger.charge("a", DIGEST, Pure(0.5), ABOUT)
    for attempt in (
        lambda: ledger.charge("a", OTHER, Pure(0.5), ABOUT),
        lambda: ledger.find("a", OTHER),
    ):
        with pytest.raises(LedgerError, match=r"name 'a' is already used .* new name"):
            attempt()
    assert ledger.spent() == Pure(0.5)
    assert ledger.find("b", OTHER) is None


def test_one_charge_pays_for_one_release(opener):
    ledger = opener()
    charge = ledger.charge("a", DIGEST, Pure(0.5), ABOUT)
    ledger.store(charge, b"first")
    with pytest.raises(LedgerError, match="already paid"):
        ledger.store(charge, b"second")
    assert ledger.find("a", DIGEST).content == b"first"


def test_a_release_needs_a_charge_of_this_ledger(opener):
    ledger = opener()
    charge = ledger.charge("a", DIGEST, Pure(0.5), ABOUT)
    head = ledger.store(charge, b"x")
    for forged in (
        Charge(charge.sequence, "0" * 64, charge.amounts),
        Charge(99, charge.head, charge.amounts),
        Charge(2, head, charge.amounts),
    ):
        with pytest.raises(ParameterError, match="charge is not in this ledger"):
            ledger.store(forged, b"y")
    assert len(ledger.entries()) == 3


def test_two_racing_releases_of_one_name_both_pay_and_the_first_stored_is_found(opener):
    one, two = opener(), opener()
    first = one.charge("a", DIGEST, Pure(0.5), ABOUT)
    second = two.charge("a", DIGEST, Pure(0.5), ABOUT)
    two.store(second, b"second charge, stored first")
    one.store(first, b"first charge, stored second")
    assert one.spent() == Pure(1.0)
    assert one.find("a", DIGEST).content == b"second charge, stored first"
    assert one.verify().holds


# terms


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "people-2025"},
        {"adjacency": Replace()},
        {"unit": Row()},
        {"unit": Person("person_id", 3)},
        {"budget": Pure(3.0)},
        {"budget": Approximate(2.0, 0.0)},
    ],
)
def test_other_terms_are_refused_by_name_with_the_fix(opener, change):
    opener()
    (argument,) = change
    with pytest.raises(LedgerError) as refusal:
        opener(**change)
    if change == {"unit": Person("person_id", 3)}:  # the same people: questions may say limits of their own
        assert str(refusal.value).startswith("this ledger protects the same people, with rows = 2")
        assert "per_person" in str(refusal.value)
        return
    assert str(refusal.value).startswith(f"{argument} is {change[argument]!r}")
    assert f"give {argument}={TERMS[argument]!r}" in str(refusal.value)


def test_the_budget_may_be_left_out_once_the_ledger_exists(opener):
    with pytest.raises(LedgerError, match="give budget="):
        opener(budget=None)
    opener()
    assert opener(budget=None).terms.budget == TERMS["budget"]


def test_a_budget_rests_on_no_assumptions(opener):
    with pytest.raises(ParameterError, match="no assumptions"):
        opener(budget=Pure(1.0, assumptions=frozenset({"mixing"})))
    with pytest.raises(ParameterError, match="budget must be a guarantee"):
        opener(budget=1.0)


# the record


def test_entries_name_everything_a_later_accountant_needs(opener):
    ledger = opener()
    charge = ledger.charge("a", DIGEST, Pure(0.5), ABOUT)
    ledger.store(charge, b"x")
    opening, spent, release = ledger.entries()
    assert [e.kind for e in (opening, spent, release)] == ["open", "charge", "release"]
    assert [e.sequence for e in (opening, spent, release)] == [0, 1, 2]
    assert opening.guarantee == to_record(TERMS["budget"])
    assert (spent.name, spent.digest, spent.description) == ("a", DIGEST, ABOUT)
    assert spent.guarantee == to_record(Pure(0.5))
    assert spent.amounts == spent.total == release.total == (UNIT // 2,)
    assert release.previous == spent.hash == charge.head
    assert spent.time.endswith("+00:00")


def test_an_export_is_json_and_carries_the_chain(opener):
    ledger = opener()
    head = ledger.store(ledger.charge("é", DIGEST, Pure(0.5), ABOUT), b"x")
    exported = ledger.export()
    assert json.loads(json.dumps(exported)) == exported
    assert exported[-1]["hash"] == head
    assert [later["previous"] for later in exported[1:]] == [e["hash"] for e in exported[:-1]]


def test_verify_knows_its_heads_and_only_those(opener):
    ledger = opener()
    heads = [ledger.head]
    charge = ledger.charge("a", DIGEST, Pure(0.5), ABOUT)
    heads += [charge.head, ledger.store(charge, b"x")]
    found = ledger.verify(heads)
    assert found.holds
    assert (found.entries, found.head, found.spent) == (3, heads[-1], Pure(0.5))
    assert heads[-1] in found.words()
    strange = ledger.verify([f" {'C' * 64}\n"])
    assert not strange.holds
    assert "c" * 64 in strange.words()
    with pytest.raises(ParameterError, match="64 hexadecimal digits"):
        ledger.verify(["abc"])


# batches

BUDGET = Approximate(4.0, 1e-6)


def members(*names, epsilon=0.5, about=ABOUT):
    return [Member(name, DIGEST, Pure(epsilon), {**about, "place": name}) for name in names]


def begun(ledger, name):
    return ledger.draw(name, DIGEST, {**ABOUT, "place": name})


def test_a_batch_is_one_charge_and_each_of_its_releases_is_begun_once(opener):
    ledger = opener(budget=BUDGET)
    paid = ledger.charge_batch(members("a", "b"), Approximate(0.75, 1e-7))
    assert ledger.spent() == opener(budget=BUDGET).spent() == Approximate(0.75, 1e-6)
    first = begun(ledger, "a")
    assert (first.batch, any(first.amounts), first.sequence) == (2, False, paid.sequence + 1)
    assert begun(opener(budget=BUDGET), "a") is None  # a crash from here on costs what the batch paid for it
    head = ledger.store(first, b"x")
    assert ledger.find("a", DIGEST).content == b"x"
    assert ledger.find("b", DIGEST) is None
    second = begun(opener(budget=BUDGET), "b")  # never begun before: still paid for
    ledger.store(second, b"y")
    assert ledger.spent() == Approximate(0.75, 1e-6)
    assert ledger.verify([paid.head, first.head, head]).holds


def test_a_batch_counts_its_epsilon_its_delta_and_the_rhos_of_its_releases(opener):
    ledger = opener(budget=BUDGET)
    charge = ledger.charge_batch(members("a", "b", "c"), Approximate(1.25, 1e-7))
    rho = 3 * ledger.terms.filter.amounts(Pure(0.5))[2]
    assert charge.amounts == (1_250_000_000_000, 100_000, rho, 0, 1)
    with pytest.raises(ParameterError, match="at least the deltas"):
        ledger.charge_batch([Member("d", DIGEST, Approximate(0.1, 1e-6), {})], Approximate(0.1, 1e-7))
    with pytest.raises(ParameterError, match="different names"):
        ledger.charge_batch(members("e", "e"), Approximate(0.1, 1e-7))
    assert ledger.entries()[-1].sequence == charge.sequence


def test_a_batch_beyond_the_budget_charges_nothing(opener):
    ledger = opener(budget=BUDGET)
    ledger.charge("before", DIGEST, Pure(3.0), ABOUT)
    with pytest.raises(BudgetExceeded, match=r"2 releases together does not fit.*nothing was charged"):
        ledger.charge_batch(members("a", "b", epsilon=2.0), Approximate(3.5, 1e-7))
    assert ledger.spent() == Approximate(3.0, 0.0)


@pytest.mark.parametrize("budget", [Pure(2.0), Concentrated(2.0)])
def test_batches_need_an_approximate_budget(opener, budget):
    ledger = opener(budget=budget)
    with pytest.raises(ParameterError, match="needs an approximate budget"):
        ledger.charge_batch(members("a", "b"), Approximate(0.5, 1e-7))
    assert len(ledger.entries()) == 1


def test_only_what_was_charged_is_drawn(opener):
    ledger = opener(budget=BUDGET)
    ledger.charge_batch(members("a", "b"), Approximate(0.75, 1e-7))
    assert ledger.draw("c", DIGEST, {**ABOUT, "place": "c"}) is None
    assert ledger.draw("a", DIGEST, {**ABOUT, "place": "a", "mechanism": "another"}) is None
    with pytest.raises(LedgerError, match="another specification"):
        ledger.charge("a", OTHER, Pure(0.1), ABOUT)
    with pytest.raises(LedgerError, match="another specification"):
        ledger.charge_batch([Member("b", OTHER, Pure(0.1), {})], Approximate(0.1, 1e-7))
    assert ledger.known("b").description == {**ABOUT, "place": "b"}
    assert ledger.known("c") is None


def test_a_batch_keeps_no_release_of_its_own(opener):
    ledger = opener(budget=BUDGET)
    with pytest.raises(ParameterError, match="draw each"):
        ledger.store(ledger.charge_batch(members("a", "b"), Approximate(0.75, 1e-7)), b"x")


def test_a_release_may_be_called_batch(opener):
    ledger = opener(budget=BUDGET)
    ledger.charge_batch(members("batch", "b"), Approximate(0.75, 1e-7))
    ledger.store(begun(ledger, "batch"), b"x")
    assert ledger.find("batch", DIGEST).content == b"x"
    assert ledger.find("b", DIGEST) is None
    assert ledger.verify().holds


def test_threads_begin_each_release_of_a_batch_once(opener):
    ledger, drawn = opener(budget=BUDGET), []
    names = [f"r{place}" for place in range(8)]
    ledger.charge_batch(members(*names, epsilon=0.1), Approximate(0.5, 1e-7))

    def work():
        drawn.extend(name for name in names if begun(ledger, name) is not None)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == names
    assert ledger.verify().holds


# accounts


def test_a_charge_on_behalf_of_an_account_bears_its_name_and_counts_in_both_budgets(opener):
    ledger = opener()
    ana = ledger.on_behalf("ana", Pure(0.5))
    assert isinstance(ana, LedgerLike)
    charge = ana.charge("a", DIGEST, Pure(0.25), ABOUT)
    ana.store(charge, b"x")
    assert ledger.entries()[1].account == "ana"
    assert ledger.entries()[2].account is None
    assert (ana.spent(), ana.remaining(), ledger.remaining()) == (Pure(0.25), Pure(0.25), Pure(1.75))
    assert opener().on_behalf("ana", Pure(0.5)).spent() == Pure(0.25)
    assert ledger.verify().holds


def test_an_account_spends_its_own_budget_to_the_last_unit_and_no_further(opener):
    ledger = opener()
    ana, bob = ledger.on_behalf("ana", Pure(0.5)), ledger.on_behalf("bob", Pure(0.5))
    ana.charge("a", DIGEST, Pure(0.5), ABOUT)
    assert not ana.admits(Pure(1 / UNIT))
    assert bob.admits(Pure(0.5))
    assert not bob.admits(Pure(0.5 + 2 / UNIT))
    with pytest.raises(BudgetExceeded, match=r"account 'ana' .* nothing was charged"):
        ana.charge("b", DIGEST, Pure(1 / UNIT), ABOUT)
    bob.charge("c", DIGEST, Pure(0.5), ABOUT)
    assert ledger.spent() == Pure(1.0)
    assert ledger.verify().holds


def test_accounts_together_stay_within_the_budget_of_the_dataset(opener):
    ledger = opener()
    for name in "abc":
        ledger.on_behalf(name, Pure(0.6)).charge(name, DIGEST, Pure(0.6), ABOUT)
    last = ledger.on_behalf("d", Pure(0.6))
    assert last.remaining() == Pure(0.2)
    assert not last.admits(Pure(0.3))
    with pytest.raises(BudgetExceeded, match=r"the charge for 'd' does not fit"):
        last.charge("d", DIGEST, Pure(0.3), ABOUT)
    assert ledger.spent() == Pure(1.8)


def test_what_an_account_may_spend_can_be_changed_and_what_it_spent_stays(opener):
    ledger = opener()
    ledger.on_behalf("ana", Pure(0.5)).charge("a", DIGEST, Pure(0.5), ABOUT)
    more, less = ledger.on_behalf("ana", Pure(0.75)), ledger.on_behalf("ana", Pure(0.25))
    assert more.remaining() == Pure(0.25)
    assert less.remaining() == Pure(0.0)
    assert less.spent() == Pure(0.5)
    more.charge("b", DIGEST, Pure(0.25), ABOUT)
    assert not less.admits(Pure(1 / UNIT))
    assert ledger.verify().holds


def test_two_who_charge_one_account_at_once_cannot_overspend_it(opener):
    opener()
    admitted = []

    def spend(number):
        ana = opener().on_behalf("ana", Pure(0.5))
        for turn in range(5):
            with contextlib.suppress(BudgetExceeded):
                admitted.append(ana.charge(f"{number} {turn}", DIGEST, Pure(0.1), ABOUT))

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 5
    assert opener().on_behalf("ana", Pure(0.5)).spent() == Pure(0.5)
    assert opener().verify().holds


def test_batches_and_series_are_charged_to_the_account_that_announced_them(opener):
    ledger = opener(budget=Approximate(2.0, 1e-6))
    ana = ledger.on_behalf("ana", Approximate(1.0, 1e-7))
    members = [Member(name, DIGEST, Pure(0.4), ABOUT) for name in "ab"]
    ana.charge_batch(members, Approximate(0.7, 1e-8))
    assert ana.draw("a", DIGEST, ABOUT) is not None
    with pytest.raises(BudgetExceeded, match="account 'ana'"):
        ana.charge_series([Member(name, DIGEST, Pure(0.4), ABOUT) for name in "cd"])
    ana.charge_series([Member(name, DIGEST, Pure(0.3), ABOUT) for name in "cd"])
    ana.charge_series([Member(name, DIGEST, Pure(0.3), ABOUT) for name in "cd"])
    assert [entry.account for entry in ledger.entries()] == [None, "ana", None, "ana"]
    assert ledger.verify().holds


def test_the_budget_of_an_account_is_of_the_kind_of_the_ledgers(opener):
    with pytest.raises(ParameterError, match="of the dataset's kind"):
        opener().on_behalf("ana", Concentrated(0.1))
    for account in ("", "a\nb"):
        with pytest.raises(ParameterError, match="account must be printable"):
            opener().on_behalf(account, Pure(0.1))


def test_entries_are_read_on_from_the_last_that_was_seen(opener):
    ledger = opener()
    ledger.charge("a", DIGEST, Pure(0.25), ABOUT)
    assert ledger.after(-1) == ledger.entries()
    assert ledger.after(0) == ledger.entries()[1:]
    assert ledger.after(1) == ()
