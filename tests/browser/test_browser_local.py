"""The page that collects one answer, in a real browser: its reports count once, and are estimated from."""

import json
from contextlib import contextmanager

import numpy as np
import pytest

from hosting import hosted
from sfumato.local import Collector, Relay, collect, new_key
from sfumato.local.relay.delivering import posted
from sfumato.local.relay.tokens import token_of
from sfumato.server.local.alone import application
from sfumato.server.local.collecting import collecting
from sfumato.server.local.relaying import relaying
from sfumato.server.local.terms import Terms
from statistical import ALPHA

pytestmark = pytest.mark.browser
LABELS = ["tea", "coffee", "<b>water</b>", "none"]


@pytest.fixture
def tab(chromium):
    """A page of a fresh profile, in which no program fails and no rule of the page is broken."""
    context = chromium.new_context()
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    context.close()
    assert wrong == []


@contextmanager
def open_collection(place, **more):
    """A collection whose reports come from pages."""
    drinks = collect("What do you drink?", LABELS, **{"spend": 6.0, "people": 3_000, **more})
    drinks.save(place / "drinks.json")
    with collecting([place / "drinks.json"], Terms()) as router, hosted(application(router)) as url:
        yield drinks, url


def test_one_answer_is_sent_once_whatever_the_person_does(tmp_path, tab):
    with open_collection(tmp_path) as (drinks, url):
        sent = []
        tab.on("request", lambda request: sent.append(request.post_data_buffer) if request.method == "POST" else None)
        tab.goto(f"{url}/local/drinks/")
        tab.get_by_role("heading", name="What do you drink?").wait_for()
        assert "a factor of at most 404," in tab.locator("#promise").inner_text()
        assert tab.get_by_label("<b>water</b>").count() == 1  # a label is a text
        tab.get_by_role("button").click()  # nothing is chosen yet
        assert sent == []
        tab.get_by_label("coffee").check()
        tab.get_by_role("button", name="Randomize and send").click()
        tab.get_by_text("Thank you").wait_for()
        assert tab.get_by_role("button").is_disabled()
        tab.reload()
        tab.get_by_text("Thank you").wait_for()
        assert tab.get_by_role("button").is_disabled()
        assert len(sent) == 1
        held = tab.evaluate("JSON.stringify(Object.values(localStorage))")
        assert json.loads(held) == [""]  # neither the answer nor the message
        assert tab.evaluate("document.cookie") == ""
        assert Collector(drinks, tmp_path / "drinks.journal").state.reports == 1


def test_a_lost_connection_sends_the_same_bytes_again(tmp_path, tab):
    with open_collection(tmp_path) as (drinks, url):
        sent = []
        tab.on("request", lambda request: sent.append(request.post_data_buffer) if request.method == "POST" else None)
        tab.route("**/local/drinks", lambda route: route.abort())
        tab.goto(f"{url}/local/drinks/")
        tab.get_by_label("tea").check()
        tab.get_by_role("button").click()
        tab.get_by_text("Your answer waits here").wait_for()
        assert tab.get_by_role("button").is_disabled()
        tab.unroute("**/local/drinks")
        tab.reload()
        tab.get_by_text("Thank you").wait_for()
        assert len(sent) == 2
        assert sent[0] == sent[1]
        assert Collector(drinks, tmp_path / "drinks.journal").state.reports == 1


