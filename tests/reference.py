"""A slow engine that is easy to believe: plain Python over a list of rows, coerced by `space.coerce` alone."""

from collections import Counter
from fractions import Fraction

from sfumato.engines.bounding import MULTIPLIER, PRIME, SHIFT
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Frequencies
from sfumato.queries.predicates import Between, Both, Contains, Either, Negated, OneOf
from sfumato.spaces import Categories, Dates, Integers, Interval, Subsets


def answer(rows, statistic, schema):
    """Totals as lists, or a Counter of (cell, value), or a Counter of texts."""
    kept = [row for row in counted(rows, schema) if holds(statistic.where, row, schema)]
    if isinstance(statistic, Aggregation):
        totals = [[0] * statistic.cells.count for _ in statistic.measures]
        for row in kept:
            cell = cell_of(row, statistic.cells, schema)
            for total, measure in zip(totals, statistic.measures, strict=True):
                if cell is not None and (measure.column is None or row[measure.column] is not None):
                    low = schema.space(measure.column).lattice.low if measure.column else 0
                    total[cell] += (row[measure.column] - low) ** measure.power if measure.power else 1
        return totals
    if isinstance(statistic, Frequencies):
        return frequencies(kept, statistic, schema)
    holders = {(number if row["_unit"] is None else row["_unit"], row[statistic.column])
               for number, row in enumerate(kept)}  # fmt: skip
    return Counter(text for _, text in holders if text is not None)


def frequencies(kept, statistic, schema):
    """How often each value, or position of an item, occurs in each cell."""
    space, found = schema.space(statistic.column), Counter()
    for row in kept:
        cell, value = cell_of(row, statistic.cells, schema), row[statistic.column]
        if cell is None or value is None:
            continue
        if isinstance(space, Subsets):
            found.update((cell, space.of.index(item)) for item in value)
        else:
            found[cell, space.values.index(value) if isinstance(space, Categories) else value] += 1
    return found


def counted(rows, schema):
    """The coerced rows; of each person, the first m by the public order.  Numbers become lattice indices."""
    people, plain = {}, []
    for raw in rows:
        row = {name: coerced(raw[name], space) for name, space in schema.columns.items()}
        row["_unit"] = raw[schema.unit.column] if isinstance(schema.unit, Person) else None
        plain.append(row)
        people.setdefault(row["_unit"], []).append(row)
    if not isinstance(schema.unit, Person):
        return plain
    people.pop(None, None)
    return [row for own in people.values() for row in sorted(own, key=lambda r: place(r, schema))[: schema.unit.rows]]


def coerced(value, space):
    """`space.coerce`, with a number as the index of its point."""
    point = space.coerce(value)
    if isinstance(space, Dates) and point is not None:
        return space.day(point)
    if point is None or not isinstance(space, Interval | Integers):
        return point
    return space.day(point) if isinstance(space, Dates) else round(Fraction(point) / space.lattice.step)


def position(value, space):
    """A coerced value as rows are streamed: index above the lower bound, place of a label, bits of a set; or -1."""
    if isinstance(space, Subsets):
        return -1 if value is None else sum(1 << space.of.index(item) for item in value)
    if isinstance(space, Categories):
        return space.values.index(value) if value in space.values else -1
    return -1 if value is None else value - space.lattice.low


def place(row, schema):
    """A row's place among those of its person."""
    numbers, texts = [], []
    for name, space in schema.columns.items():
        value = row[name]
        if isinstance(space, Interval | Integers):
            numbers.append(0 if value is None else value - space.lattice.low + 1)
        elif isinstance(space, Categories):
            numbers.append(0 if value is None else space.values.index(value) + 1)
        elif isinstance(space, Subsets):
            numbers.append(0 if value is None else len(value) + 1)
            texts.append("\x1f".join(map(str, sorted(value or ()))).encode())
        else:
            numbers.append(int(value is not None))
            texts.append((value or "").encode())
    mixture = sum(number * pow(MULTIPLIER, i + 1, PRIME) for i, number in enumerate(numbers))
    return (mixture + SHIFT) ** 2 % PRIME, numbers, texts


def cell_of(row, cells, schema):
    """The number of the row's cell, None if it is in none."""
    cell = 0
    for key in cells.keys:
        value = row[key.column]
        if value is None or (key.starts is None and value not in key.labels):
            return None
        part = key.labels.index(value) if key.starts is None else sum(value >= start for start in key.starts[1:])
        cell = cell * len(key.labels) + part
    return cell


def holds(condition, row, schema):
    """Whether a bound condition holds."""
    if condition is None:
        return True
    if isinstance(condition, Both):
        return holds(condition.one, row, schema) and holds(condition.other, row, schema)
    if isinstance(condition, Either):
        return holds(condition.one, row, schema) or holds(condition.other, row, schema)
    if isinstance(condition, Negated):
        return not holds(condition.one, row, schema)
    value = row[condition.column]
    if value is None:
        return False
    if isinstance(condition, Between):
        return condition.low <= value <= condition.high
    if isinstance(condition, OneOf):
        return value in condition.labels
    assert isinstance(condition, Contains)
    return condition.item in value


def comparable(engine_answer, statistic):
    """An engine's answer in the reference's form."""
    if isinstance(statistic, Aggregation):
        return [[int(entry) for entry in total] for total in engine_answer]
    if isinstance(statistic, Frequencies):
        cells, values, counts = engine_answer
        triples = list(zip(cells.tolist(), values.tolist(), strict=True))
        assert len(set(triples)) == len(triples)
        return Counter(dict(zip(triples, counts.tolist(), strict=True)))
    texts, counts = engine_answer
    return Counter(dict(zip(texts, counts.tolist(), strict=True)))
