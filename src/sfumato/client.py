"""Asking a query service from Python: `sf.connect(url, token)` has the names of a session.

The standard library talks; what comes back are the releases that the service stored, rebuilt from their records and
without their place in the ledger, which would tell when others were charged.
A release carries an id, so that asking again after a broken connection is charged at most once.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from sfumato import arguments, errors
from sfumato.cards import Card, Shown
from sfumato.errors import EngineError, LedgerError, ParameterError, SfumatoError
from sfumato.privacy.claims import guarantee_of
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.spending import amount_in, guarantee_like, kind_in
from sfumato.progress import shown, tell
from sfumato.queries import Query
from sfumato.queries.synthetic import synthetic
from sfumato.release import Published
from sfumato.release.archive import read, release_from
from sfumato.spaces.schema import Schema

__all__ = ["Foreseen", "Remote", "connect"]

LOOPBACK = ("127.0.0.1", "::1", "localhost")
TRIES, PAUSE = 4, 0.5  # of a connection that breaks, and seconds before the next one
PATIENCE = 120.0  # seconds for one answer
POLL = 0.5  # seconds between two looks at a job
WANTED = (
    "one question, such as sf.count(), a record as plans write it, or a statement in SQL (several are asked one after "
    "the other: [v.release(one, spend=0.1) for one in many])"
)


def connect(url: str, token: str, dataset: str | None = None) -> Remote:
    """A session about a dataset that a service answers for; its name may be left out where the token has one only."""
    if not (arguments.text("token", token).isascii() and token.isprintable()):
        raise ParameterError("token must be one line of plain letters, as `sfumato analyst add` printed it")
    if dataset is not None:
        arguments.text("dataset", dataset)
    try:
        parts = urlsplit(arguments.text("url", url))
        _ = parts.port  # which is looked at only when it is asked for
    except ValueError:
        raise ParameterError(f"url must be the address of a service, got {url!r:.100}") from None
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise ParameterError(
            f"url must be the address of a service, such as https://data.example.org, got {url!r:.100}"
        )
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ParameterError("the token would travel in the clear: connect by https://")
    wire = _Wire(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/api/v1", token)
    names = wire.get("/me")["datasets"]
    if dataset is None and len(names) != 1:
        raise ParameterError(f"dataset must be one of {', '.join(names)}")
    if dataset is not None and dataset not in names:
        raise ParameterError(f"there is no dataset {dataset!r:.80} for this token; there is {', '.join(names)}")
    return Remote(wire, dataset or names[0])


@dataclass(frozen=True, slots=True, repr=False)
class Foreseen(Shown):
    """What a release would cost and how accurate it would be, as the service says: nothing is spent.

    `more` is how many such questions the budgets take, this one included; `stored` whether the answer is free.  Of a
    statement that asks several questions each is in `questions`, and `guarantee` is what they cost together.
    """

    name: str
    guarantee: Guarantee
    mechanism: str
    half_width: float | None
    accuracy: str
    certificate: str
    fits: bool
    stored: bool
    more: int | None
    hint: str | None
    record: Mapping[str, Any]
    questions: tuple[Foreseen, ...] = ()

    @property
    def half_widths(self) -> Mapping[int, float] | None:
        """Half-widths by how many rows count, where the error depends on that; None elsewhere."""
        listed = self.record["error"].get("half_widths")
        return None if listed is None else {one["rows"]: one["half_width"] for one in listed}

    def card(self) -> Card:
        """The cost, the error and whether it fits; of several questions one after the other, and their sum."""
        if not self.questions:
            return Card(self.name, {**self._facts(), "budget": self._fitting()})
        facts = {f"question {place}": f"{one.name}; {one._line()}" for place, one in enumerate(self.questions, 1)}
        return Card(self.name, {**facts, "together": self._cost(), "budget": self._fitting()})

    def _cost(self) -> str:
        return "nothing: it is stored" if self.stored else str(self.record["cost"]["words"])

    def _facts(self) -> dict[str, str]:
        hint = {} if self.hint is None else {"hint": self.hint}
        return {
            "cost": self._cost(), "error": self.accuracy, "mechanism": self.mechanism,
            "certificate": self.certificate, **hint,
        }  # fmt: skip

    def _line(self) -> str:
        """The same in one line."""
        return "; ".join(f"{name} {said}" for name, said in self._facts().items())

    def _fitting(self) -> str:
        if self.stored:
            return "not touched: asking again costs nothing"
        many = "as many as you like" if self.more is None else f"{self.more:,}"
        return f"{'fits' if self.fits else 'does NOT fit'}; it takes {many} of this kind, this one included"

    def __repr__(self) -> str:
        if self.questions:
            return f"Foreseen({len(self.questions)} questions: {self.guarantee!r})"
        return f"Foreseen({self.name!r}: {self.guarantee!r}, {self.accuracy})"


class Remote:
    """A dataset behind a service, with the names of a session: `schema`, `preview`, `release`, `remaining`.

    `history` lists what was asked for, and `stored` has it again at no cost.
    """

    def __init__(self, wire: _Wire, dataset: str) -> None:
        self._wire, self._about = wire, f"/datasets/{quote(dataset, safe='')}"
        self.dataset = dataset
        self.schema = Schema.from_record(wire.get(self._about)["schema"])

    def __repr__(self) -> str:
        return f"Remote({self.dataset!r}, spent {self.spent!r}, left {self.remaining!r})"

    @property
    def remaining(self) -> Guarantee:
        """What may still be spent in one release: by this analyst, of the dataset's budget."""
        return self._budget("left")

    @property
    def spent(self) -> Guarantee:
        """What this analyst has spent."""
        return self._budget("spent")

    @property
    def budget(self) -> Guarantee:
        """What this analyst may spend in all."""
        return self._budget("budget")

    def __getattr__(self, name: str) -> object:
        known = {
            "left": "what is left is .remaining", "sanitize": "ask .release(sf.sanitized([...]), spend=...)",
            "release_all": "ask one after the other: [v.release(one, spend=0.1) for one in many]",
            "ledger": "the ledger is the steward's; .history() lists what you asked for",
        }  # fmt: skip
        if name not in known:
            raise AttributeError(f"a dataset behind a service has no {name!r}; see help(sf.client.Remote)")
        raise AttributeError(f"a dataset behind a service has no {name!r}: {known[name]}")

    def _budget(self, part: str) -> Guarantee:
        both = self._wire.get(f"{self._about}/budget")
        return _amount((both["analyst"] or both["dataset"])[part])

    def preview(self, query: Query | Mapping[str, Any] | str, **given: object) -> Foreseen:
        """What `release` with the same arguments would cost and how accurate it would be."""
        seen = self._wire.post(f"{self._about}/preview", _ask(query, given))
        several = seen["questions"]
        name = f"{len(several)} questions of one statement" if several else seen["name"]
        return _foreseen({**seen, "name": name}, seen, tuple(_foreseen(one, seen) for one in several))

    def release(self, query: Query | Mapping[str, Any] | str, **given: object) -> Published:
        """A private answer: `spend` says what it may cost, or `within` what error it may have with probability `level`.

        The same question again is the stored one, at no cost.  Long work is waited for.
        """
        return self._released(query, given)[0]

    def synthesize(
        self, columns: Sequence[str] | None = None, *, spend: Guarantee | float, rows: int | None = None,
        **given: object,
    ) -> Published:  # fmt: skip
        """`release(sf.synthetic(columns, rows=rows), spend=spend)`: invented rows, drawn from a private model."""
        return self.release(synthetic(columns, rows=rows), spend=spend, **given)

    def sql(self, statement: str, **given: object) -> list[Published]:
        """The answers to the questions of a SELECT; `spend` is for all of them together."""
        return self._released(statement, given)

    def _released(self, query: Query | Mapping[str, Any] | str, given: Mapping[str, object]) -> list[Published]:
        ask = {"request": secrets.token_hex(16), **_ask(query, given)}
        answer = self._wire.post(f"{self._about}/release", ask)
        if "job" in answer:
            return [self.stored(release) for release in self._waited(answer["job"])]
        return [self._read(one) for one in answer["releases"] or [answer]]

    def _waited(self, job: str) -> list[str]:
        """The releases of a job, once it is done."""
        with shown():
            while True:
                seen = self._wire.get(f"/jobs/{job}")
                if seen["state"] == "done":
                    return list(seen["releases"])
                if seen["state"] in ("failed", "canceled"):
                    problem = seen["problem"] or {"error": "Conflict", "message": "the job was canceled"}
                    raise _raised(409, problem)
                tell(seen["stage"] or seen["state"], seen["progress"])
                time.sleep(POLL)

    def history(self) -> list[dict[str, Any]]:
        """What this analyst asked for, latest first: `release`, `name`, `cost` (none where it was paid before)...

        Of a steward all that is stored.
        """
        listed = self._wire.get(f"{self._about}/releases")
        return [{**one, "cost": None if one["cost"] is None else _amount(one["cost"])} for one in listed]

    def stored(self, release: str | Mapping[str, Any] | Published) -> Published:
        """A stored release at no cost: by a line of `history`, by what that calls `release`, or by a release."""
        if isinstance(release, Published):
            release = release.provenance.digest
        found = release.get("release") if isinstance(release, Mapping) else release
        which = quote(arguments.text("release", found), safe="")
        return self._read(self._wire.get(f"{self._about}/releases/{which}"))

    def _read(self, answer: Mapping[str, Any]) -> Published:
        """The release itself: from its record, of a whole table from the file."""
        if answer["record"] is not None:
            return release_from(dict(answer["record"]))
        content = self._wire.content(f"{self._about}/releases/{answer['release']}?format=parquet")
        found: Published = read(content)
        return found


