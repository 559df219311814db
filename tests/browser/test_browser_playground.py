"""The playground in a real browser: sliders move the error, the truth is beside, and no ledger is made."""

from __future__ import annotations

import numpy as np
import pytest
from opening import expect, number, running

from waiting import wait_until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("playground")
    with running(folder, "--playground") as url:
        yield url, folder


def slide(page, label, steps):
    """Move a slider by the keyboard."""
    page.get_by_role("slider", name=label).focus()
    for _ in range(abs(steps)):
        page.keyboard.press("ArrowRight" if steps > 0 else "ArrowLeft")


def facts(page):
    """The truth, the private answer and its distance, once they are about where the sliders stand."""
    expect(page.locator(".panels:not(.stale) .facts")).to_be_visible()
    return [number(text) for text in page.locator(".facts .big").all_inner_texts()]


def until(page, holds):
    """Wait for what a change brings: on a busy machine answers to earlier ones come in between."""
    wait_until(holds)


def interval(page):
    """The width of the interval that is shown."""
    facts(page)
    low, high = page.locator(".facts div").nth(1).locator(".small").nth(1).inner_text().split("$")[1:]
    return number(high) - number(low)


def test_sliders_show_what_epsilon_bounds_and_people_do(place, tabs, pictured):
    url, folder = place
    page = tabs(url)
    expect(page.get_by_text("not private").first).to_be_visible()
    truth, private, off = facts(page)
    assert off == pytest.approx(abs(truth - private), abs=1.5)
    expect(page.get_by_role("img", name="Two distributions")).to_be_visible()
    expect(page.get_by_text("no answer is more than 1.29 times as likely")).to_be_visible()  # exp(0.25), rounded up
    pictured(page, "playground")
    wide = interval(page)
    slide(page, "Epsilon", 60)  # four times as much
    until(page, lambda: interval(page) < wide / 3)
    assert facts(page)[0] == truth
    slide(page, "Upper bound of salaries", -14)
    cut = page.locator(".facts div").first
    until(page, lambda: number(cut.inner_text().split("clipping")[1]) > 10)  # percent of salaries above 60,000
    slide(page, "People", 60)
    until(page, lambda: facts(page)[0] != truth)  # others are asked as well
    page.get_by_label("Question").select_option("ages")
    expect(page.get_by_role("heading", name="presence changes")).to_be_hidden()
    expect(page.get_by_role("slider", name="Upper bound of salaries")).to_be_hidden()
    assert {one.name for one in folder.iterdir()} == {"serve.log"}


ROUNDED = """async (values) => {
  const { atMost, down, up } = await import("/page/figures.js")
  return values.map((value) => [up(value), down(value), atMost(value, 2).replaceAll(",", "")].map(Number))
}"""


def test_what_is_claimed_is_rounded_to_the_safe_side(place, tabs):
    """Costs and errors up, what is left down; by less than the last digit that is shown."""
    rng = np.random.default_rng(9)
    values = [*np.exp(rng.uniform(-16, 8, 400)), 0.1, 0.3, 1.0, 1.1, 0.7, 1e-7, 3e-7, 1234.5]
    page = tabs(place[0])
    facts(page)
    for value, (above, below, most) in zip(values, page.evaluate(ROUNDED, [float(v) for v in values]), strict=True):
        assert value * (1 - 1e-8) <= above <= value * 1.0011
        assert value * 0.9989 <= below <= value * (1 + 1e-8)
        assert value - 1e-9 <= most <= value + 0.01


def test_another_draw_is_another_answer(place, tabs):
    page = tabs(place[0])
    before = facts(page)
    page.get_by_role("button", name="Draw again").click()
    until(page, lambda: facts(page)[1] != before[1])
    assert facts(page)[0] == before[0]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (360, "light")])
def test_the_playground_is_accessible_and_fits(place, tabs, accessible, pictured, width, scheme):
    page = tabs(place[0], width=width, scheme=scheme)
    expect(page.get_by_role("img", name="Two distributions")).to_be_visible()
    assert accessible(page) == []
    pictured(page, f"playground-{width}-{scheme}", full_page=True)


def test_trials_out_of_range_are_refused(place, tabs):
    page = tabs(place[0], expected=("status of 4",))
    facts(page)
    asked = """async (body) => {
      const headers = { "Content-Type": "application/json", "X-Sfumato": "1" }
      const answer = await fetch("/api/v1/playground/trial", { method: "POST", headers, body: JSON.stringify(body) })
      return [answer.status, await answer.text()]
    }"""
    wish = {"question": "mean", "epsilon": 0.5, "low": 0, "high": 200000, "rows": 10**9, "seed": 1}
    status, text = page.evaluate(asked, wish)
    assert status == 422
    assert "rows must be" in text
    assert page.evaluate(asked, {**wish, "rows": "all"})[0] == 422
