"""Second moments behind principal components: what one unit moves, coercion to the ball, and reading them back."""

import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.auditing import audit_sensitivity
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.queries import Query, bind
from sfumato.queries.components import UNIT
from sfumato.queries.spectra import component_table, moments, spectrum

WIDTH = 8
RECORDS = [*itertools.product((0, 3, WIDTH), repeat=2), (-1, 5)]  # lattice indices; -1 is missing


def question(columns=2, replaced=False, missing=None, **choices):
    spaces = {f"c{i}": sf.Integers(0, WIDTH, missing=missing) for i in range(columns)}
    schema = sf.Schema(spaces, adjacency=sf.Replace() if replaced else sf.AddRemove(), size=3 if replaced else None)
    return bind(sf.pca(list(spaces), 1, **choices), schema)


def sums(asked, rows):
    table = np.array(rows, dtype=np.int64).reshape(-1, asked.size)
    return asked.summed([asked.vectors({name: table[:, i] for i, name in enumerate(asked.details.columns)})])


def weighted(asked, rows):
    """The vector with products and sums times root 2, in units of UNIT^2: what the Frobenius norm sees."""
    factors = np.repeat([1.0, np.sqrt(2), np.sqrt(2), 1.0], asked.groups)
    return sums(asked, rows).astype(float) * factors / UNIT**2


def pairs(replaced):
    """All tables of one or two records beside all their neighbors."""
    for table in itertools.product(RECORDS, ((WIDTH, WIDTH), (-1, 5))):
        for other in RECORDS:
            yield list(table), ([other, table[1]] if replaced else [other, *table])


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("choices", [{}, {"center": False}, {"radius": 0.9}, {"center": False, "radius": 0.9}])
def test_claimed_moves_cover_all_small_tables(replaced, choices):
    asked = question(replaced=replaced, **choices)
    found = list(pairs(replaced))
    root = np.sqrt(float(asked.squared_frobenius)) / UNIT**2
    assert not audit_sensitivity(lambda rows: weighted(asked, rows), root, "l2", pairs=found).refuted
    assert not audit_sensitivity(lambda rows: sums(asked, rows), float(asked.l1), "l1", pairs=found).refuted
    ends = np.cumsum((0, *asked.groups))
    for low, high, reach in zip(ends[:-1], ends[1:], asked.reaches, strict=True):
        part = lambda rows, low=low, high=high: sums(asked, rows)[low:high] if high > low else [0]  # noqa: E731
        assert not audit_sensitivity(part, float(reach), "linf", pairs=found).refuted


@pytest.mark.parametrize("replaced", [False, True])
def test_the_claimed_moves_are_attained(replaced):
    """A tenth less is refuted, so the tests above could have failed."""
    asked = question(replaced=replaced, center=False, missing=4 if replaced else None)
    root = 0.9 * np.sqrt(float(asked.squared_frobenius)) / UNIT**2
    assert audit_sensitivity(lambda rows: weighted(asked, rows), root, "l2", pairs=list(pairs(replaced))).refuted


def test_rows_are_shortened_to_the_radius_and_not_lengthened():
    asked = question(columns=3, radius=0.5)
    generator = np.random.default_rng(1)
    batch = {f"c{i}": generator.integers(0, WIDTH + 1, 5000) for i in range(3)}
    points = asked.vectors(batch)
    assert np.square(points).sum(axis=1).max() <= asked.longest
    inside = bind(sf.pca(["c0", "c1", "c2"], 1), asked.schema).vectors(batch)
    short = np.square(inside).sum(axis=1) <= asked.longest
    assert short.any()
    assert (points[short] == inside[short]).all()
    cosine = (points * inside).sum(axis=1)[~short] / np.sqrt(
        np.square(points).sum(axis=1)[~short] * np.square(inside).sum(axis=1)[~short]
    )
    assert cosine.min() > 0.999


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("missing", [None, 4])
def test_exact_sums_read_back_as_the_components_of_the_rows(center, missing):
    asked = question(columns=3, replaced=missing is not None, missing=missing, center=center)
    rows = np.random.default_rng(2).integers(0, WIDTH + 1, (3, 3))
    points = 2 * rows / WIDTH - 1
    output = np.concatenate([np.array([0, 1], dtype=object), sums(asked, rows)])
    matrix, total, count = moments(asked, output)
    assert np.allclose(matrix, points.T @ points)
    assert count == 3
    assert (total is None) == (not center)
    truth = np.cov(points.T, bias=True) if center else points.T @ points / 3
    found = spectrum(asked, output)
    assert found.values[0] == pytest.approx(np.linalg.eigvalsh(truth)[-1])
    assert abs(found.vectors[:, 0] @ np.linalg.eigh(truth)[1][:, -1]) == pytest.approx(1)
    assert found.total == pytest.approx(np.trace(truth))
    table = component_table(asked, found, 0.0)
    assert table["low"][0] == pytest.approx(table["high"][0])


