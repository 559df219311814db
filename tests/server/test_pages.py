"""The page's files: all of them served, nothing from elsewhere, nothing inline, in the colors of reports."""

import gzip
import json
import re
from importlib import resources

import pytest
from fastapi import FastAPI

from hosting import asked, hosted
from sfumato.report.style import ACCENT, DARK, GRID, INK, MUTED, PALE
from sfumato.server.pages import POLICY, routes

FILES = {one.name: one.read_text() for one in resources.files("sfumato.server").joinpath("page").iterdir()}
NAMED = re.compile(r"""["'(]/page/([\w.-]+)["')]|from ["']\./([\w.-]+)["']""")


@pytest.fixture(scope="module")
def url():
    application = FastAPI(openapi_url=None)
    application.include_router(routes(playground=True))
    with hosted(application) as address:
        yield address


def test_every_file_that_is_named_is_served(url):
    named = {a or b for text in FILES.values() for a, b in NAMED.findall(text)}
    assert {"console.js", "house.css", "charts.js", "mark.svg", "playground.js"} <= named
    for name in named:
        status, headers, _ = asked(f"{url}/page/{name}")
        assert (status, headers["content-security-policy"]) == (200, POLICY), name
    served = named | {"index.html", "playground.html"}
    assert set(FILES) == served - {"look.json"}, "a file that nobody loads"


def test_nothing_comes_from_elsewhere_and_nothing_is_inline():
    for name, text in FILES.items():
        addresses = set(re.findall(r"https?://[^\s\"']+", text)) - {"http://www.w3.org/2000/svg"}
        assert addresses == set(), name
        assert not re.search(
            r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=\"|innerHTML|\beval\(|new Function", text
        ), name


def test_the_policy_allows_no_program_text_and_no_frame():
    assert "unsafe" not in POLICY
    assert "default-src 'none'" in POLICY
    assert "frame-ancestors 'none'" in POLICY


def test_the_page_has_the_colors_of_reports():
    light, dark = FILES["house.css"].split(":root[data-theme", 1)
    for part in ("ink", "muted", "line", "accent", "pale"):
        color = {"ink": INK, "muted": MUTED, "line": GRID, "accent": ACCENT, "pale": PALE}[part]
        assert f"--{part}: {color};" in light
        assert dark.count(f"--{part}: {DARK[color]};") == 2  # by the switch, and by the system


def test_what_a_browser_holds_is_not_sent_again(url):
    status, headers, _ = asked(f"{url}/page/dom.js")
    again = asked(f"{url}/page/dom.js", headers={"If-None-Match": headers["etag"]})
    assert (status, again[0], again[2]) == (200, 304, "")


def test_the_charts_are_those_of_the_look(url):
    look = json.loads(asked(f"{url}/page/look.json")[2])
    assert look["colors"]["accent"] == ACCENT
    assert set(look["colors"].values()) == set(look["dark"])
    status, headers, text = asked(url + look["vega"])
    assert (status, headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert text.endswith(" as vegaEmbed};")


def test_the_bundle_is_packed_for_those_who_unpack():
    from sfumato.server.pages import _bundle

    plain, packed = _bundle()
    assert gzip.decompress(packed) == plain
    assert len(packed) < 0.4 * len(plain)


@pytest.mark.parametrize(
    "path", ["/page/../pages.py", "/page/%2e%2e/pages.py", "/page/", "/page/index.html", "/steward"]
)
def test_no_other_path_is_a_file(url, path):
    assert asked(url + path)[0] == 404


def test_without_a_playground_there_is_none():
    application = FastAPI(openapi_url=None)
    application.include_router(routes())
    with hosted(application) as address:
        assert asked(f"{address}/")[0] == 200
        assert asked(f"{address}/playground")[0] == 404
        assert json.loads(asked(f"{address}/page/look.json")[2])["playground"] is False
