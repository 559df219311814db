"""The trigonometric mechanism: claims, the linear program, answers and their bounds, an audit, refusals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.noise.laws import LAWS
from sfumato.mechanisms.synthetic.chebyshev import Chebyshev, degrees_below
from sfumato.mechanisms.synthetic.grid_fit import cosines, fit, on_grid
from sfumato.mechanisms.synthetic.query_bounds import query_bound
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric, printed_parameters
from sfumato.queries import bind
from sfumato.queries.features import Axis
from sfumato.randomness import seeded

PURE, CONCENTRATED, APPROXIMATE = sf.Pure(1.0), sf.Concentrated(0.2), sf.Approximate(1.0, 1e-3)


def schema_of(columns=2, size=5_000, replaced=True, missing=0.0):
    spaces = {f"c{i}": sf.Interval(0, 100, step=0.1, missing=missing) for i in range(columns)}
    return sf.Schema(spaces, adjacency=sf.Replace() if replaced else sf.AddRemove(), size=size)


def trigonometric(schema, columns, target, *, body=None, **asked):
    question = bind(sf.trigonometric(columns, **asked), schema)
    return Trigonometric.calibrate(question, target, *([[LAWS[body]]] if body else []))


def table_of(schema, seed=0):
    generator = np.random.default_rng(seed)
    rows = 100 * generator.beta(2, 5, (schema.size, len(schema.columns)))
    rows[:, -1] = (rows[:, 0] + rows[:, -1]) / 2
    frame = pd.DataFrame(rows, columns=list(schema.columns))
    return frame, sf.read(frame, schema=schema)


# claims


def test_parameters_are_the_printed_ones():
    assert printed_parameters(10_000, 2, 4) == (4, 100, 3_162_278)
    order, grid, rows = printed_parameters(10_000, 3, 4, delta=1e-3)
    assert (order, grid) == (3, 49)
    assert rows > 10_000


def test_the_constant_feature_is_free_only_where_the_size_is_public():
    free = trigonometric(schema_of(), ["c0", "c1"], PURE, smoothness=4)
    assert not free.counted
    for schema in (schema_of(replaced=False), schema_of(missing=None)):
        assert trigonometric(schema, ["c0", "c1"], PURE, smoothness=4).counted


def test_cube_noise_is_the_smallest_of_the_pure_ones():
    schema = schema_of()
    cube, laplace = (trigonometric(schema, ["c0", "c1"], PURE, smoothness=4, body=body) for body in ("cube", "laplace"))
    assert cube.noise.variance < laplace.noise.variance


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 5), st.booleans(), st.integers(1, 2))
def test_calibrate_never_exceeds_its_target(amount, replaced, columns):
    schema, names = schema_of(replaced=replaced), [f"c{i}" for i in range(columns)]
    for target in (sf.Pure(amount), sf.Concentrated(amount), sf.Approximate(amount, 1e-4)):
        mechanism = trigonometric(schema, names, target, smoothness=2, order=3, grid=20)
        assert mechanism.guarantee().implies(target)
        assert mechanism.guarantee(0).implies(sf.Pure(0.0))
        assert mechanism.error(0.01) >= mechanism.error(0.5) > 0


def test_a_target_with_delta_never_gets_more_noise_than_without():
    schema = schema_of()
    for order in (2, 3, 5):
        pure, both = (
            trigonometric(schema, ["c0", "c1"], target, smoothness=4, order=order, grid=20)
            for target in (PURE, APPROXIMATE)
        )
        assert both.error(0.5) <= pure.error(0.5)


# the linear program


@pytest.mark.parametrize("seed", range(4))
def test_generated_columns_reach_the_optimum_of_the_whole_program(seed):
    """The misfit equals that of the program with a column for every grid point, solved at once."""
    axes, degrees = (Axis.cut(16), Axis.cut(12)), degrees_below(2, 3)
    target = np.random.default_rng(seed).uniform(-0.8, 0.8, len(degrees))
    found = fit(cosines(axes, 3), degrees, target)
    grid = np.stack(np.meshgrid(np.arange(17), np.arange(13), indexing="ij"), axis=-1).reshape(-1, 2)
    points = np.stack([axes[i].positions()[grid[:, i]] for i in range(2)], axis=1)
    matrix = Chebyshev(axes, degrees).at(points).T
    r, n = matrix.shape
    body = np.block([[matrix, np.eye(r), -np.eye(r)], [np.ones((1, n)), np.zeros((1, 2 * r))]])
    whole = linprog(np.r_[np.zeros(n), np.ones(2 * r)], A_eq=body, b_eq=np.r_[target, 1.0], method="highs")
    assert np.abs(found.misfit).sum() == pytest.approx(whole.fun, abs=1e-5)
    assert found.weights.sum() == pytest.approx(1)
    assert len(found.weights) <= r + 1


def test_tensors_are_evaluated_axis_by_axis():
    axes = (Axis.cut(6), Axis.cut(4), Axis.cut(3))
    tensor = np.random.default_rng(1).normal(size=(3, 3, 3))
    values = on_grid(cosines(axes, 3), tensor)
    point = [axes[0].positions()[2], axes[1].positions()[3], axes[2].positions()[1]]
    angles = np.arccos(point)
    direct = sum(
        tensor[i, j, k] * np.cos(i * angles[0]) * np.cos(j * angles[1]) * np.cos(k * angles[2])
        for i, j, k in np.ndindex(3, 3, 3)
    )
    assert values.shape == (7, 5, 4)
    assert values[2, 3, 1] == pytest.approx(direct)


# answers and their bounds


@pytest.mark.parametrize(("columns", "replaced", "target"), [
    (1, True, PURE), (2, True, PURE), (2, False, PURE), (2, True, APPROXIMATE), (3, False, CONCENTRATED),
])  # fmt: skip
def test_smooth_queries_are_answered_within_their_bound(columns, replaced, target):
    schema = schema_of(columns, replaced=replaced)
    frame, table = table_of(schema)
    names = list(schema.columns)
    mechanism = trigonometric(schema, names, target, smoothness=4)
    output = mechanism.release(mechanism.take(table), seeded(2))
    found = mechanism.distribution(output)
    points, generator = frame.to_numpy() / 50 - 1, np.random.default_rng(3)
    for _ in range(4):
        query = sf.gaussian_mixture(names, generator.uniform(-1, 1, (10, columns)), 2.0)
        truth = query.details.values(points).mean()
        error = abs(found.evaluate(query) - truth)
        assert error <= query_bound(mechanism, output, found, query) < 0.15
        assert error < 0.01


def test_the_answer_without_noise_is_nearly_the_truth():
    """What remains is the grid and the order: the linear program fits exact means with no misfit."""
    schema = schema_of(2)
    frame, table = table_of(schema)
    mechanism = trigonometric(schema, ["c0", "c1"], PURE, smoothness=4)
    exact = mechanism.take(table)
    found = mechanism.distribution(exact)
    means, rows = mechanism.means(exact)
    assert rows == 5_000
    assert np.abs(mechanism.features.at(found.points()).T @ found.weights - means).sum() < 1e-4
    query = sf.smooth(["c0", "c1"], {(1, 0): 0.5, (1, 1): 0.25})
    assert found.evaluate(query) == pytest.approx(query.details.values(frame.to_numpy() / 50 - 1).mean(), abs=5e-3)


def test_error_falls_with_the_number_of_rows():
    errors = []
    for size in (500, 50_000):
        schema = schema_of(1, size=size)
        frame, table = table_of(schema)
        mechanism = trigonometric(schema, ["c0"], PURE, smoothness=4)
        query = sf.gaussian_mixture(["c0"], [[-0.9], [0.1]], 0.7)
        truth, exact = query.details.values(frame.to_numpy() / 50 - 1).mean(), mechanism.take(table)
        runs = (mechanism.distribution(mechanism.release(exact, seeded(seed))) for seed in range(10))
        errors.append(np.mean([abs(run.evaluate(query) - truth) for run in runs]))
    assert errors[1] < errors[0] / 10  # n^(-1/2) alone would give 10


def test_rows_and_weights_lie_in_the_declared_columns():
    schema = schema_of(2)
    _, table = table_of(schema)
    mechanism = trigonometric(schema, ["c0", "c1"], PURE, smoothness=4)
    found = mechanism.distribution(mechanism.release(mechanism.take(table), seeded(4)))
    rows = found.draw(1000, seeded(5))
    for name, values in rows.items():
        assert ((values >= 0) & (values <= 100)).all()
        assert all(schema.space(name).coerce(value) == pytest.approx(value) for value in values[:20])
    assert found.weights.min() > 0


@pytest.mark.parametrize("frame", [
    pd.DataFrame({"c0": [50.0] * 30, "c1": np.linspace(0, 100, 30)}), pd.DataFrame({"c0": [1.0], "c1": [2.0]}),
    pd.DataFrame({"c0": [np.nan, np.inf], "c1": [-np.inf, 1e300]}), pd.DataFrame({"c0": [], "c1": []}, dtype=float),
])  # fmt: skip
def test_hostile_tables_have_answers(frame):
    schema = schema_of(2, size=30, replaced=False, missing=None)
    mechanism = trigonometric(schema, ["c0", "c1"], PURE, smoothness=4)
    output = mechanism.release(mechanism.take(sf.read(frame, schema=schema)), seeded(1))
    assert mechanism.distribution(output).weights.sum() == pytest.approx(1)


# audit


def attacked(mechanism, shrink=1):
    weak = Trigonometric(mechanism.query, mechanism.features, mechanism.body, mechanism.scale / shrink)

    def run(data, rng):
        sums, rows = weak.features.sums([{"c0": np.array(data, dtype=np.int64)}], ["c0"])
        exact = np.append(sums, rows * weak.features.scale) if weak.counted else sums
        return weak.release(exact, rng).tolist()

    return run


@pytest.mark.parametrize("replaced", [False, True])
def test_audit_tells_the_claim_from_a_third_of_the_noise(replaced):
    """Laplace noise on one feature (and the count) at its claim, and with a third of the noise."""
    schema = schema_of(1, size=2, replaced=replaced)
    mechanism = trigonometric(schema, ["c0"], PURE, smoothness=2, order=2, grid=11, body="laplace")
    pair = ([1000, 500], [0, 500]) if replaced else ([1000, 500], [500])
    assert not audit(attacked(mechanism), PURE, pairs=[pair], seconds=0.4, generator=seeded).refuted
    assert audit(attacked(mechanism, 3), PURE, pairs=[pair], seconds=3, generator=seeded).refuted


# refusals


def test_refuses_what_does_not_fit_before_any_cost():
    schema = schema_of(6)
    names = list(schema.columns)
    with pytest.raises(UnsupportedQuery, match="features"):
        trigonometric(schema, names, PURE, smoothness=2, order=5, grid=3)
    with pytest.raises(UnsupportedQuery, match="GiB"):
        trigonometric(schema, names[:3], PURE, smoothness=2, order=2, grid=1000)
    unsized = sf.Schema({"c0": sf.Integers(0, 9)})
    with pytest.raises(UnsupportedQuery, match="size="):
        trigonometric(unsized, ["c0"], PURE, smoothness=2)
    with pytest.raises(UnsupportedQuery, match="epsilon > 0"):
        trigonometric(schema, ["c0"], sf.Concentrated(0.0), smoothness=2, body="cube")
    with pytest.raises(ParameterError, match="smoothness"):
        trigonometric(schema, ["c0"], PURE, smoothness=0)


def test_two_hundred_columns_are_refused_in_words():
    spaces = {f"c{i}": sf.Integers(0, 9, missing=0) for i in range(200)}
    with pytest.raises(UnsupportedQuery, match="fewer columns"):
        trigonometric(sf.Schema(spaces, size=100), list(spaces), PURE, smoothness=4)


def test_refuses_an_answer_of_another_shape_without_printing_it():
    mechanism = trigonometric(schema_of(1), ["c0"], PURE, smoothness=2, order=3, grid=5)
    with pytest.raises(ParameterError, match="dimension 2") as refusal:
        mechanism.release(np.array([31337]), seeded(1))
    assert "31337" not in str(refusal.value)


# published by a session


@pytest.mark.parametrize("spend", [PURE, APPROXIMATE])
def test_a_session_publishes_a_weighted_table_and_reads_it_back(tmp_path, spend):
    schema = schema_of(2, replaced=False, missing=None)
    frame, table = table_of(schema)
    session = sf.Session(table, budget=spend, ledger=tmp_path / "l.db")
    asked = sf.trigonometric(["c0", "c1"])
    made = session.release(asked, spend=spend)
    assert "smooth queries" in made.words()
    assert made.guarantee.implies(spend)
    query = sf.gaussian_mixture(["c0", "c1"], [[0.2, -0.4], [-0.8, 0.0]], 2.0)
    truth = query.details.values(frame.to_numpy() / 50 - 1).mean()
    assert abs(made.evaluate(query) - truth) <= made.bound(query) < 0.1
    assert made.draw(10, seeded(1)).num_rows == 10
    again = sf.load(made.save(tmp_path / "t.parquet"))
    assert again.evaluate(query) == pytest.approx(made.evaluate(query))
    assert again.mechanism.to_record() == trigonometric(schema, ["c0", "c1"], spend).to_record()
    assert session.release(asked, spend=spend).rows.equals(made.rows)  # stored, at no cost
