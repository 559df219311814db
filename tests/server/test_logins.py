"""Sessions of browsers: a cookie holds no token, and ends by itself, at sign-out and with its token."""

from __future__ import annotations

import sqlite3
import time
from http.cookies import SimpleCookie

import httpx
import pytest

from houses import House, people
from sfumato.errors import LedgerError
from sfumato.plans import read_plan
from sfumato.server.app import created
from sfumato.server.logins import IDLE, LIFETIME
from sfumato.server.roster import Roster
from sfumato.server.store import TABLES, FileStore
from waiting import wait_until

OWN = {"X-Sfumato": "1"}
COUNT = {"query": {"query": "count"}, "spend": {"epsilon": 0.125}}
RELEASE = "/api/v1/datasets/people/release"


def sign_in(client, token):
    answer = client.post("/api/v1/login", json={"token": token}, headers=OWN)
    assert answer.status_code == 200, answer.text
    return SimpleCookie(answer.headers["set-cookie"])


@pytest.fixture
def browser(house):
    """A client that is signed in, and what its cookie holds."""
    with house.client() as client:
        (cookie,) = sign_in(client, house.tokens["ana"]).values()
        client.session = cookie.value
        yield client


def with_cookie(house, session):
    """Somebody elsewhere who sends the same cookie, such as a server of another port that was sent it."""
    return httpx.get(f"{house.url}/api/v1/me", headers={"Cookie": f"sfumato={session}"})


def test_the_cookie_holds_no_token_and_nothing_that_is_kept_lets_anybody_in(house, browser, tmp_path):
    token = house.tokens["ana"]
    assert browser.get("/api/v1/me").json()["analyst"] == "ana"
    assert token not in str(browser.cookies)
    assert len(browser.session) >= 43  # 256 bits
    kept = (tmp_path / "people.ledger.service").read_bytes()
    assert browser.session.encode() not in kept
    assert token.encode() not in kept
    with house.client() as other:  # each sign-in is a session of its own
        assert next(iter(sign_in(other, token).values())).value != browser.session


def test_a_session_is_no_token_and_a_token_no_session(house, browser):
    bearer = {"Authorization": f"Bearer {browser.session}"}
    assert httpx.get(f"{house.url}/api/v1/me", headers=bearer).status_code == 401
    assert with_cookie(house, house.tokens["ana"]).status_code == 401
    with house.client() as client:
        assert client.post("/api/v1/login", json={"token": browser.session}, headers=OWN).status_code == 401


def test_after_sign_out_the_cookie_is_of_no_use_to_whoever_kept_it(house, browser):
    assert with_cookie(house, browser.session).status_code == 200  # a server of another port gets it until then
    answer = browser.post("/api/v1/logout", headers=OWN)
    assert "sfumato=" in answer.headers["set-cookie"]
    assert with_cookie(house, browser.session).status_code == 401
    assert house.desk.roster.find(house.tokens["ana"]) is not None  # the token is not ended by that
    with house.client("ana") as ana:
        assert ana.get("/api/v1/me").status_code == 200


def test_signing_out_needs_to_come_from_our_page(house, browser):
    for forged in ({}, {"X-Sfumato": "1", "Origin": "https://evil.example"}):
        assert browser.post("/api/v1/logout", headers=forged).status_code == 403
    assert browser.get("/api/v1/me").status_code == 200


def test_signing_in_again_ends_the_session_before(house, browser):
    before = browser.session
    sign_in(browser, house.tokens["bob"])
    assert browser.get("/api/v1/me").json()["analyst"] == "bob"
    assert with_cookie(house, before).status_code == 401


def test_a_session_ends_when_nobody_uses_it_and_after_half_a_day(house, browser):
    logins, start = house.desk.logins, time.time()

    def at(seconds):
        logins.clock = lambda: start + seconds
        return browser.get("/api/v1/me").status_code

    assert at(IDLE - 60) == 200  # which counts as use
    assert at(2 * IDLE - 180) == 200
    assert at(2 * IDLE - 180 + IDLE + 1) == 401
    sign_in(browser, house.tokens["ana"])
    begun = 2 * IDLE - 180 + IDLE + 1
    for step in range(1, int(LIFETIME / (IDLE / 2))):
        assert at(begun + step * IDLE / 2) == 200
    assert at(begun + LIFETIME + 1) == 401


