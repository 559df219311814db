"""Text files: whatever the bytes, one physical line is one row, and a row depends on its own line alone."""

import gzip
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import reference
import sfumato as sf
from sfumato.engines import text
from sfumato.errors import SchemaError
from sfumato.queries import bind, count, sum
from sfumato.release import Release

HOSTILE = [b",", b'"', b'""', b"\r", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xe2\x82", b"\xc3\xa9", b"\x00", b"a",
           b" 1", b"\\", b"\t", b"\xef\xbb\xbf", b"#", b"'", b"\x0b", b"\x0c", b"\xc2\x85", b"\xe2\x80\xa8",
           b"\x1a"]  # fmt: skip
GOOD = st.sampled_from([b"1,2", b'"1","2"', b'"1,5",2', b',""', b"1,a", b'"a""b",x"y', b"\xc3\xa9,2"])
LINE = st.one_of(GOOD, st.lists(st.sampled_from(HOSTILE), max_size=6).map(b"".join),
                 st.binary(max_size=8).map(lambda data: data.replace(b"\n", b"")))  # fmt: skip
LINES = st.lists(LINE, min_size=1, max_size=12)
FEW = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def plain(line, separator, width):
    """The rule in plain Python: the fields of one line, or None for a row of missing values."""
    try:
        held = line.removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        return None
    found, rest = [], held + separator
    while rest:
        if rest[0] == '"':
            end = re.match(r'"((?:[^"]|"")*)"' + separator, rest)
            if end is None:
                return None
            found.append(end[1].replace('""', '"'))
            rest = rest[end.end() :]
        else:
            field, _, rest = rest.partition(separator)
            found.append(field)
    return found if len(found) == width and "\r" not in held else None


def rows_of(path, separator=",", quoted_lines=False):
    """Every row as a tuple of texts, null as None."""
    held = text.names(path, separator)
    table = text.batches(path, separator, {name: name for name in held}, quoted_lines).read_all()
    return [tuple(row.values()) for row in table.to_pylist()]


def expected(lines, separator, width):
    rows = [plain(line, separator, width) for line in lines]
    return [tuple(field or None for field in row) if row else (None,) * width for row in rows]


