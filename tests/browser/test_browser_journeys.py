"""The whole way of analysts and stewards through the page, in a real browser, against a service that really runs."""

from __future__ import annotations

import csv
import json
import re

import pyarrow.parquet as pq
import pytest
from opening import MOODS, STATES, House, expect, number, running, settled, sfumato

from waiting import wait_until

pytestmark = pytest.mark.browser
REFUSED = ("status of 4",)  # the browser notes refusals of the service that a test asks for


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    folder = settled(tmp_path_factory.mktemp("house"))
    with running(folder, "people.toml", "--playground") as url:
        yield House(folder, url)


def enter(page, token):
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()


def predicted(page):
    """The half-width that the preview shows, once it is about what the page asks now."""
    expect(page.locator(".predicted:not(.stale) .big")).to_be_visible()
    return number(page.locator(".predicted .big").inner_text())


def foreseen(page):
    """The first of the errors that the preview shows for several numbers of rows."""
    shown = page.locator(".predicted:not(.stale)")
    expect(shown).to_contain_text("±")
    return float(re.search(r"± ([\d.e+]+)", shown.inner_text())[1])


def spending(page, epsilon):
    """Set the exact epsilon, and wait for the preview that is about it."""
    page.get_by_label("Epsilon, exactly").fill(str(epsilon))
    expect(page.get_by_role("button", name=re.compile(rf"^Ask, for ε {epsilon}$"))).to_be_enabled()


def left(house, page):
    """What the page says is left of the analyst's epsilon."""
    page.goto(f"{house.url}/#/budgets")
    return number(page.locator(".card .big").first.inner_text())


def test_an_analyst_asks_sees_takes_along_and_asks_again_for_nothing(house, tabs, pictured, tmp_path):
    page = tabs(house.url, expected=REFUSED)
    page.get_by_label("Token").fill("not a token")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("token")
    enter(page, house.tokens["ana"])
    expect(page.get_by_text("adding or removing any one person").first).to_be_visible()

    page.get_by_label("Group by").select_option("state")
    spending(page, 0.1)
    coarse = foreseen(page)
    spending(page, 0.4)
    fine = foreseen(page)
    assert fine < coarse / 3  # the error bar shrinks as the slider moves
    expect(page.locator(".predicted .badge")).to_contain_text("of the best possible")
    expect(page.locator(".more")).to_contain_text("questions like this, this one included")
    before = house.charges()
    pictured(page, "asking")
    page.get_by_role("button", name="Ask, for").click()
    expect(page.get_by_role("article")).to_contain_text("mean of salary by state")
    expect(page.locator(".answer .chart svg")).to_be_visible()
    assert house.charges() == [*before, ("ana", 0.4)]
    pictured(page, "answer", full_page=True)

    rows = page.locator(".answer tbody tr")
    shown = [[cell.inner_text() for cell in row.locator("td").all()] for row in rows.all()]
    assert [row[0] for row in shown] == STATES
    for _, value, interval in shown:
        low, high = (number(end) for end in interval.split(" to "))
        assert low <= number(value) <= high
        assert 0 < high - low < 200_000
    taken = {name: _downloaded(page, name, tmp_path) for name in ("CSV", "JSON", "PARQUET")}
    with taken["CSV"].open() as file:
        held = list(csv.DictReader(file))
    assert [float(row["estimate"]) for row in held] == pytest.approx([number(row[1]) for row in shown], abs=1)
    assert json.loads(taken["JSON"].read_text())["format"].startswith("sfumato-release/")
    assert pq.read_table(taken["PARQUET"]).num_rows == len(STATES)

    expect(page.get_by_role("button", name="Show it again, free")).to_be_enabled()
    page.get_by_role("button", name="Show it again, free").click()
    expect(page.get_by_role("article")).to_have_count(2)
    again = [row.locator("td").nth(1).inner_text() for row in page.locator(".answer").first.locator("tbody tr").all()]
    assert again == [row[1] for row in shown]
    assert house.charges() == [*before, ("ana", 0.4)]
    assert left(house, page) == pytest.approx(1.1)

    page.goto(f"{house.url}/#/history")
    page.get_by_role("button", name="mean of salary by state").click()
    expect(page.locator(".answer tbody tr")).to_have_count(len(STATES))
    assert house.charges() == [*before, ("ana", 0.4)]


def _downloaded(page, name, folder):
    with page.expect_download() as waiting:
        page.locator(".answer").first.get_by_role("link", name=name, exact=True).click()
    place = folder / waiting.value.suggested_filename
    waiting.value.save_as(place)
    return place