def test_a_session_ends_with_its_token(house, browser):
    assert browser.get("/api/v1/me").status_code == 200
    house.desk.roster.revoke("ana")
    wait_until(lambda: browser.get("/api/v1/me").status_code == 401)
    assert browser.post(RELEASE, json=COUNT, headers=OWN).status_code == 401


def test_every_process_knows_a_session_and_its_end(tmp_path):
    with House(people(tmp_path)) as one, House(people(tmp_path)) as other, one.client() as client:
        session = next(iter(sign_in(client, one.tokens["ana"]).values())).value
        assert with_cookie(other, session).status_code == 200
        client.post("/api/v1/logout", headers=OWN)
        wait_until(lambda: with_cookie(other, session).status_code == 401)  # within a second


def test_two_services_of_one_machine_do_not_take_each_others_sessions(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with House(people(tmp_path / "one")) as one, House(people(tmp_path / "other")) as other, one.client() as client:
        session = next(iter(sign_in(client, one.tokens["ana"]).values())).value
        assert with_cookie(other, session).status_code == 401


def test_what_stands_in_a_cookie(house, browser, tmp_path):
    with house.client() as client:
        (name,) = (cookie := sign_in(client, house.tokens["ana"]))
        assert (name, cookie[name]["httponly"], cookie[name]["samesite"], cookie[name]["path"]) == (
            "sfumato", True, "strict", "/",
        )  # fmt: skip
        assert not cookie[name]["domain"]
    secure = created([read_plan(people(tmp_path))], secure=True)
    with House.around(secure) as over_tls, over_tls.client() as client:
        (name,) = (cookie := sign_in(client, house.tokens["ana"]))
        assert (name, cookie[name]["secure"], cookie[name]["path"]) == ("__Host-sfumato", True, "/")
        assert not cookie[name]["domain"]
        sent = cookie[name].value
        for held, status in ((f"__Host-sfumato={sent}", 200), (f"sfumato={sent}", 401)):
            # what a page of the same name without TLS could have set is not taken
            assert httpx.get(f"{over_tls.url}/api/v1/me", headers={"Cookie": held}).status_code == status


def test_a_place_of_an_earlier_version_gets_what_it_lacks_and_keeps_its_tokens(tmp_path):
    path = tmp_path / "people.ledger.service"
    token = Roster(FileStore(path), "people").add("ana", None)
    with sqlite3.connect(path) as connection:
        for name in ("sessions", "given"):
            connection.execute(f"DROP TABLE {name}")
    connection.close()
    store = FileStore(path)
    assert Roster(store, "people").find(token).analyst == "ana"
    assert len(store.rows("SELECT name FROM sqlite_master WHERE type = 'table'")) == len(TABLES)


def test_a_session_that_is_over_is_no_guess_of_a_token(house, browser):
    """Ten requests of a page that was left open shut everyone out who shared its address."""
    assert browser.post("/api/v1/logout", headers=OWN).status_code == 200
    for _ in range(12):
        assert with_cookie(house, browser.session).status_code == 401
    with house.client("bob") as bob:
        assert bob.get("/api/v1/me").status_code == 200
    for guess in range(12):
        with_cookie(house, f"{guess}")
    with house.client("sam") as sam:
        assert sam.get("/api/v1/me").status_code == 429


def test_whoever_signs_in_again_is_let_in_although_the_old_session_cannot_end(house, browser, monkeypatch):
    def fail(self, session):
        raise LedgerError("away")

    monkeypatch.setattr("sfumato.server.logins.Logins.end", fail)
    sign_in(browser, house.tokens["ana"])
    assert browser.get("/api/v1/me").status_code == 200
