"""The checklists of CONTRIBUTING.md, carried out: each part is added to a copy of the package, then really used.

A case writes new files and edits others, no more of them than the checklist promises; the script that follows runs on
the copy.  What is added is as small as it can be: the point is how many places know of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from thinned import thinned

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sfumato"


@dataclass(frozen=True)
class Addition:
    """New files by their path, edits of others (the text before which something is put, and what), and its use."""

    new: dict[str, str]
    edited: dict[str, tuple[tuple[str, str], ...]]
    use: str
    files: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", len(self.new) + len(self.edited))


TABLE = """
import sfumato as sf
from pathlib import Path
Path("people.csv").write_text("x,g\\n" + "".join(f"{i % 5},{i * 10}\\n" for i in range(200)))
schema = sf.Schema({"x": sf.spaces.Integers(0, 4)})
def session(schema=schema, **given):
    table = given.pop("table", None) or sf.read("people.csv", schema=schema)
    return sf.Session(table, **{"ledger": "people.ledger", "budget": sf.Pure(100.0), **given})
"""

QUERY = Addition(
    {
        "queries/doubled.py": '''
"""Twice a sum."""
from dataclasses import dataclass
from typing import Any, ClassVar
from sfumato.queries.grouping import bind_cells
from sfumato.queries.query import Query
from sfumato.queries.total import Total

@dataclass(frozen=True, slots=True)
class DoubledDetails:
    """Of one column."""
    kind: ClassVar[str] = "doubled"
    column: str
    def subject(self) -> str:
        return f"twice the sum of {self.column}"
    def to_record(self) -> dict[str, Any]:
        return {"column": self.column}
    @classmethod
    def from_record(cls, record: Any) -> "DoubledDetails":
        return cls(record["column"])
    def bind(self, query: Any, schema: Any) -> Any:
        return Doubled(query, schema, bind_cells(query.keys, schema))

class Doubled(Total):
    """The sum is measured, twice of it is read."""
    __slots__ = ()
    def estimate(self, noisy: Any) -> Any:
        return 2 * Total.estimate(self, noisy)
    def interval(self, noisy: Any, noise: Any, beta: float) -> Any:
        low, high = Total.interval(self, noisy, noise, beta)
        return 2 * low, 2 * high
    def preview(self, noise: Any, beta: float) -> Any:
        return 2 * Total.preview(self, noise, beta)

def doubled(column: str) -> Query:
    return Query(DoubledDetails(column))
''',
    },
    {
        "queries/kinds.py": (('        "pca": "components', '        "doubled": "doubled:DoubledDetails",\n'),),
        "__init__.py": (('    "sfumato.queries.components"', '    "sfumato.queries.doubled": ("doubled",),\n'),),
    },
    TABLE
    + """
one = session()
assert one.preview(sf.doubled("x"), spend=sf.Pure(5.0)).half_width > 0
release = one.release(sf.doubled("x"), spend=sf.Pure(5.0))
assert abs(release.value - 800) < 100, release.value
release.save("doubled.json")
assert sf.load("doubled.json").value == release.value
assert sf.Query.from_record({"query": "doubled", "column": "x"}) == sf.doubled("x")  # as a plan asks
""",
)

SPACE = Addition(
    {
        "spaces/percent.py": '''
"""Shares of a hundred."""
from dataclasses import dataclass, field
from typing import Any, ClassVar
from sfumato.spaces.forms import Numbers
from sfumato.spaces.interval import OnLattice, number
from sfumato.spaces.lattice import Lattice

@dataclass(frozen=True, slots=True)
class Percent(OnLattice):
    """From 0 to 100, whole."""
    missing: float | None = None
    lattice: Lattice = field(init=False, repr=False)
    kind: ClassVar[str] = "percent"
    def __post_init__(self) -> None:
        object.__setattr__(self, "lattice", Lattice.between(0, 100, 1))
    @property
    def diameter(self) -> float:
        return 100.0
    def distance(self, one: Any, other: Any) -> float:
        return abs(one - other)
    def coerce(self, value: object) -> Any:
        found = number(value)
        return self.missing if found is None else self.lattice.value(self.lattice.index(found))
    def to_record(self) -> dict[str, Any]:
        return {"type": "percent", "missing": self.missing}
    @property
    def form(self) -> Numbers:
        return Numbers(self.lattice, None if self.missing is None else self.lattice.index(self.missing), ())
    def shown(self, number: float) -> Any:
        return f"{number:g} %"
    def examples(self) -> tuple[Any, Any, Any, Any]:
        return 0.0, 100.0, 50.0, 25.0
''',
    },
    {
        "spaces/__init__.py": (
            ("from sfumato.spaces.record", "from sfumato.spaces.percent import Percent\n"),
            ("Interval, Integers, Categories, Subsets, Box", "Percent, "),
        ),
    },
    TABLE
    + """