def test_whole_numbers_can_be_asked_about_and_names_that_are_no_words_are_written_as_they_must_be(house, tabs):
    page = tabs(house.url)
    enter(page, house.tokens["ana"])
    page.get_by_label("Of the column").select_option("age")
    page.get_by_label("Group by").select_option("age in months")
    expect(page.locator(".predicted:not(.stale)")).to_contain_text("mean of age by age in months")
    among = page.get_by_text(re.compile("^A condition such as .*; empty for everyone")).inner_text()
    page.get_by_label("Among").fill(among.removeprefix("A condition such as ").removesuffix("; empty for everyone."))
    expect(page.locator(".predicted:not(.stale)")).to_contain_text("where `age in months` >= 720 and state in")
    page.get_by_role("tab", name="SQL").click()
    expect(page.get_by_role("textbox", name="SQL")).to_have_value(re.compile(r'avg\("age in months"\)'))
    expect(page.locator(".predicted:not(.stale)")).to_contain_text("mean of age in months by state")


def test_questions_are_typed_in_sql_and_as_plans_write_them(house, tabs):
    page = tabs(house.url, expected=REFUSED)
    enter(page, house.tokens["bob"])
    page.get_by_role("tab", name="SQL").click()
    page.get_by_role("textbox", name="SQL").fill("SELECT count(*) FROM people WHERE age >= 65")
    spending(page, 0.05)
    page.get_by_role("button", name="Ask, for").click()
    expect(page.get_by_role("article")).to_contain_text("count where age >= 65")
    # About 2,200 of 20,000 are that old, one of 25 at the most is off by the noise of 0.05: sixty at the very most.
    assert 1500 < number(page.locator(".answer .big").inner_text()) < 3000
    page.get_by_role("textbox", name="SQL").fill("SELECT * FROM people")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("button", name="Ask")).to_be_disabled()

    page.get_by_role("tab", name="Compose").click()
    page.get_by_label("What", exact=True).select_option("share")
    page.get_by_label("Where this holds").fill("salary > 60000")
    page.get_by_role("tab", name="Plan JSON").click()
    written = page.get_by_label("The question as plans write it")
    assert json.loads(written.input_value()) == {"query": "share", "condition": "salary > 60000"}
    written.fill('{"query": "share", "condition": "salary > ')
    expect(page.get_by_role("alert")).to_contain_text("not JSON")
    written.fill('{"query": "share", "condition": "salaries > 60000"}')
    expect(page.get_by_role("alert")).to_contain_text("salaries")
    written.fill('{"query": "share", "condition": "salary > 60000"}')
    expect(page.get_by_role("button", name="Ask, for")).to_be_enabled()


def test_an_error_that_is_enough_is_said_instead_of_a_spend(house, tabs):
    page = tabs(house.url)
    enter(page, house.tokens["ana"])
    page.get_by_label("What", exact=True).select_option("count")
    page.get_by_label("Group by").select_option("state")
    page.get_by_label("Among").fill("age >= 21")  # which nobody asked for: what is stored would be free
    spending(page, 0.1)
    enough, slider = page.get_by_label("or: an error of at most"), page.get_by_label("Epsilon (ε) to spend")
    for most in (100, 12):
        enough.fill(str(most))
        expect(slider).to_be_disabled()
        expect(page.get_by_role("button", name=re.compile(r"^Ask, for ε (?!0\.1$)"))).to_be_enabled()
        assert most / 2 < predicted(page) <= most
    enough.fill("")
    expect(slider).to_be_enabled()
    expect(page.get_by_role("button", name=re.compile(r"^Ask, for ε 0\.1$"))).to_be_enabled()


def test_an_error_of_nothing_is_refused_in_words_and_a_share_is_taken(house, tabs):
    page = tabs(house.url, expected=REFUSED)
    enter(page, house.tokens["ana"])
    enough = page.get_by_label("or: an error of at most")
    enough.fill("0")
    expect(page.get_by_role("alert")).to_contain_text("within must be above 0")
    enough.fill("5%")
    expect(page.get_by_role("button", name="Ask, for")).to_be_enabled()
    assert predicted(page) <= 10_000


def test_questions_of_one_statement_are_shown_one_by_one_with_their_sum(house, tabs):
    page = tabs(house.url)
    enter(page, house.tokens["ana"])
    page.get_by_role("tab", name="SQL").click()
    page.get_by_role("textbox", name="SQL").fill("SELECT state, count(*), avg(salary) FROM people GROUP BY state")
    expect(page.locator(".predicted:not(.stale)")).to_contain_text("2 questions of one statement, together ε")
    expect(page.locator(".predicted li")).to_have_count(2)
    expect(page.locator(".predicted li .badge")).to_have_count(2)
    expect(page.locator(".more")).to_contain_text(f"{2 * len(STATES)} numbers")


