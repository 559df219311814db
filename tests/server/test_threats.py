"""Lines of the threat model, as attacks on a running service."""

import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from hosting import asked, hosted
from houses import PLAN, House, people
from sfumato.errors import EngineError, SfumatoError
from sfumato.ledger.behalf import Behalf
from sfumato.plans import read_plan
from sfumato.server import asking as asking_
from sfumato.server import connections, desk, ticks
from sfumato.server.app import created
from sfumato.server.routes import asking
from sfumato.server.running import Running, run
from sfumato.session import Session
from waiting import LIMIT, let_pass, wait_until

RELEASE, PREVIEW = "/api/v1/datasets/people/release", "/api/v1/datasets/people/preview"
COUNT = {"query": {"query": "count"}, "spend": {"epsilon": 0.125}}


def variant(number, **more):
    """A count that differs a little from the others."""
    return {"query": {"query": "count", "where": f"age >= {number}"}, "spend": {"epsilon": 0.125}, **more}


# the analyst


def test_variants_of_a_question_are_charged_each_until_the_budget_ends_them(ana, house):
    found = [ana.post(RELEASE, json=variant(number)).status_code for number in range(1, 13)]
    assert found == [200] * 8 + [409] * 4
    assert house.desk.ledger.spent().epsilon == 1.0


def test_many_at_once_spend_no_more_than_the_budget(house):
    def ask(number):
        with house.client("ana") as client:
            return client.post(RELEASE, json=variant(number)).status_code

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(ask, range(1, 25)))
    assert (found.count(200), found.count(409)) == (8, 16)
    assert house.desk.ledger.spent().epsilon == 1.0
    assert house.desk.ledger.verify().holds


@pytest.mark.parametrize("part", ["analyst", "account", "token", "role"])
def test_no_request_names_the_account_that_pays(ana, house, part):
    ana.post(RELEASE, json={**COUNT, part: "bob"}, headers={"X-Analyst": "bob"})
    ana.post(f"{RELEASE}?{part}=bob", json=variant(3), headers={"Cookie": f"sfumato={house.tokens['bob']}"})
    accounts = {entry.account for entry in house.desk.ledger.entries() if entry.kind == "charge"}
    assert accounts == {"ana"}


def failing(monkeypatch, error):
    def broken(*given, **named):
        raise error

    monkeypatch.setattr(Session, "_answer", broken)


def test_failures_after_the_charge_say_one_sentence_and_stay_charged(ana, house, monkeypatch, capfd):
    said = set()
    for number, error in enumerate((EngineError("row 4711 is secret"), ValueError("4711"), MemoryError("4711")), 1):
        failing(monkeypatch, error)
        answer = ana.post(RELEASE, json=variant(number))
        assert answer.status_code in (500, 503)
        assert "4711" not in answer.text
        said.add(answer.json()["message"])
        assert house.desk.ledger.spent().epsilon == 0.125 * number
    assert len(said) <= 2  # one for each status
    assert "4711" not in "".join(capfd.readouterr())
    assert house.desk.ledger.verify().holds


def test_releases_leave_on_the_tick_whatever_became_of_them(ana, house, monkeypatch):
    waited, real = [], asking.ticked

    class Noted:
        """The clock and the sleep of the ticks: each look takes a moment, and each sleep as long as it is asked to."""

        now = 1_750_000_000.0

        @classmethod
        def time(cls):
            cls.now += 0.013
            return cls.now

        @classmethod
        async def sleep(cls, seconds):
            waited.append((cls.now, cls.now + seconds))
            cls.now += seconds

    async def counted(tick):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ticks, "time", Noted)
            patch.setattr(ticks, "asyncio", Noted)
            await real(tick)

    monkeypatch.setattr(asking, "ticked", counted)
    tick = house.desk.plan.service.tick
    for number in range(1, 9):
        assert ana.post(RELEASE, json=variant(number)).status_code == 200
    assert ana.post(RELEASE, json=variant(1)).json()["charged"] is None  # stored
    assert ana.post(RELEASE, json=variant(9)).status_code == 409
    with house.client("bob") as bob:
        failing(monkeypatch, EngineError("broken"))
        assert bob.post(RELEASE, json=variant(10)).status_code == 503
    assert len(waited) == 11
    for before, after in waited:  # the next multiple, never an earlier moment
        assert after > before
        assert after / tick == pytest.approx(round(after / tick), abs=1e-4)