@FEW
@given(lines=LINES, ended=st.booleans(), form=st.sampled_from(["csv", "tsv", "csv.gz"]), width=st.integers(1, 3))
@example(lines=[b""], ended=True, form="csv", width=1)
@example(lines=[b"", b""], ended=False, form="csv", width=2)
@example(lines=[b"\xef\xbb\xbf1,2"], ended=False, form="csv", width=2)
@example(lines=[b'1,"a', b'2,b"'], ended=True, form="csv", width=2)
def test_every_line_is_a_row_and_every_row_its_line_s(lines, ended, form, width, tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / f"a.{form}"
    separator = "\t" if form == "tsv" else ","
    lines = [line.replace(b",", separator.encode()) for line in lines]
    header = separator.join(f"c{place}" for place in range(width)).encode()
    content = b"\n".join([header, *lines]) + (b"\n" if ended or not lines[-1] else b"")
    path.write_bytes(gzip.compress(content) if form.endswith("gz") else content)
    assert rows_of(path, separator) == expected(lines, separator, width)


@settings(FEW, max_examples=60)
@given(lines=LINES, other=LINE, data=st.data(), block=st.integers(1, 20))
def test_another_line_changes_that_row_only_wherever_blocks_end(lines, other, data, block, tmp_path_factory, request):
    place = data.draw(st.integers(0, len(lines) - 1))
    path, found = tmp_path_factory.mktemp("text") / "a.csv", []
    kept, text.BLOCK = text.BLOCK, block
    try:
        for held in (lines, [*lines[:place], other, *lines[place + 1 :]], [*lines[:place], *lines[place + 1 :]]):
            path.write_bytes(b"x,y\n" + b"".join(line + b"\n" for line in held))
            found.append(rows_of(path))
    finally:
        text.BLOCK = kept
    one, changed, removed = found
    assert len(one) == len(changed) == len(removed) + 1 == len(lines)
    assert one[:place] + one[place + 1 :] == changed[:place] + changed[place + 1 :] == removed
    assert one == expected(lines, ",", 2)


def test_long_lines_are_rows_like_others_up_to_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LONGEST", 1000)
    for block in (64, 900, 1 << 22):
        monkeypatch.setattr(text, "BLOCK", block)
        lengths = [10, 998, 999, 1000, 5000, 20]  # of the line without its end
        lines = [b"1," + b"z" * (length - 2) for length in lengths]
        path = tmp_path / "a.csv"
        path.write_bytes(b"x,y\n" + b"\n".join(lines) + b"\n")
        assert [row[0] for row in rows_of(path)] == ["1", "1", "1", None, None, "1"]


@pytest.mark.parametrize("quoted_lines", [False, True])
def test_a_quote_crosses_a_line_end_only_where_that_is_declared(quoted_lines, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'x,y\n1,"a\nb"\n2,c\n3,"d\n4,e\n')
    joined = [("1", "a\nb"), ("2", "c"), (None, None)]
    apart = [(None, None), (None, None), ("2", "c"), (None, None), ("4", "e")]
    assert rows_of(path, quoted_lines=quoted_lines) == (joined if quoted_lines else apart)
    schema = {"x": sf.Interval(0, 10, 1, missing=0)}
    table = sf.read(path, schema=schema, quoted_lines=quoted_lines, adjacency="replace", size=3 if quoted_lines else 5)
    assert table.schema.to_record().get("quoted_lines", False) == quoted_lines
    assert type(table.schema).from_record(table.schema.to_record()) == table.schema


def test_the_guarantee_says_that_quotes_may_join_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\n1\n2\n")
    for joined in (False, True):
        table = sf.read(path, schema={"x": sf.Interval(0, 10, 1)}, quoted_lines=joined, dataset="d")
        session = sf.Session(table, budget=sf.Pure(1.0), ledger=tmp_path / f"{joined}.ledger")
        release = session.release(sf.count(), spend=sf.Pure(0.5))
        assert isinstance(release, Release)
        assert ("quotes may join lines" in str(release.provenance.unit)) == joined


@settings(FEW, max_examples=12)
@given(lines=LINES, place=st.integers(0, 12))
def test_one_row_s_bytes_move_a_count_and_a_sum_by_one_row_at_most(lines, place, tmp_path_factory):
    path, found = tmp_path_factory.mktemp("text") / "a.csv", []
    for held in (lines, [*lines[:place], *lines[place + 1 :]]):
        path.write_bytes(b"x,y\n" + b"".join(line + b"\n" for line in held))
        table = sf.read(path, schema={"x": sf.Interval(0, 10, 1), "y": sf.Texts(9)}, dataset="d")
        for question in (count(), sum("x")):
            statistic = bind(question, table.schema).statistic
            found.append(reference.comparable(table.answer(statistic), statistic)[-1][0])
    assert found[0] - found[2] == len(lines) - len([*lines[:place], *lines[place + 1 :]])
    assert 0 <= found[1] - found[3] <= 10


@pytest.mark.parametrize("kept", [10, 200, -1, -9])
def test_a_damaged_file_is_found_before_anything_is_charged(kept, tmp_path):
    packed = gzip.compress(b"x\n" + b"".join(b"%d\n" % (i * 7919 % 1000) for i in range(5000)))
    path = tmp_path / "a.csv.gz"
    path.write_bytes(packed[:kept])
    with pytest.raises(SchemaError, match=r"cannot be read.*complete") as caught:
        sf.read(path, schema={"x": sf.Interval(0, 10, 1)})
    assert caught.value.__context__ is None
    broken = bytearray(packed)
    broken[len(packed) // 2] ^= 255
    path.write_bytes(broken)
    with pytest.raises(SchemaError, match="cannot be read"):
        sf.read(path, schema={"x": sf.Interval(0, 10, 1)})


@pytest.mark.parametrize("name", ["p[1].csv", "p*.csv", "p?.csv", "a b'\".csv", "{a,b}.csv"])
def test_a_path_is_a_path_and_no_pattern(name, tmp_path):
    (tmp_path / "p1.csv").write_text("x\n1\n1\n")
    (tmp_path / name).write_text("x\n5\n")
    table = sf.read(tmp_path / name, schema={"x": sf.Interval(0, 10, 1)}, dataset="d")
    statistic = bind(sum("x"), table.schema).statistic
    assert reference.comparable(table.answer(statistic), statistic) == [[1], [5]]


def test_a_large_file_is_read_in_bounded_pieces(tmp_path, monkeypatch):
    path, seen, read = tmp_path / "a.csv", [], text._read
    path.write_bytes(b"x,y\n" + b"12345,abcdefgh\n" * 400_000)
    monkeypatch.setattr(text, "BLOCK", 1 << 18)
    monkeypatch.setattr(text, "_read", lambda block, *rest: seen.append(len(block[0])) or read(block, *rest))
    table = sf.read(path, schema={"x": sf.Interval(0, 10, 1)}, adjacency="replace", size=400_000)
    assert len(table.schema.columns) == 1
    assert max(seen) < 2 * text.BLOCK


@pytest.mark.parametrize(
    ("content", "quoted_lines", "counts"),
    [
        (b'a,b\n1,x\n2,"y"\n', False, (0, 0, 0)),
        (b'a,b\n1,"x\ny"\n2,z\n', False, (2, 2, 0)),
        (b'a,b\n1,"x\n\ny"\n2,z\n', False, (3, 2, 0, 1)),
        (b'a,b\n1,"x\ny"\n2,z\n', True, (0, 0, 0)),
        (b'a,b\n1,"x\n2,z\n3,z\n', True, (1, 1, 0)),
        (b"a,b\n1,\xe9\n2,z\n3\n", False, (2, 0, 1)),
        (b'a\n"x\ny"\n\xff\n', False, (2, 1, 1)),  # y" is a value
        (b"a,b\n", False, (0, 0, 0)),
        (b"a,b\r\n1,x\r\n\r\n2,y\r\n", False, (1, 0, 0, 1)),
    ],
)
def test_rows_that_are_missing_for_how_lines_are_written_are_counted(content, quoted_lines, counts, tmp_path):
    path = tmp_path / "held.csv"
    path.write_bytes(content)
    assert text.unread(path, ",", quoted_lines) == text.Unread(*counts)


def test_unread_rows_are_counted_across_blocks(tmp_path, monkeypatch):
    path = tmp_path / "held.csv"
    path.write_bytes(b"a,b\n" + b'1,"x\ny"\n2,z\n3,\xff\n' * 40)
    whole = text.unread(path, ",")
    monkeypatch.setattr(text, "BLOCK", 7)
    assert text.unread(path, ",") == whole == text.Unread(120, 80, 40)