from sfumato.spaces import space_from
percent = space_from({"type": "percent"}, "g")
release = session(sf.Schema({"g": percent})).release(sf.mean("g"), spend=sf.Pure(50.0))
assert 90 < float(str(release.value).split()[0]) <= 100, release.value
histogram = session(sf.Schema({"g": percent})).release(sf.median("g"), spend=sf.Pure(5.0))
""",
)

MECHANISM = Addition(
    {
        "mechanisms/noise/generous.py": '''
"""Laplace noise of twice the scale that is needed."""
from dataclasses import dataclass
from typing import Any
from sfumato.mechanisms.noise.additive import Additive, noised
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Pure
from sfumato.sampling.laplace import DiscreteLaplace

@dataclass(frozen=True, slots=True)
class Generous(Additive):
    """Its claim is that of the scale."""
    query: Any
    scale: float
    @classmethod
    def calibrate(cls, query: Any, target: Any) -> "Generous":
        return cls(query, 2 * query.sensitivity("l1") / target.pure_within())
    @property
    def noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale)
    def guarantee(self, distance: int = 1) -> Pure:
        return Pure(self.query.sensitivity("l1") / self.scale * (1 + 1e-12)).group(distance)
    def error(self, beta: float = 0.05) -> float:
        return float(self.noise.quantile(beta / self.query.dimension))
    def release(self, answer: Any, rng: Any) -> Any:
        return noised(answer, self.query, self.noise, rng)
    def to_record(self) -> dict[str, object]:
        return {"type": "generous", "scale": self.scale}
''',
    },
    {
        "mechanisms/__init__.py": (('        "laplace": "noise', '        "generous": "noise.generous:Generous",\n'),),
    },
    TABLE
    + """
from sfumato.mechanisms.noise.generous import Generous
release = session().release(sf.sum("x"), spend=sf.Pure(2.0), mechanism=Generous)
assert abs(release.guarantee.epsilon - 1.0) < 1e-6
assert release.interval()[0] < release.value < release.interval()[1]
release.save("sum.json")
assert sf.load("sum.json").value == release.value
""",
)

PROTOCOL = Addition(
    {
        "local/protocols/coin.py": '''
"""Generalized response under a name of its own."""
from dataclasses import dataclass
from typing import ClassVar
from sfumato.local.protocols.generalized import GeneralizedResponse

@dataclass(frozen=True, slots=True)
class Coin(GeneralizedResponse):
    """One of k."""
    name: ClassVar[str] = "coin"
''',
    },
    {
        "local/protocols/__init__.py": (
            ("from sfumato.local.protocols.coordinates", "from sfumato.local.protocols.coin import Coin\n"),
            ("    GeneralizedResponse, OptimizedUnary", "    Coin, "),
        ),
    },
    """
