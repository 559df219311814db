"""Everything the source documents describe is reachable: each door of docs/research/map.md is called, small."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "research" / "map.md"
ROW = re.compile(
    r"^\| (?P<item>[^|]+?) \| (?P<door>`[^`]+`|[^`|]+?) \| (?P<proof>[^|]*) \| (?P<numbers>[^|]*) \|$", re.MULTILINE
)
CALL = re.compile(r"^`([^`]+)`$")
DOCUMENTS = 5
PEOPLE = 400


def rows() -> list[tuple[str, str, str]]:
    """The document, the item and the door of every line of the tables."""
    found = []
    for part in PAGE.read_text().split("\n## ")[1:]:
        document = re.findall(r"\(document (\d{3})\)", part.splitlines()[0])[0]
        lines = [match for match in ROW.finditer(part) if match["item"] not in ("item", "---")]
        found += [(document, match["item"], match["door"]) for match in lines]
    return found


def people() -> pd.DataFrame:
    """An invented table."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, PEOPLE)
    return pd.DataFrame({
        "age": age, "height": np.clip(rng.normal(170, 10, PEOPLE), 140, 200), "member": rng.random(PEOPLE) < age / 90,
        "state": rng.choice(["CA", "NY", "TX"], PEOPLE, p=[0.5, 0.3, 0.2]),
        "left": rng.integers(0, 256, PEOPLE), "right": rng.integers(0, 256, PEOPLE),
        "hobbies": [list(rng.choice(["chess", "judo", "opera"], 2, replace=False)) for _ in range(PEOPLE)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the page says its calls may use."""
    place = tmp_path_factory.mktemp("documents")
    frame = people()
    frame.to_parquet(place / "people.parquet")
    (place / "plan.toml").write_text(PLAN)
    columns = {
        "age": sf.Integers(0, 110), "height": sf.Interval(140, 200, step=1), "member": sf.Categories([False, True]),
        "left": sf.Integers(0, 255), "right": sf.Integers(0, 255),
        "state": sf.Categories(["CA", "NY", "TX"]), "hobbies": sf.Subsets(["chess", "judo", "opera"], cap=2),
    }  # fmt: skip
    added = sf.Schema(columns, dataset="people", size=PEOPLE)
    replaced = sf.Schema(columns, dataset="people", size=PEOPLE, adjacency=sf.Replace())
    budget = sf.Approximate(1000.0, 0.5)
    assumed = ["real-arithmetic", "mixing"]
    return {
        "sf": sf, "np": np, "rng": sf.reference.seeded(7), "pure": sf.Pure(1.0), "loose": sf.Approximate(2.0, 1e-6),
        "session": sf.reference.lab(frame, added, budget=budget, seed=1),
        "fixed": sf.reference.lab(frame, replaced, budget=budget, seed=2),
        "open_session": sf.reference.lab(frame, added, budget=budget, seed=3, allow=assumed),
        "F": np.random.default_rng(3).choice([-1.0, 1.0], (3, 9)), "x": np.linspace(22.0, 38.0, 9),
        "points": np.random.default_rng(4).uniform(-1, 1, (400, 2)), "h": [5, 0, 3, 2],
        "queries": np.tri(4, dtype=int), "queries8": np.random.default_rng(6).integers(0, 2, (64, 8)),
        "figure": figure, "command": lambda words: command(words, place),
    }  # fmt: skip


PLAN = """
format = "sfumato-plan/2"
[table]
path = "people.parquet"
unit = "row"
size = 400
[columns]
hobbies = { type = "subsets", of = ["chess", "judo", "opera"], cap = 2 }
[budget]
epsilon = 1.0
[[release]]
name = "election"
query = "top"
column = "hobbies"
k = 1
spend = { epsilon = 0.5 }
"""


def figure(name: str) -> list[dict[str, object]]:
    """The stored rows of a table or figure, which `make experiments` draws and tests/test_experiments.py compares."""
    lines = json.loads((ROOT / "experiments" / "results" / f"{name}.json").read_text())["lines"]
    assert all(line.get("holds", True) for line in lines)
    return [line["row"] for line in lines if "row" in line]


def command(words: str, place: Path) -> bool:
    """A command, as a user would run it in the folder of the plan."""
    from sfumato.cli import main

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr("sys.argv", ["sfumato", *words.split()])
        with pytest.raises(SystemExit) as done:
            main()
    assert not done.value.code, f"sfumato {words} ended with {done.value.code}"
    return True


@pytest.mark.parametrize(("document", "item", "door"), rows(), ids=[f"{d}: {item}" for d, item, _ in rows()])
def test_the_door_of_an_item_opens(document: str, item: str, door: str, names: dict[str, object]) -> None:
    call = CALL.match(door)
    assert call, f"document {document}, {item}: the door must be one call in backticks, got {door}"
    assert eval(call[1], dict(names)) is not None


def test_every_document_has_its_table() -> None:
    documents = [document for document, _, _ in rows()]
    assert len(set(documents)) == DOCUMENTS
    assert min(documents.count(document) for document in set(documents)) >= 10


def test_a_row_without_a_door_is_noticed() -> None:
    assert CALL.match("`sf.count()`")
    assert not CALL.match("an experiment only")
