"""What a mechanism rests on can be found from it: its proof in `help`, works with addresses, notes in a wheel."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.bounds import curves, quotients, ratios, selection, tables
from sfumato.errors import ParameterError
from sfumato.mechanisms import MECHANISMS
from sfumato.randomness import seeded
from sfumato.reference import works
from sfumato.reference.citing import NOTES_OF_BOUNDS
from sfumato.sampling import DiscreteGaussian, DiscreteLaplace

ROOT = Path(__file__).parents[2]
MAKERS = ("exponential", "gaussian_process", "knorm", "laplace", "nearest", "net", "nim", "noise_body",
          "permute_and_flip", "small_database", "smooth")  # fmt: skip
ADDRESS = re.compile(r"https://(doi\.org/10\.\d{4,5}/\S+|arxiv\.org/abs/\d{4}\.\d{4,5})")


# citations
def test_cite_finds_works_with_their_addresses_and_the_proof_itself():
    found = sf.reference.cite(sf.reference.knorm(np.eye(2), 1.0))
    assert [work.address for work in found.works] == ["https://doi.org/10.1145/1806689.1806786"]
    assert found.read() == (ROOT / found.proofs[0]).read_text()
    assert "Hardt" in str(found)


@pytest.mark.parametrize(
    ("thing", "note", "key"),
    [
        (sf.reference.volume_bound, "bounds-metric", "HardtTalwar2010"),
        (sf.reference.volume_bound(np.eye(2), 1.0), "bounds-metric", "HardtTalwar2010"),
        (sf.reference.knorm(np.eye(2), 1.0).certificate, "bounds-metric", "HardtTalwar2010"),
        (sf.reference.minimax, "bounds-minimax", "GillLevit1995"),
        (sf.reference.minimax("mean", 100, 1.0), "bounds-minimax", "GillLevit1995"),
        (sf.reference.packing(2, 1.0, 100), "bounds-packing", None),
        (sf.accounting.optimal, "accounting-composition", "KairouzOhViswanath2015"),
        (sf.reference.least_variance, "bounds-truncation", None),
        (sf.reference.nearest, "finite_channel", "Jazbec2018"),
        (sf.reference.factorization_norm, "factorization", "XiaoHeZhangKifer2023"),
        (sf.bounds.record_error, "bounds-record", "Jazbec2018"),
        ("knorm", "real_vectors", "HardtTalwar2010"),
        ("bounds-record", "bounds-record", "Jazbec2018"),
        ("docs/proofs/laplace.md", "laplace", None),
    ],
)
def test_bounds_certificates_functions_and_notes_are_cited(thing, note, key):
    found = sf.reference.cite(thing)
    assert f"docs/proofs/{note}.md" in found.proofs
    assert key is None or key in found.keys
    assert len(found.read()) > 500


def test_a_release_is_cited_with_its_mechanism_and_its_bound():
    schema = sf.Schema({"age": sf.Integers(0, 110)}, dataset="ages", size=50)
    lab = sf.reference.lab(pd.DataFrame({"age": range(18, 68)}), schema, budget=sf.Pure(9.0), seed=7)
    proofs = sf.reference.cite(lab.release(sf.count(), spend=sf.Pure(1.0))).proofs
    assert {"docs/proofs/laplace.md", "docs/proofs/bounds-truncation.md"} <= {*proofs}


def test_every_bound_of_a_certificate_leads_to_notes_that_exist():
    named = {module.NAME for module in (curves, ratios, quotients, selection, tables)}
    assert all(any(name.startswith(begin) for begin in NOTES_OF_BOUNDS) for name in named)
    assert all(
        (ROOT / "docs" / "proofs" / f"{note}.md").is_file() for notes in NOTES_OF_BOUNDS.values() for note in notes
    )
    page = (ROOT / "docs" / "guide" / "certificates.md").read_text().split("## Which proof", 1)[1]
    begun = [line.split("|")[1].strip().removesuffix(" ...") for line in page.splitlines() if "../proofs/" in line]
    assert all(any(begin in name or name.startswith(begin) for begin in NOTES_OF_BOUNDS) for name in begun)


@pytest.mark.parametrize(
    "thing", ["knowm", "sfumato.nothing", print, 3, sf.reference.Bound(1.0, sf.Pure(1.0), "my own", "all")]
)
def test_what_has_no_source_here_is_refused_in_words(thing):
    with pytest.raises(ParameterError):
        sf.reference.cite(thing)


# arguments
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: sf.reference.least_variance(1.0), "claim must be a guarantee"),
        (lambda: sf.accounting.optimal(0.1, 40, 1e-6), "claim must be that of one release"),
        (lambda: sf.reference.minimax("frequencies", 100, 1.0), "takes k=... beside n and epsilon, got nothing"),
        (lambda: sf.reference.minimax("mean", 100, 1.0, k=3), "takes low=.*, high=.* beside n and epsilon, got k"),
    ],
)
def test_numbers_in_place_of_claims_and_missing_parameters_are_named(wrong, words):
    with pytest.raises(ParameterError, match=words):
        wrong()


def test_addresses_have_the_form_of_addresses_and_are_of_one_work_each():
    known = [work for work in works.works().values() if work.address]
    assert len(known) >= 100
    assert all(ADDRESS.fullmatch(work.address) for work in known)
    titles: dict[str, set[str]] = {}
    for work in known:
        titles.setdefault(work.address, set()).add(work.title.lower())
    assert all(len(each) == 1 for each in titles.values())


# help
@pytest.mark.parametrize("name", MAKERS)
def test_help_of_a_maker_names_its_proof(name):
    _names_a_proof(getattr(sf.reference, name))


def test_help_of_every_mechanism_names_its_proof():
    for kind in {*MECHANISMS.values()}:
        _names_a_proof(kind)


def _names_a_proof(thing: object) -> None:
    named = re.findall(r"docs/proofs/[\w-]+\.md", thing.__doc__ or "")
    assert named, f"the docstring of {thing} names no proof"
    assert all((ROOT / note).is_file() for note in named)


# a wheel
def test_a_package_is_packed_with_every_note_and_found_there(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("setup_of_sfumato", ROOT / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    setup = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(setup)
    setup.pack(tmp_path)
    monkeypatch.setattr(works, "PACKED", tmp_path / "notes")
    assert works.home() == tmp_path / "notes"
    packed = {path.name for path in (tmp_path / "notes" / "proofs").iterdir()}
    assert packed == {path.name for path in (ROOT / "docs" / "proofs").glob("*.md")}
    assert works.proof("docs/proofs/laplace.md") == (ROOT / "docs" / "proofs" / "laplace.md").read_text()


# seeded streams: whoever changes one of these says so in the changelog, since published figures change with it
def test_the_stream_of_a_seed_is_fixed():
    assert seeded(1).bits64(3).tolist() == [9441442522235856127, 17532960557476522086, 2659275481604167885]


def test_draws_from_a_seed_are_fixed():
    assert DiscreteLaplace(10).sample((8,), seeded(1)).tolist() == [-6, -23, 0, -23, 2, 4, 14, -4]
    assert DiscreteGaussian(10).sample((8,), seeded(1)).tolist() == [-5, 15, -18, 15, -2, 3, -11, -3]
    response = sf.local.GeneralizedResponse.calibrate(5, sf.Pure(1.0))
    assert response.randomize([0, 1, 2, 3, 4, 0, 1, 2], seeded(1)).tolist() == [2, 3, 2, 0, 3, 4, 2, 4]
    choice = sf.reference.exponential(list(range(20)), sensitivity=1, epsilon=1.0)
    assert [choice.release(range(20), seeded(i)).value for i in range(8)] == [19, 18, 17, 15, 19, 19, 18, 19]


def test_releases_of_a_laboratory_are_fixed():
    schema = sf.Schema({"age": sf.Integers(0, 110)}, dataset="ages", size=50)
    lab = sf.reference.lab(pd.DataFrame({"age": range(18, 68)}), schema, budget=sf.Pure(9.0), seed=7)
    asked = (sf.count(), sf.sum("age"), sf.median("age"))
    assert [lab.release(query, spend=sf.Pure(1.0)).value for query in asked] == [49, 2136, 42]