import sfumato as sf
from sfumato.local.client import Client, decode_batch
from sfumato.local.protocols import PROTOCOLS, protocol_from
coin = PROTOCOLS["coin"].calibrate(4, sf.Pure(3.0))
assert protocol_from(coin.to_record()) == coin
reports = decode_batch(coin, b"".join(Client(coin).report(2) for _ in range(1))).reports
assert len(coin.estimate(coin.tally(reports), 1)) == 4
""",
)

ENGINE = Addition(
    {
        "engines/lines.py": '''
"""Tables of JSON, one object a line, in a backend of Ibis."""
from typing import Any
from pyarrow import json
from sfumato.engines.backends import connected
from sfumato.engines.table import Table

def read_lines(path: str, schema: Any) -> Table:
    """The table behind its schema."""
    return Table(connected().create_table("lines", json.read_json(path)), schema)
''',
    },
    {},
    TABLE
    + """
from sfumato.engines.lines import read_lines
Path("people.jsonl").write_text("".join('{"x": %d}\\n' % (i % 5) for i in range(200)))
release = session(table=read_lines("people.jsonl", schema)).release(sf.count(), spend=sf.Pure(5.0))
assert abs(release.value - 200) < 20
""",
)

LEDGER = Addition(
    {
        "ledger/kept.py": '''
"""A ledger that a process keeps to itself, and is asked like any other."""
from sfumato.ledger.memory import MemoryLedger

class KeptLedger(MemoryLedger):
    """In memory, under another name."""
    @property
    def place(self) -> str:
        return "kept"
''',
    },
    {},
    TABLE
    + """
from sfumato.ledger.kept import KeptLedger
from sfumato.ledger.terms import Terms
kept = KeptLedger(Terms(schema.dataset, schema.adjacency, schema.unit, sf.Pure(6.0)))
one = session(ledger=kept, budget=None)
assert one.release(sf.count(), spend=sf.Pure(5.0)).value == one.release(sf.count(), spend=sf.Pure(5.0)).value
assert one.remaining == sf.Pure(1.0)
""",
)

GUARANTEE = Addition(
    {},
    {
        "privacy/guarantees.py": (
            (
                "GUARANTEES: dict[str, type[Guarantee]]",
                '''@dataclass(frozen=True, slots=True, repr=False)
class Careful(Pure):
    """Epsilon-DP by another name."""


''',
            ),
            ('    "approximate": Approximate,\n    "concentrated"', '    "careful": Careful,\n'),
        ),
    },
    TABLE
    + """
from sfumato.privacy.claims import claim_from, to_record
from sfumato.privacy.guarantees import Careful
assert claim_from({**to_record(sf.Pure(0.5)), "type": "careful"}) == Careful(0.5)
release = session().release(sf.count(), spend=Careful(5.0))
assert release.guarantee.epsilon == 5.0
""",
)

ADDITIONS = {
    "query kind": QUERY,
    "column type": SPACE,
    "mechanism": MECHANISM,
    "local protocol": PROTOCOL,
    "engine": ENGINE,
    "ledger": LEDGER,
    "guarantee": GUARANTEE,
}


def promised() -> dict[str, int]:
    """How many files each addition may take, as CONTRIBUTING.md says."""
    rows = re.findall(r"^\| (?:an? )?([a-z ]+) \| (\d) \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    return {name: int(files) for name, files in rows}


def test_the_checklists_are_those_of_contributing():
    assert promised().keys() == ADDITIONS.keys()


@pytest.mark.parametrize("part", thinned(ADDITIONS, 2))
def test_a_part_is_added_in_as_many_files_as_promised_and_works(part, tmp_path):
    addition = ADDITIONS[part]
    assert addition.files <= promised()[part]
    copy = tmp_path / "src" / "sfumato"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in addition.new.items():
        assert not (copy / name).exists()
        (copy / name).write_text(text.lstrip())
    for name, edits in addition.edited.items():
        text = (copy / name).read_text()
        for before, inserted in edits:
            assert text.count(before) == 1, (name, before)
            text = text.replace(before, inserted + before)
        (copy / name).write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", addition.use], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stderr