def test_hanging_up_gives_nothing_back_and_the_answer_is_there(house):
    with (
        house.client("ana") as client,
        pytest.raises(httpx.ReadTimeout),
    ):
        client.post(RELEASE, json=COUNT, timeout=httpx.Timeout(10, read=0.001))
    wait_until(lambda: any(entry.kind == "release" for entry in house.desk.ledger.entries()))
    with house.client("ana") as client:
        again = client.post(RELEASE, json=COUNT)
    assert again.json()["charged"] is None
    assert house.desk.ledger.spent().epsilon == 0.125


CRAFTED = [
    "../../people.toml",
    "/etc/passwd",
    "x'; DROP TABLE entries; --",
    '"><script>alert(1)</script>',
    "a\x00b",
    "\ud800",
    "{{7*7}}",
    "CON\r\nSet-Cookie: a=b",
    "n" * 5000,
]


@pytest.mark.parametrize("name", CRAFTED, ids=range(len(CRAFTED)))
def test_crafted_names_open_no_file_and_reach_no_statement(house, tmp_path, name):
    before = {path.name for path in tmp_path.iterdir()}
    with house.client("ana") as ana:
        sent = json.dumps({**COUNT, "name": name, "request": name[:50]})
        answer = ana.post(RELEASE, content=sent, headers={"Content-Type": "application/json"})
        assert answer.status_code in (200, 422), answer.text
        for place in ("query", "column", "where"):
            record = {**COUNT["query"], place: name}
            asked = json.dumps({"query": record, "spend": {"epsilon": 0.1}})
            seen = ana.post(PREVIEW, content=asked, headers={"Content-Type": "application/json"})
            assert seen.status_code == 422, seen.text
        if answer.status_code == 200:
            got = ana.get(f"/api/v1/datasets/people/releases/{answer.json()['release']}?format=csv")
            file = got.headers["content-disposition"]
            assert not set("/\\\r\n<>") & set(file.partition("=")[2])
    for path in ("/api/v1/datasets/..%2fpeople.toml", "/api/v1/datasets/people/releases/..%2f..%2fpeople.toml",
                 "/page/..%2f..%2fapp.py", "/..%2f..%2fetc%2fpasswd", "/local/..%2fpeople.toml"):  # fmt: skip
        status, headers, text = asked_as(house, path)
        assert status in (401, 404), (path, text)
        assert "set-cookie" not in headers
    assert house.desk.ledger.verify().holds
    assert {path.name for path in tmp_path.iterdir()} - before <= {"people.ledger-journal"}


def asked_as(house, path):
    return asked(house.url + path, headers={"Authorization": f"Bearer {house.tokens['ana']}"})


def test_bodies_are_bounded_and_deep_ones_refused(ana, house):
    assert ana.post(RELEASE, content=b" " * 300_000, headers={"Content-Type": "application/json"}).status_code == 413
    for deep in (b"[" * 100_000, b'{"query":' * 20_000, b'{"spend": ' + b"9" * 100_000 + b"}"):
        answer = ana.post(RELEASE, content=deep, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 413, 422), answer.status_code
    chunks = ana.post(RELEASE, content=iter([b" " * 50_000] * 8), headers={"Content-Type": "application/json"})
    assert chunks.status_code == 413
    assert house.desk.ledger.spent().epsilon == 0.0


def test_who_asks_too_often_waits(tmp_path):
    with House(people(tmp_path, PLAN.replace("rate = 1000", "rate = 1"))) as house, house.client("ana") as ana:
        found = [ana.get("/api/v1/me") for _ in range(120)]
        assert {one.status_code for one in found} == {200, 429}
        assert found[-1].headers["retry-after"]
        with house.client("bob") as bob:
            assert bob.get("/api/v1/me").status_code == 200  # others do not wait


def test_an_analyst_sees_nothing_of_the_stewards(ana, house):
    with house.client("sam") as sam:
        for part in ("ledger", "analysts", "spending"):
            assert ana.get(f"/api/v1/datasets/people/{part}").status_code == 403
            assert sam.get(f"/api/v1/datasets/people/{part}").status_code == 200
        assert sam.post(RELEASE, json=COUNT).status_code in (403, 409)  # without a budget there is nothing to spend
    assert house.desk.ledger.spent().epsilon == 0.0


# colluding analysts


def test_analysts_together_spend_no_more_than_the_datasets_budget(house):
    with house.client("ana") as ana, house.client("bob") as bob:
        first = [ana.post(RELEASE, json=variant(number)).status_code for number in range(1, 9)]
        second = [bob.post(RELEASE, json=variant(20 + number)).status_code for number in range(10)]
    assert first == [200] * 8
    assert second == [200] * 8 + [409] * 2  # bob's own budget had room for twelve
    assert house.desk.ledger.spent().epsilon == 2.0