def test_a_session_that_ends_says_so_and_keeps_what_was_composed(house, tabs):
    page = tabs(house.url, expected=REFUSED)
    enter(page, house.tokens["ana"])
    page.get_by_label("What", exact=True).select_option("median")
    page.get_by_label("with an interval in the column").check()
    page.get_by_label("Among").fill("age >= 30")
    expect(page.locator(".predicted:not(.stale)")).to_contain_text("with bars where age >= 30")
    page.context.clear_cookies()
    page.get_by_label("Among").fill("age >= 31")
    expect(page.get_by_role("alert")).to_contain_text("You were signed out, or your token ended")
    assert page.locator("#live").inner_text() == ""
    enter(page, house.tokens["ana"])
    expect(page.get_by_label("Among")).to_have_value("age >= 31")
    expect(page.locator(".predicted:not(.stale)")).to_contain_text("with bars where age >= 31")


def test_what_does_not_fit_is_said_and_cannot_be_asked(house, tabs):
    page = tabs(house.url)
    enter(page, house.tokens["kim"])
    before = house.charges()
    page.get_by_label("Epsilon, exactly").fill("0.7")
    expect(page.locator(".predicted")).to_contain_text("Does not fit")
    expect(page.get_by_role("button", name="Ask, for")).to_be_disabled()
    spending(page, 0.5)
    expect(page.locator(".more")).to_contain_text("1 question like this, this one included")
    assert house.charges() == before


def test_labels_that_look_like_markup_are_texts(house, tabs):
    page = tabs(house.url)
    enter(page, house.tokens["bob"])
    page.goto(f"{house.url}/#/schema")
    for mood in MOODS:
        expect(page.get_by_text(mood, exact=True)).to_be_visible()
    page.goto(f"{house.url}/#/ask")
    page.get_by_label("What", exact=True).select_option("count")
    page.get_by_label("Group by").select_option("mood")
    spending(page, 0.1)
    page.get_by_role("button", name="Ask, for").click()
    expect(page.locator(".answer .chart svg")).to_be_visible()
    assert [row.locator("td").first.inner_text() for row in page.locator(".answer tbody tr").all()] == MOODS
    assert page.locator("main img, main i").count() == 0


def test_long_work_is_a_job_with_progress_and_a_curve_at_its_end(house, tabs, pictured):
    page = tabs(house.url)
    enter(page, house.tokens["bob"])
    page.get_by_label("What", exact=True).select_option("density")
    page.get_by_label("and δ").check()
    spending_with_delta = page.get_by_role("button", name=re.compile(r"^Ask, for ε [\d.]+, δ"))
    expect(spending_with_delta).to_be_enabled()
    expect(page.locator(".more")).to_contain_text("runs as a job")
    before = len(house.charges())
    spending_with_delta.click()
    expect(page.get_by_role("region", name="Job")).to_be_visible()
    page.reload()  # the window remembers its jobs
    expect(page.locator(".answer .chart svg")).to_be_visible(timeout=120_000)
    expect(page.get_by_role("region", name="Job")).to_have_count(0)
    expect(page.locator(".answer .over")).to_contain_text("made by a job, charged ε")
    expect(page.locator(".answer .over")).to_contain_text("left ε")
    expect(page.get_by_role("article")).to_contain_text("smoothed with bandwidth")
    expect(page.get_by_role("article")).to_contain_text("interval at each point")
    assert len(house.charges()) == before + 1
    pictured(page, "curve", full_page=True)


def test_a_steward_sees_spending_ledger_analysts_and_releases(house, tabs, pictured):
    page = tabs(house.url)
    enter(page, house.tokens["sam"])
    expect(page.get_by_role("heading", name="Spending of people")).to_be_visible()
    charges = house.charges()
    spent = sum(amount for _, amount in charges)
    assert number(page.locator(".card .big").first.inner_text()) == pytest.approx(3.0 - spent, abs=1e-3)
    if charges:
        expect(page.locator("figure .chart svg")).to_be_visible()
        pictured(page, "spending")
    page.goto(f"{house.url}/#/ledger")
    expect(page.locator("tbody tr").first).to_be_visible()
    charged = page.locator("tbody tr", has=page.get_by_role("cell", name="charge", exact=True))
    assert charged.count() == len(charges)
    page.goto(f"{house.url}/#/analysts")
    expect(page.locator("tbody tr")).to_have_count(4)
    own = {name: sum(amount for who, amount in charges if who == name) for name in ("ana", "bob", "kim")}
    for name, amount in own.items():
        row = page.locator("tbody tr", has=page.get_by_role("cell", name=name, exact=True))
        assert number(row.locator("td").nth(3).inner_text()) == pytest.approx(amount, abs=1e-3)
    page.goto(f"{house.url}/#/releases")
    expect(page.get_by_role("heading", name="Releases")).to_be_visible()
    assert page.locator("tbody tr").count() == len(charges)
    page.goto(f"{house.url}/#/ask")
    expect(page.get_by_text("you may look, but not ask")).to_be_visible()


