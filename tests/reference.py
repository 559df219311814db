"""A slow engine that is easy to believe: plain Python over a list of rows, coerced by `space.coerce` alone."""

import dataclasses
import math
from collections import Counter
from fractions import Fraction

from sfumato.engines.bounding import MULTIPLIER, PRIME, SHIFT
from sfumato.privacy.adjacency import Person
from sfumato.queries.aggregation import Aggregation, Frequencies
from sfumato.queries.limits import ends_of
from sfumato.queries.predicates import Between, Both, Contains, Either, Missing, Negated, OneOf, Starts
from sfumato.spaces import Box, Categories, Dates, Integers, Interval, Subsets, TimeOfDay, codes


def answer(rows, statistic, schema, computed=None):
    """Totals as lists, or a Counter of (cell, value), or a Counter of texts.

    `computed` maps the names of derived columns to functions of a row of plain values.
    """
    return answered(counted(rows, schema), statistic, schema, computed)


def answered(bounded, statistic, schema, computed=None):
    """The same from rows that are coerced and bounded already."""
    kept = [row | derived(row, schema, computed) for row in bounded] if computed else bounded
    kept = [row for row in kept if holds(statistic.where, row, schema)]
    limited = isinstance(schema.unit, Person) and schema.unit.groups is not None
    if limited and isinstance(statistic, Aggregation):
        return within_groups(kept, statistic, schema)
    if isinstance(statistic, Aggregation):
        totals = [[0] * statistic.cells.count for _ in statistic.measures]
        for row in kept:
            cell = cell_of(row, statistic.cells, schema)
            for total, measure in zip(totals, statistic.measures, strict=True):
                if cell is not None:
                    total[cell] += summand(row, measure, schema)
        return totals
    if isinstance(statistic, Frequencies):
        return frequencies(kept, statistic, schema)
    holders = {(number if row["_unit"] is None else row["_unit"], row[statistic.column])
               for number, row in enumerate(kept)}  # fmt: skip
    return Counter(text for _, text in holders if text is not None)


def summand(row, measure, schema):
    """What a row adds to a measure."""
    factors = [(row[column], schema.space(column), power) for column, power in measure.factors]
    if any(value is None for value, _, _ in factors) or not holds(measure.where, row, schema):
        return 0
    return math.prod((value - space.lattice.low) ** power if power else 1 for value, space, power in factors)


def within_groups(kept, statistic, schema):
    """Totals of what counts of each person in each of its first groups; rows come in the order of their places."""
    unit, totals, people = schema.unit, [[0] * statistic.cells.count for _ in statistic.measures], {}
    for row in kept:
        cell = cell_of(row, statistic.cells, schema)
        if cell is not None:
            people.setdefault(row["_unit"], {}).setdefault(cell, []).append(row)
    for groups in people.values():
        for cell, own in list(groups.items())[: unit.groups]:
            for total, measure in zip(totals, statistic.measures, strict=True):
                if unit.total is not None:
                    low, high = ends_of(schema, measure.column)
                    added = sum(row[measure.column] for row in own if row[measure.column] is not None)
                    total[cell] += min(max(added, low), high) - low if measure.power else 1
                    continue
                total[cell] += sum(summand(row, measure, schema) for row in own[: unit.rows])
    return totals


def frequencies(kept, statistic, schema):
    """How often each value, or position of an item, occurs in each cell."""
    if statistic.column is None:
        numbers = Counter(row["_unit"] for row in kept)
        return Counter((0, min(rows, int(schema.unit.total[1]))) for rows in numbers.values())
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


def derived(row, schema, computed):
    """The derived columns of a row, from its coerced values as plain ones."""
    plain = {}
    for name, space in schema.columns.items():
        value = row[name]
        if isinstance(space, Dates):
            plain[name] = None if value is None else space.date(value)
        elif isinstance(space, Interval | Integers):
            plain[name] = None if value is None else float(value * space.lattice.step)
        else:
            plain[name] = value
    plain["blank"] = row["_blank"]
    values = {name: function(plain) for name, function in computed.items()}
    row["_blank"] |= {name: value is None for name, value in values.items()}
    return {name: coerced(value, schema.space(name)) for name, value in values.items()}


def blank(value, space):
    """Whether nothing stands there, before `missing` takes its place; an unknown category is something."""
    if isinstance(space, Categories):
        return codes.blank(value) or space._coded(value)
    if isinstance(space, Interval | Integers | TimeOfDay) and space.missing is not None:
        space = dataclasses.replace(space, missing=None)
    return space.coerce(value) is None


def counted(rows, schema):
    """The coerced rows; of each person, the first m by the public order.  Numbers become lattice indices.

    Rows with the same numbers are told apart by whether anything stands in each column, then by their texts.
    """
    people, plain = {}, []
    for raw in rows:
        flat = {name: stored(raw, path) for name, path in schema.paths.items()}
        row = {name: coerced(flat[name], space) for name, space in schema.held.items()}
        row["_blank"] = {name: blank(flat[name], space) for name, space in schema.held.items()}
        row |= {f"{name}[{i}]": entry for name, space in schema.held.items() if isinstance(space, Box)
                for i, entry in enumerate(row[name] or [None] * space.size)}  # fmt: skip
        row["_unit"] = raw[schema.unit.column] if isinstance(schema.unit, Person) else None
        plain.append(row)
        people.setdefault(row["_unit"], []).append(row)
    if not isinstance(schema.unit, Person):
        return plain
    people.pop(None, None)
    most = schema.unit.rows if schema.unit.groups is None else None

    def order(row):
        mixture, numbers, texts = place(row, schema)
        return mixture, numbers, [row["_blank"][name] for name in schema.held], texts

    return [row for own in people.values() for row in sorted(own, key=order)[:most]]


def stored(row, path):
    """The value at a path of names; None where nothing, or no mapping, is on the way."""
    for name in path:
        row = row.get(name) if isinstance(row, dict) else None
    return row


def coerced(value, space):
    """`space.coerce`, with a number as the index of its point, and an array as those of its entries."""
    point = space.coerce(value)
    if isinstance(space, Box):
        return None if point is None else tuple(round(Fraction(entry) / space.entries.step) for entry in point)
    if isinstance(space, TimeOfDay):
        return None if point is None else round(Fraction(space.number(point)) / space.lattice.step)
    if isinstance(space, Dates) and point is not None:
        return space.number(point)
    if point is None or not isinstance(space, Interval | Integers):
        return point
    return space.number(point) if isinstance(space, Dates) else round(Fraction(point) / space.lattice.step)


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
    for name, space in schema.held.items():
        value = row[name]
        if isinstance(space, Box):
            above = [] if value is None else [entry - space.entries.low for entry in value]
            numbers.append(0 if value is None else sum(above) + 1)
            texts.append("\x1f".join(map(str, above)).encode())
        elif isinstance(space, Interval | Integers | TimeOfDay):
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
    if isinstance(condition, Missing):
        return row["_blank"][condition.column]
    value = row[condition.column]
    if value is None:
        return False
    if isinstance(condition, Between):
        return condition.low <= value <= condition.high
    if isinstance(condition, OneOf):
        return value in condition.labels
    if isinstance(condition, Starts):
        return value[: len(condition.prefix)] == condition.prefix
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