# the network


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_the_service_listens_beyond_this_machine_with_tls_alone(host):
    with pytest.raises(SfumatoError, match="in the clear"):
        Running(("people.toml",), host=host)
    assert Running(("people.toml",), host=host, proxy="192.0.2.9").secure


def certified(place):
    """A certificate for this machine that nobody else has signed."""
    import datetime
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    built = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (place / "certificate.pem").write_bytes(built.public_bytes(serialization.Encoding.PEM))
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (place / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return str(place / "certificate.pem"), str(place / "key.pem")


def test_tls_is_spoken_where_it_is_asked_for(tmp_path):
    tls = certified(tmp_path)
    application = created([read_plan(people(tmp_path))], secure=True)
    with hosted(application, certificate=tls) as url:
        assert url.startswith("https://")
        known = ssl.create_default_context(cafile=tls[0])
        with urllib.request.urlopen(f"{url}/health", context=known, timeout=300) as answer:
            assert answer.headers["strict-transport-security"]
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib.request.urlopen(f"{url}/health", timeout=300)


def test_wrong_tokens_are_refused_and_then_not_even_looked_at(house):
    with house.client() as nobody:
        assert nobody.get("/api/v1/me").status_code == 401
        near = house.tokens["ana"][:-1]
        found = [
            nobody.get("/api/v1/me", headers={"Authorization": f"Bearer {near}.{number}"}).status_code
            for number in range(200)
        ]
        for odd in ("Bearer", "Basic abc", f"Bearer {house.tokens['ana']} x"):
            assert nobody.get("/api/v1/me", headers={"Authorization": odd}).status_code in (401, 429)
    assert set(found) == {401, 429}
    assert found.count(401) < 20
    assert len(house.tokens["ana"]) >= 43  # 256 bits


def test_wrong_tokens_do_not_lock_out_those_who_were_let_in_before(house):
    with house.client("ana") as ana, house.client("bob") as bob, house.client() as nobody:
        assert ana.get("/api/v1/me").status_code == 200
        wrong = [
            nobody.get("/api/v1/me", headers={"Authorization": f"Bearer x{number}"}).status_code for number in range(50)
        ]
        assert wrong[-1] == 429
        assert bob.get("/api/v1/me").status_code == 429  # a token that nobody here has seen might be a guess
        assert ana.get("/api/v1/me").status_code == 200
        house.desk.roster.revoke("ana")
        wait_until(lambda: ana.get("/api/v1/me").status_code != 200)
        assert {ana.get("/api/v1/me").status_code, ana.get("/api/v1/me").status_code} <= {401, 429}


def test_tokens_end_when_they_are_revoked(house):
    with house.client("ana") as ana, house.client("bob") as bob:
        assert ana.get("/api/v1/me").status_code == 200
        assert house.desk.roster.revoke("ana") == 1
        wait_until(lambda: ana.get("/api/v1/me").status_code != 200)
        assert ana.post(RELEASE, json=COUNT).status_code == 401
        assert bob.get("/api/v1/me").status_code == 200
    expired = house.desk.roster.add("ana", "1h")
    assert house.desk.roster.find(expired) is not None
    assert house.desk.ledger.spent().epsilon == 0.0


def test_a_replayed_request_is_the_same_answer(ana, house):
    first, again = (ana.post(RELEASE, json=variant(5, request="monday")).json() for _ in range(2))
    assert first["rows"] == again["rows"]
    assert (first["charged"]["epsilon"], again["charged"]) in [(0.125, None), (0.125, first["charged"])]
    assert ana.post(RELEASE, json=variant(6, request="monday")).status_code == 422
    assert house.desk.ledger.spent().epsilon == 0.125


# other users of the machine


def test_what_the_service_keeps_is_its_owners_alone_and_holds_no_token(tmp_path):
    before = os.umask(0)
    try:
        with House(people(tmp_path)) as house, house.client("ana") as ana:
            assert ana.post(RELEASE, json=COUNT).status_code == 200
            tokens = list(house.tokens.values())
    finally:
        os.umask(before)
    kept = [
        path for path in tmp_path.rglob("*") if path.is_file() and path.name not in ("people.toml", "people.parquet")
    ]
    assert len(kept) >= 3  # ledger, tokens, audit log
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    for path in kept:
        held = path.read_bytes()
        assert not [token for token in tokens if token.encode() in held], path.name


def test_a_plan_that_holds_a_password_is_refused(tmp_path):
    path = people(tmp_path, PLAN + '\n[ledger]\nconnection = "postgresql://me:hush@example.org/ledger"\n')
    with pytest.raises(SfumatoError) as refused:
        created([read_plan(path)])
    assert "hush" not in str(refused.value)


# a web page of another origin


def test_another_site_cannot_ask_with_a_visitors_cookie(house):
    with house.client() as browser:
        own = {"X-Sfumato": "1", "Origin": house.url}
        entered = browser.post("/api/v1/login", json={"token": house.tokens["ana"]}, headers=own)
        assert entered.status_code == 200
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        for forged in (
            {},
            {"Origin": "https://evil.example"},
            {"X-Sfumato": "1", "Origin": "https://evil.example"},
            {"X-Sfumato": "1", "Sec-Fetch-Site": "cross-site"},
            {"X-Sfumato": "1", "Origin": "null"},
        ):
            assert browser.post(RELEASE, json=COUNT, headers=forged).status_code == 403, forged
        assert house.desk.ledger.spent().epsilon == 0.0
        assert browser.post(RELEASE, json=COUNT, headers=own).status_code == 200


def test_every_answer_forbids_frames_and_foreign_programs(ana):
    for answer in (
        ana.get("/"),
        ana.get("/health"),
        ana.get("/api/v1/me"),
        ana.get("/nothing"),
        ana.post(RELEASE, json={}),
        ana.get("/api/v1/me", headers={"Authorization": "Bearer wrong"}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy.replace("'wasm-unsafe-eval'", "")
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "server" not in answer.headers


def test_no_other_origin_may_read_an_answer(ana):
    foreign = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for answer in (ana.get("/api/v1/me", headers=foreign), ana.options(RELEASE, headers=foreign)):
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


# the steward's mistakes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("budget = { epsilon = 1.0 }", "budget = { rho = 1.0 }"),
        ("budget = { epsilon = 1.0 }", ""),
        ('role = "steward"', 'role = "king"'),
        ("tick = 0.05", "tick = -1"),
        ('path = "people.parquet"', 'path = "missing.parquet"'),
        ("size = 2000", "sise = 2000"),
    ],
)
def test_mistakes_of_a_plan_are_told_before_anything_listens(tmp_path, monkeypatch, old, new):
    path = people(tmp_path, PLAN.replace(old, new, 1))

    def never(*given):
        raise AssertionError("it listens")

    monkeypatch.setattr(connections, "bound", never)
    with pytest.raises(SfumatoError):
        run(Running((str(path),)))


def test_a_ledger_of_another_dataset_is_refused(tmp_path):
    created([read_plan(people(tmp_path, PLAN + '\n[ledger]\npath = "one.ledger"\n'))])
    other = PLAN.replace('dataset = "people"', 'dataset = "others"') + '\n[ledger]\npath = "one.ledger"\n'
    with pytest.raises(SfumatoError, match="people"):
        created([read_plan(people(tmp_path, other))])


# crashes


@pytest.mark.heavy
def test_the_service_stops_in_order_when_it_is_told_to(tmp_path):
    path = people(tmp_path)
    command = [sys.executable, "-W", "error", "-m", "sfumato.cli"]
    added = subprocess.run([*command, "analyst", "add", path, "ana"], capture_output=True, text=True, check=True)
    token = added.stdout.split()[0]
    process = subprocess.Popen(
        [*command, "serve", path, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    url = process.stdout.readline().split()[-1]
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=300) as client:
        assert client.post(RELEASE, json=COUNT).status_code == 200
        with ThreadPoolExecutor(1) as pool:
            asking = pool.submit(client.post, RELEASE, json=variant(3))
            ledger = read_plan(path).ledger.existing()
            wait_until(lambda: sum(entry.kind == "charge" for entry in ledger.entries()) == 2)
            process.send_signal(signal.SIGTERM)
            assert asking.result().status_code == 200  # what was begun is finished
    _, errors = process.communicate(timeout=300)
    assert (errors, process.returncode) == ("", 0)
    assert ledger.verify().holds


def test_a_bug_tells_nothing_of_the_data(house, monkeypatch, capfd):
    def broken(*given):
        raise RuntimeError("row 4711 is secret")

    monkeypatch.setattr(desk.Desk, "described", broken)
    with house.client("ana") as ana:
        answer = ana.get("/api/v1/datasets/people")
    assert (answer.status_code, answer.json()["error"]) == (500, "ServiceError")
    assert "4711" not in answer.text + "".join(capfd.readouterr())


def test_a_name_that_was_made_to_lead_here_is_not_answered(tmp_path):
    app = created([read_plan(people(tmp_path))], this_machine=True, open_metrics=True)
    with hosted(app) as url:
        port = url.rpartition(":")[2]
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "[bad", "169.254.169.254"):
            status, _, text = asked(f"{url}/metrics", headers={"Host": host})
            assert (status, "sfumato_" in text) == (421, False)
        for host in (f"127.0.0.1:{port}", "localhost", f"[::1]:{port}"):
            assert asked(f"{url}/metrics", headers={"Host": host})[0] == 200


@pytest.mark.parametrize("opened", [False, True])
def test_metrics_are_for_stewards_and_for_this_machine_where_that_is_said(tmp_path, opened):
    with House.around(created([read_plan(people(tmp_path))], open_metrics=opened)) as house:
        with house.client() as nobody:
            assert nobody.get("/metrics").status_code == (200 if opened else 401)
            for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto"):
                assert nobody.get("/metrics", headers={name: "192.0.2.7"}).status_code == 401, name
        with house.client("sam") as sam, house.client("ana") as ana:
            assert "sfumato_requests_total" in sam.get("/metrics").text
            assert ana.get("/metrics").status_code == (200 if opened else 403)


@pytest.mark.parametrize("origin", ["http://[", "null", "", "://", "http://evil.example"])
def test_an_origin_that_is_no_address_is_another_one(house, origin):
    sent = {"X-Sfumato": "1", "Origin": origin}
    with house.client() as client:
        assert client.post("/api/v1/login", json={"token": house.tokens["ana"]}, headers=sent).status_code == 403


def test_a_length_that_is_said_in_two_ways_is_refused(house):
    address = urlsplit(house.url)
    body = json.dumps({"token": house.tokens["ana"]}).encode()
    head = "POST /api/v1/login HTTP/1.1\r\nHost: here\r\nX-Sfumato: 1\r\nContent-Type: application/json\r\n"
    both = f"Content-Length: {len(body)}\r\nTransfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n"
    with socket.create_connection((address.hostname, address.port), 10) as line:
        line.sendall((head + both).encode() + body + b"\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: here\r\n\r\n")
        said = b"".join(iter(lambda: line.recv(4096), b""))
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1") == 1  # what follows is not read


def test_one_who_asks_for_slow_previews_leaves_room_for_others(house, monkeypatch):
    over, begun, real = threading.Event(), threading.Event(), asking_.previewed

    def slow(order, schema):
        if order.question.query.kind != "count":
            begun.set()
            over.wait(LIMIT)
        return real(order, schema)

    monkeypatch.setattr(asking_, "previewed", slow)
    median = {"query": {"query": "median", "column": "age"}, "spend": {"epsilon": 0.1}}
    with ThreadPoolExecutor(8) as pool, house.client("ana") as ana, house.client("bob") as bob:
        asking = [pool.submit(ana.post, PREVIEW, json=median) for _ in range(8)]
        try:
            assert begun.wait(LIMIT)
            let_pass(0.3)  # for the others to take what room there is
            assert bob.post(PREVIEW, json=COUNT, timeout=LIMIT).status_code == 200
        finally:
            over.set()
        assert {one.result().status_code for one in asking} == {200}


def test_a_cookie_is_for_tls_alone_where_browsers_come_by_it(tmp_path):
    app = created([read_plan(people(tmp_path))], secure=True)  # behind a proxy that says nothing of TLS
    token = app.state.service.desks["people"].roster.add("ana", None)
    said = {"X-Sfumato": "1", "Content-Type": "application/json"}
    with hosted(app) as url:
        _, headers, _ = asked(f"{url}/api/v1/login", "POST", json.dumps({"token": token}), said)
    assert "secure" in headers["set-cookie"].lower()
    assert headers["set-cookie"].startswith("__Host-sfumato=")


def test_a_statement_that_was_charged_in_part_does_not_say_that_nothing_was(ana, house, monkeypatch):
    monkeypatch.setattr(Behalf, "admits", lambda *_: True)  # as if somebody spent between the look and the charge
    monkeypatch.setattr(house.desk, "must_fit", lambda *_: None)
    text = "SELECT avg(salary), count(*) FROM people"
    answer = ana.post(RELEASE, json={"sql": text, "spend": {"epsilon": 1.25}})
    assert answer.status_code == 409
    assert 0 < house.desk.ledger.spent().epsilon < 1
    assert "a part of this statement was charged" in answer.json()["message"]
    assert "nothing was charged" not in answer.json()["message"]