class _Wire:
    """Requests with a token; no redirect is followed, since it would take the token along."""

    def __init__(self, root: str, token: str) -> None:
        self._root, self._token = root, token
        self._opener = OpenerDirector()
        for handler in (ProxyHandler(), HTTPHandler(), HTTPSHandler()):
            self._opener.add_handler(handler)

    def get(self, path: str) -> Any:
        """What a call answers."""
        return json.loads(self.content(path))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """What a call with a body answers."""
        return json.loads(self.content(path, json.dumps(body).encode()))

    def content(self, path: str, body: bytes | None = None) -> bytes:
        """The bytes of an answer; a connection that breaks is tried again, which the id in the body makes safe."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        for turn in range(TRIES):
            time.sleep(turn * PAUSE)
            request = Request(self._root + path, body, headers)
            try:
                answer = self._opener.open(request, timeout=PATIENCE)
                with answer:
                    status, found = answer.status, answer.read()
            except HTTPError as error:
                status, found = error.code, error.read()
            except (URLError, OSError):
                continue
            if status >= 400:
                raise _raised(status, _problem(found))
            if not 200 <= status < 300:
                raise EngineError("the service answers with a redirect, which is not followed; check its address")
            return bytes(found)
        raise EngineError("the service cannot be reached; check its address, and whether it runs")


def _foreseen(one: Mapping[str, Any], whole: Mapping[str, Any], parts: tuple[Foreseen, ...] = ()) -> Foreseen:
    """One question, with what is said of the whole request."""
    return Foreseen(
        one["name"], _amount(one["cost"]), one["mechanism"], one["error"]["half_width"], one["error"]["words"],
        one["certificate"]["words"], whole["fits"], one["stored"], whole["more"], one["hint"], one, parts,
    )  # fmt: skip


def _problem(found: bytes) -> Mapping[str, str]:
    try:
        said = json.loads(found)
    except ValueError:
        said = None
    known = isinstance(said, dict) and isinstance(said.get("message"), str)
    return said if known else {"error": "", "message": "the service answers with what is none of its errors"}


def _raised(status: int, problem: Mapping[str, str]) -> SfumatoError:
    """The error that a service tells, as its type."""
    name = problem.get("error", "")
    kind = getattr(errors, name) if name in errors.__all__ else None
    if kind is None:
        kind = EngineError if status >= 500 else LedgerError if status == 409 else ParameterError
    found: SfumatoError = kind(problem["message"])
    return found


def _ask(query: Query | Mapping[str, Any] | str, given: Mapping[str, object]) -> dict[str, Any]:
    """What is sent: the question, and what stands beside it."""
    arguments.instance("query", query, (str, Mapping, Query), WANTED)
    known = {"spend", "within", "level", "name", "mechanism"}
    if unknown := sorted(given.keys() - known):
        raise ParameterError(f"{unknown[0]} is not known here; known are {', '.join(sorted(known))}")
    beside = {name: value for name, value in given.items() if value is not None}
    spend = guarantee_like("spend", beside.pop("spend", None))
    kind, amount = kind_in(spend), amount_in(spend)
    if kind is not None:
        if "within" not in beside:
            raise ParameterError(f"spend={kind.__name__} is a kind, which stands beside within=; give an amount of it")
        beside["kind"] = kind.__name__.lower()
    elif amount is not None:
        beside["spend"] = amount.parts()
    elif spend is not None:
        raise ParameterError(
            f"spend must be an epsilon such as 0.1, or sf.Pure(0.1) and the like, got {type(spend).__name__}"
        )
    if isinstance(query, str):
        return {"sql": query, **beside}
    return {"query": dict(query) if isinstance(query, Mapping) else query.to_record(), **beside}


def _amount(record: Mapping[str, Any]) -> Guarantee:
    return guarantee_of(
        {name: record.get(name) for name in ("epsilon", "delta", "rho") if record.get(name) is not None}
    )
