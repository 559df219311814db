"""One browser for all tests of pages, and tabs in which nothing goes wrong unseen."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PICTURES = Path(__file__).parents[2] / "build" / "pictures"


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def tabs(chromium):
    """Opens pages of fresh profiles, in which no program fails, no rule is broken and nothing is asked of elsewhere."""
    contexts, wrong = [], []

    def opened(address, width=1280, height=900, scheme="light", expected=()):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page, own = context.new_page(), urlsplit(address).netloc
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("console", lambda line: _noted(line, expected, wrong))
        page.on("request", lambda request: _local(request, own, wrong))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def _noted(line, expected, wrong):
    if line.type in ("error", "warning") and not any(text in line.text for text in expected):
        wrong.append(f"console: {line.text}")


def _local(request, own, wrong):
    if urlsplit(request.url).netloc not in (own, "") or request.url.startswith("blob:"):
        wrong.append(f"asked of elsewhere: {request.url}")


@pytest.fixture
def accessible():
    """What is wrong with a page for those who do not see it, or not well; nothing, one hopes."""
    program = Path(__file__).with_name("accessibility.js").read_text()
    return lambda page: page.evaluate(program)


@pytest.fixture(scope="session")
def pictured():
    """Keeps a picture of a page in build/pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def kept(page, name, **how):
        page.screenshot(path=PICTURES / f"{name}.png", animations="disabled", **how)

    return kept
