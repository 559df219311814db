"""The check for accessibility has teeth: each fault that is planted is found, and a page without faults has none."""

import pytest

pytestmark = pytest.mark.browser
WELL = """<!doctype html><html lang="en"><title>t</title><body style="background:#fff;color:#222">
<header></header><main><h1>One</h1><h2>Two</h2><label for="a">Age</label><input id="a"
style="border:1px solid #777"><button>Go</button><a href="#a">there</a><p>text</p></main><div aria-live="polite"></div>
</body></html>"""
FAULTS = {
    "no name": ("<button>Go</button>", "<button></button>"),
    "no name: <input": ('<label for="a">Age</label>', ""),
    "leads nowhere": ('for="a"', 'for="b"'),
    "no text for a picture": ("<p>text</p>", "<p>text</p><img src='data:,'>"),
    "stands twice": ("<p>text</p>", "<p>text</p><p id='a'>x</p>"),
    "landmarks": ("<header></header>", ""),
    "language": (' lang="en"', ""),
    "nothing tells": (' aria-live="polite"', ""),
    "first level": ("<h1>One</h1>", "<h1>One</h1><h1>One</h1>"),
    "left out": ("<h2>Two</h2>", "<h3>Two</h3>"),
    "contrast 2": ("<p>text</p>", "<p style='color:#aaa'>text</p>"),
    "contrast 3.42": ("<p>text</p>", "<p style='color:#444;background:#999'>text</p>"),
    "edge of a field": ("#777", "#ddd"),
    "wider": ("<p>text</p>", "<p style='width:3000px'>text</p>"),
}


@pytest.fixture(scope="module")
def page(chromium):
    context = chromium.new_context(viewport={"width": 800, "height": 600})
    yield context.new_page()
    context.close()


def test_a_page_without_faults_has_none(page, accessible):
    page.set_content(WELL)
    assert accessible(page) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(page, accessible, fault):
    before, after = FAULTS[fault]
    assert WELL.count(before) == 1
    page.set_content(WELL.replace(before, after))
    found = accessible(page)
    assert any(fault in one for one in found), found