def test_an_analyst_is_not_shown_what_is_for_stewards(house, tabs):
    page = tabs(f"{house.url}/#/ledger", expected=REFUSED)
    enter(page, house.tokens["ana"])
    expect(page.get_by_role("heading", name="Ask about people")).to_be_visible()
    assert page.get_by_role("link", name="Ledger").count() == 0
    assert page.evaluate("fetch('/api/v1/datasets/people/ledger').then((answer) => answer.status)") == 403


def test_everything_can_be_done_by_the_keyboard(house, tabs):
    """Focus starts where one types, goes by Tab in reading order, is always seen, and ends at the answer."""
    page = tabs(house.url)
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type(house.tokens["kim"])
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()
    expect(page.locator(".predicted .big")).to_be_visible()
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name, outlined = page.evaluate(FOCUSED)
        assert outlined, f"focus on {name} is not seen"
        reached.append(name)
        if name == "What":
            page.keyboard.type("How many rows")
        if name == "Epsilon (ε) to spend":
            for _ in range(12):
                page.keyboard.press("ArrowLeft")
            expect(page.locator(".predicted:not(.stale) .big")).to_be_visible()
            expect(page.get_by_role("button", name="Ask, for")).to_be_enabled()
        if name.startswith("Ask, for"):
            break
    assert reached[:7] == ["Compose", "What", "Among", "Group by", "and by", "Epsilon, exactly", "Epsilon (ε) to spend"]
    before = len(house.charges())
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "answers"
    assert len(house.charges()) == before + 1
    expect(page.locator("#live")).to_have_text(re.compile("Answered|Error to expect"))


FOCUSED = """() => {
  const node = document.activeElement, style = getComputedStyle(node)
  const name = node.getAttribute("aria-label") ?? node.labels?.[0]?.textContent ?? node.textContent
  return [name.trim(), style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2]
}"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")])
def test_every_view_is_accessible_and_fits(house, tabs, accessible, pictured, width, scheme):
    page = tabs(house.url, width=width, scheme=scheme)
    page.get_by_label("Token").wait_for()
    assert accessible(page) == []
    enter(page, house.tokens["sam"])
    views = {"spending": ".meter", "ledger": "tbody", "analysts": "tbody", "releases": "h1", "schema": ".columns"}
    for view, sign in views.items():
        page.goto(f"{house.url}/#/{view}")
        page.locator(f"main {sign}").first.wait_for()
        assert accessible(page) == [], view
    page.get_by_role("button", name="Sign out").click()
    enter(page, house.tokens["ana"])
    for view, sign in {"ask": ".predicted .big", "history": "h1", "budgets": ".meter"}.items():
        page.goto(f"{house.url}/#/{view}")
        page.locator(f"main {sign}").first.wait_for()
        assert accessible(page) == [], view
        pictured(page, f"{view}-{width}-{scheme}", full_page=True)
    page.goto(f"{house.url}/#/ask")
    page.get_by_role("tab", name="SQL").click()
    assert accessible(page) == []


def test_the_colors_are_the_reader_s_choice(house, tabs):
    page = tabs(house.url, scheme="light")
    page.get_by_label("Token").wait_for()
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.get_by_role("button", name="Dark colors").click()
    assert page.evaluate(paper) == "rgb(20, 25, 31)"
    page.reload()
    expect(page.get_by_role("button", name="Dark colors")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(paper) == "rgb(20, 25, 31)"


def test_a_revoked_token_leads_back_to_the_gate(house, tabs):
    token = sfumato("analyst", "add", "people.toml", "bob", "--json", cwd=house.folder)
    token = json.loads(token)["token"]
    page = tabs(house.url, expected=REFUSED)
    enter(page, token)
    found = json.loads(sfumato("analyst", "list", "people.toml", "--json", cwd=house.folder))
    beginning = [one["token"] for one in found if one["analyst"] == "bob"][-1]
    sfumato("analyst", "revoke", "people.toml", "bob", "--token", beginning, cwd=house.folder)

    def leads_back():  # tokens are looked up again after a second
        page.goto(f"{house.url}/#/ask")
        page.goto(f"{house.url}/#/budgets")
        return page.get_by_label("Token").is_visible()

    wait_until(leads_back)