def test_sealed_reports_go_from_the_page_to_a_relay_of_another_origin(tmp_path, tab):
    (tmp_path / "relay").mkdir()
    drinks = collect("drinks", LABELS, spend=6.0, people=100, key=new_key(tmp_path / "drinks.key"), batch=2)
    drinks.save(tmp_path / "drinks.json")
    relay = Relay(drinks, tmp_path / "relay" / "drinks.relay")
    seen = []
    origins = set()  # filled when the collector's address is known
    with (
        relaying(relay, "drinks", lambda: None, Terms(origins=origins)) as gathered,
        hosted(application(gathered), host="localhost") as there,
        collecting([tmp_path / "drinks.json"], Terms(relay=there)) as router,
        hosted(application(router)) as url,
    ):
        tab.on("request", lambda request: seen.append(request))
        tab.goto(f"{url}/local/drinks/")
        tab.get_by_label("tea").check()
        tab.get_by_role("button").click()
        tab.get_by_text("This did not work").wait_for()  # the relay does not know this site
        assert relay.waiting() == 0
        origins.add(url)
        tab.reload()
        tab.get_by_text("Thank you").wait_for()
        assert relay.waiting() == 1
        (last,) = [request for request in seen if request.method == "POST"][1:]
        assert last.url == f"{there}/local/drinks"
        told = last.all_headers()
        assert not {"cookie", "referer", "authorization"} & told.keys()
        tab.context.clear_cookies()
        tab.evaluate("localStorage.clear()")  # another person
        tab.reload()
        tab.get_by_label("coffee").check()
        tab.get_by_role("button").click()
        tab.get_by_text("Thank you").wait_for()
        assert relay.end() == 2
        assert posted(relay, f"{url}/local/drinks/batches", token_of(tmp_path / "drinks.token")) == 1
        assert Collector(drinks, tmp_path / "drinks.journal").state.reports == 2


REPORTING = """async ([shares, count]) => {
  const { Collection } = await import("/local/sfumato.mjs")
  const drinks = await Collection.parse(await (await fetch("collection.json")).text(), 8)
  const labels = drinks.terms.labels
  let taken = 0
  for (let start = 0; start < count; start += 50) {
    const posts = Array.from({ length: 50 }, async (_, place) => {
      const at = (start + place + 0.5) / count
      let label = 0
      for (let sum = shares[0]; sum < at; sum += shares[++label]);
      const answer = await fetch("../drinks", { method: "POST", body: await drinks.message(labels[label]) })
      taken += answer.status === 200
    })
    await Promise.all(posts)
  }
  return taken
}"""


@pytest.mark.parametrize("sealed", [False, True], ids=["open", "sealed"])
def test_the_collector_estimates_reports_of_the_browser_within_their_interval(tmp_path, tab, sealed):
    """1,500 reports at epsilon 2, bits of crypto.getRandomValues: all shares within limits that fail once in 10^6.

    The limits are far from empty: shares in the opposite order lie outside.
    """
    shares, people = [0.5, 0.3, 0.15, 0.05], 1_500
    more = {"key": new_key(tmp_path / "drinks.key")} if sealed else {}
    with open_collection(tmp_path, spend=2.0, people=people, **more) as (drinks, url):
        tab.goto(f"{url}/local/drinks/")
        assert tab.evaluate(REPORTING, [shares, people]) == people
        collector = Collector(drinks, tmp_path / "drinks.journal")
        low, high = collector.estimate().interval(1 - ALPHA, joint=True)
    assert collector.state.reports == people
    assert np.all((low <= shares) & (high >= shares))
    assert not np.all((low <= shares[::-1]) & (high >= shares[::-1]))
    assert collector.estimate().suspicions() == ()


def test_a_collection_that_costs_too_much_is_refused_by_the_page(tmp_path, tab):
    with open_collection(tmp_path, spend=9.0) as (_, url):
        tab.goto(f"{url}/local/drinks/")
        tab.get_by_text("cannot take an answer").wait_for()
        assert tab.get_by_role("button").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_read_by_keyboard_and_on_narrow_screens(tmp_path, chromium, scheme):
    context = chromium.new_context(viewport={"width": 320, "height": 640}, color_scheme=scheme)
    page = context.new_page()
    with open_collection(tmp_path) as (drinks, url):
        page.goto(f"{url}/local/drinks/")
        page.get_by_role("button").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.get_by_text("Thank you").wait_for()
        page.screenshot(path=tmp_path / f"{scheme}.png")
        assert Collector(drinks, tmp_path / "drinks.journal").state.reports == 1
    context.close()