def test_error_bars_follow_from_the_noise_bound():
    """Any perturbation within the bound leaves the true values inside the bars."""
    asked = question(columns=3, center=True)
    generator = np.random.default_rng(3)
    rows = generator.integers(0, WIDTH + 1, (2000, 3))
    rows[:, 1] = np.clip(rows[:, 0] + generator.integers(-1, 2, 2000), 0, WIDTH)
    exact = sums(asked, rows).astype(float)
    truth, axes = np.linalg.eigh(np.cov((2 * rows / WIDTH - 1).T, bias=True))
    for _ in range(30):
        noise = generator.normal(size=(4, 4)) * 5
        noise = noise + noise.T
        reach = np.abs(np.linalg.eigvalsh(noise)).max()
        moved = np.concatenate([np.diag(noise)[:3], noise[:3, :3][np.triu_indices(3, 1)], noise[:3, 3], [noise[3, 3]]])
        output = np.concatenate([[0, 1], np.rint(exact + moved * UNIT**2)]).astype(object)
        table = component_table(asked, spectrum(asked, output), reach)
        assert table["low"][0] <= truth[-1] <= table["high"][0]
        direction = np.array([table[f"loading_c{i}"][0] for i in range(3)])
        sine = np.sqrt(max(0.0, 1 - (direction @ axes[:, -1]) ** 2))
        assert sine <= table["sine_of_angle"][0] + 1e-9


def test_records_read_back():
    query = sf.pca(["a", "b"], 2, center=False, radius=1.5).where("a >= 3")
    assert Query.from_record(query.to_record()) == query
    with pytest.raises(SchemaError, match="'scale'"):
        Query.from_record({**query.to_record(), "scale": 1})
    with pytest.raises(SchemaError, match="list of column names"):
        Query.from_record({"query": "pca", "columns": "ab"})


@pytest.mark.parametrize(
    ("choices", "word"),
    [
        ({"columns": []}, "columns"),
        ({"columns": ["a", "a"]}, "twice"),
        ({"columns": ["a"], "k": 2}, "k must be"),
        ({"columns": ["a"], "k": 1, "radius": 0.0}, "radius"),
        ({"columns": ["a"], "k": 1, "center": 1}, "center"),
    ],
)
def test_refuses_nonsense(choices, word):
    with pytest.raises(ParameterError, match=word):
        sf.pca(**choices)


def test_refuses_other_columns_and_keys():
    schema = sf.Schema({"a": sf.Integers(0, 3), "c": sf.Categories(["x"])})
    with pytest.raises(UnsupportedQuery, match="must hold numbers"):
        bind(sf.pca(["c"], 1), schema)
    with pytest.raises(UnsupportedQuery, match="no keys"):
        bind(sf.pca(["a"], 1).by("c"), schema)


@pytest.mark.parametrize("reach", [0.0, 1e-12, 1e3, 1e30])
def test_shares_stay_between_nothing_and_all_whatever_the_noise(reach):
    """Warnings are errors here: a share over next to nothing must not overflow."""
    asked = question(3)
    output = np.concatenate([np.array([0, 1], dtype=object), sums(asked, [(0, 3, 8), (8, 8, 8), (1, 2, 3)])])
    table = component_table(asked, spectrum(asked, output), reach)
    for low, high in zip(table["explained_low"], table["explained_high"], strict=True):
        assert 0 <= low <= high <= 1
