"""Plans whose tables are Spark's or a server's, through the command line: the same files, and no secret anywhere."""

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.engines.servers import on_server
from sfumato.errors import SchemaError
from sfumato.plans import read_plan, write_plan

ROWS = pa.table({"age": [float(20 + i % 50) for i in range(400)], "state": ["CA", "NY"] * 200,
                 "id": list(range(400))})  # fmt: skip
SPARK = 'engine = "spark"\npath = "people"'
SERVER = 'engine = "postgres"\nconnection = "PEOPLE_SERVER"\ntable = "public.people"'
PLAN = """
format = "sfumato-plan/2"

[table]
{place}
dataset = "people"
unit = "row"

[columns]
age = {{ type = "integers", low = 0, high = 120 }}
state = {{ type = "categories", values = ["CA", "NY"] }}

[budget]
epsilon = 300.0
delta = 1e-6

[[release]]
name = "mean age by state"
query = "mean"
column = "age"
by = "state"
spend = {{ epsilon = 100.0 }}
"""
WHOLE = ["--epsilon", "50", "--delta", "1e-7", "--rows", "200"]


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; its exit code and output."""

    def called(*words):
        monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return called


def written(folder, place):
    path = folder / "people.toml"
    path.write_text(PLAN.format(place=place))
    return path


def published(folder):
    """The mean ages of a published plan."""
    release = sf.load(folder / "releases" / "mean-age-by-state.json")
    return [float(value) for value in release.to_pandas()["estimate"]]


# what needs no engine


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ('engine = "postgres"\npath = "postgresql://me:hush@host/db"\ntable = "t"', "table.path holds a password"),
        (
            'engine = "postgres"\npath = "postgresql://host/db?password=hush"\ntable = "t"',
            "table.path holds a password",
        ),
        ('path = "s3://me:hush@bucket/people.parquet"', "table.path holds a password"),
        *(
            (f'engine = "postgres"\npath = "postgresql://{rest}"\ntable = "t"', "table.path holds a password")
            for rest in ("me@h/db?sslpassword=hush", "m#e:hush@h/db", "m?e:hush@h/db", "h/db#x?pass%77ord=hush")
        ),
        ('path = "abfss://c@a/p?client_secret=hush"', "table.path holds a password"),
        ('engine = "postgres"\nconnection = "postgresql://me:hush@host/db"\ntable = "t"', "name of an environment"),
        ('path = "postgresql://reader@host/db"', 'write engine = "postgres"'),
        ('engine = "postgres"\nconnection = "PEOPLE_SERVER"', 'write table = "NAME"'),
        ('engine = "postgres"\ntable = "t"', "where the environment variable NAME"),
        ('engine = "spark"\npath = "p"\ntable = "t"', "give one"),
        ('engine = "spark"', "give one"),
        ('connection = "A"\npath = "p.csv"', 'beside engine = "postgres"'),
        ('engine = "oracle"\ntable = "t"', "must be 'spark' or 'postgres'"),
        ("", 'table.path is missing; add path = "FILE"'),
    ],
)
def test_places_that_a_plan_cannot_have_are_refused_in_words(tmp_path, run, place, words):
    code, out, err = run("preview", written(tmp_path, place))
    assert code == 1
    assert words in " ".join(err.split())
    assert "hush" not in out + err


@pytest.mark.parametrize("place", [SPARK, SERVER, 'engine = "spark"\ntable = "db.people"', 'path = "s3://b/people"'])
def test_previews_are_free_and_reach_for_nothing(tmp_path, run, monkeypatch, place):
    monkeypatch.delenv("PEOPLE_SERVER", raising=False)
    path = written(tmp_path, place)
    code, out, _ = run("preview", path, "--json")
    assert code == 0
    assert json.loads(out)["releases"][0]["name"] == "mean age by state"
    plan = read_plan(path)
    again = read_plan(write_plan(plan, tmp_path / "again.json"))
    assert (again.table, again.schema) == (plan.table, plan.schema)


def test_a_server_whose_address_is_nowhere_is_asked_for_before_anything_is_charged(tmp_path, run, monkeypatch):
    for value, words in ((None, "PEOPLE_SERVER is not set"), ("hush", "PEOPLE_SERVER holds no address")):
        monkeypatch.delenv("PEOPLE_SERVER", raising=False)
        if value is not None:
            monkeypatch.setenv("PEOPLE_SERVER", value)
        for command in ("publish", "check"):
            code, out, err = run(command, written(tmp_path, SERVER))
            assert code == 1
            assert words in " ".join(err.split())
            assert "hush" not in out + err
    assert not (tmp_path / "people.ledger").exists()


def test_drafts_of_several_files_leave_their_dataset_to_be_named(tmp_path, run):
    for place in range(2):
        pq.write_table(ROWS, tmp_path / f"{place}.parquet")
    code, out, _ = run("draft", tmp_path / "*.parquet")
    assert code == 0
    assert 'dataset = "FILL IN"' in out
    assert '[ledger]\npath = "FILL IN"' in out
    code, _, err = run("draft", tmp_path / "0.parquet", "--table", "people")
    assert (code, "holds one alone: leave it out" in " ".join(err.split())) == (1, True)


# PostgreSQL


@pytest.mark.postgres
def test_commands_on_a_server_make_what_files_make(tmp_path, run, server, monkeypatch):
    owner, _ = server
    owner.create_table("people", ROWS, overwrite=True)
    owner.raw_sql("GRANT SELECT ON people TO reader").close()
    monkeypatch.setenv("PEOPLE_SERVER", f"postgresql://reader:hush@/postgres?host={os.environ['SFUMATO_POSTGRES']}")
    path = written(tmp_path, SERVER)
    drafted = run("draft", "--engine", "postgres", "--connection", "PEOPLE_SERVER", "--table", "public.people")
    checked = run("check", path, "--json")
    made = run("publish", path, "--out", tmp_path / "out")
    whole = run("synthesize", path, *WHOLE, "--out", tmp_path / "made.parquet")
    assert [code for code, *_ in (drafted, checked, made, whole)] == [0] * 4
    assert 'connection = "PEOPLE_SERVER"' in drafted[1]
    assert "[columns.age]" in drafted[1]
    assert json.loads(checked[1])["rows"] == 400
    assert published(tmp_path / "out") == pytest.approx([44, 45], abs=1)
    assert pq.read_table(tmp_path / "made.parquet").num_rows == 200
    assert not any("hush" in out + err for _, out, err in (drafted, checked, made, whole))
    assert not any(b"hush" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.postgres
def test_a_fork_that_ends_leaves_its_parent_the_connection_and_names_have_two_parts(server):
    owner, _ = server
    owner.create_table("people", ROWS, overwrite=True)
    address = f"postgresql://postgres@/postgres?host={os.environ['SFUMATO_POSTGRES']}"
    table = on_server(address, "public.people")
    code = f"import os, sys\nfrom sfumato.engines.servers import on_server\nheld = on_server({address!r}, 'people')\n" \
           "child = os.fork()\nif not child:\n    sys.exit()\nos.waitpid(child, 0)\n" \
           "held.get_backend().con.execute('SELECT 1')"  # fmt: skip
    subprocess.run([sys.executable, "-c", code], check=True)
    for name in ("public.other.people", "postgres.public.people"):
        with pytest.raises(SchemaError, match="more than a schema and a table"):
            on_server(address, name)
    table.get_backend().con.close()
    with pytest.raises(SchemaError, match="there is no table"):
        on_server(address, "nothing")


# Spark


@pytest.mark.spark
def test_what_folders_are_called_is_text_on_spark_and_a_path_that_exists_is_no_pattern(tmp_path):
    places = ["months/month=1", "months/month=02", "a[12]", "a1"]
    for place, name in enumerate(places):
        (tmp_path / name).mkdir(parents=True)
        pq.write_table(pa.table({"x": [float(place)]}), tmp_path / name / "0.parquet")
    code = "import sys\nfrom sfumato.engines.spark import held_by, started\nheld = started()\n" \
           "months = held_by(held, sys.argv[1] + '/months', None)\nprint(dict(months.dtypes)['month'])\n" \
           "print(sorted(row['month'] for row in months.collect()))\n" \
           "print([row['x'] for row in held_by(held, sys.argv[1] + '/a[12]', None).collect()])"  # fmt: skip
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.split("\n")[:3] == ["string", "['02', '1']", "[2.0]"], done.stderr[-2000:]


@pytest.mark.spark
def test_commands_on_spark_make_what_files_make(tmp_path):
    (tmp_path / "people").mkdir()
    for place in range(2):
        pq.write_table(ROWS.slice(200 * place, 200), tmp_path / "people" / f"{place}.parquet")
    path = written(tmp_path, SPARK)
    commands = [
        ["draft", str(tmp_path / "people"), "--engine", "spark"],
        ["check", str(path), "--json"],
        ["publish", str(path), "--out", str(tmp_path / "out")],
        ["synthesize", str(path), *WHOLE, "--out", str(tmp_path / "made.parquet")],
    ]
    code = "import sys, json\nfrom sfumato.cli import main\nfor words in json.loads(sys.argv[1]):\n" \
           "    sys.argv = ['sfumato', *words]\n    try:\n        main()\n    except SystemExit as e:\n" \
           "        assert not e.code, e.code\n    print('=====', flush=True)"  # fmt: skip
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", code, json.dumps(commands)]  # one process, and one session that it starts
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    drafted, checked, *_ = done.stdout.split("=====")
    assert 'engine = "spark"' in drafted
    assert "[columns.age]" in drafted
    assert json.loads(checked)["rows"] == 400
    assert published(tmp_path / "out") == pytest.approx([44, 45], abs=1)
    assert pq.read_table(tmp_path / "made.parquet").num_rows == 200


@pytest.mark.spark
def test_paths_on_spark_are_paths(tmp_path):
    from sfumato.engines.spark import held_by, started

    odd = tmp_path / "months [1-9] {a,b} é?"
    for folder in (odd, tmp_path / "months 1 a éx", tmp_path / "mixed"):
        folder.mkdir()
    pq.write_table(ROWS, odd / "a*b.parquet")
    pq.write_table(ROWS.slice(0, 7), odd / "axb.parquet")
    pq.write_table(ROWS.slice(0, 9), tmp_path / "months 1 a éx" / "a.parquet")
    counts = {"": 407, "/a*b.parquet": 400, "/ax*.parquet": 7}
    assert {end: held_by(started(), f"{odd}{end}", None).count() for end in counts} == counts
    pq.write_table(ROWS, tmp_path / "mixed" / "a.parquet")
    texts = ROWS.set_column(ROWS.column_names.index("age"), "age", ROWS["age"].cast("string"))
    pq.write_table(texts, tmp_path / "mixed" / "b.parquet")
    with pytest.raises(SchemaError, match="have the same types"):
        held_by(started(), str(tmp_path / "mixed"), None)


@pytest.mark.spark
@pytest.mark.parametrize("link", ["hardlink_to", "symlink_to"])
def test_a_file_under_two_names_is_refused_on_spark_as_its_rows_would_count_twice(tmp_path, link):
    from sfumato.engines.spark import held_by, started

    (tmp_path / "months").mkdir()
    pq.write_table(ROWS, tmp_path / "months" / "a.parquet")
    (tmp_path / "months" / "_old").mkdir()
    (tmp_path / "months" / "_old" / "a.parquet").hardlink_to(tmp_path / "months" / "a.parquet")  # hidden: no data
    assert held_by(started(), str(tmp_path / "months"), None).count() == ROWS.num_rows
    getattr(tmp_path / "months" / "b.parquet", link)(tmp_path / "months" / "a.parquet")
    for path in ("months", "months/*.parquet", "m*"):
        with pytest.raises(SchemaError, match="named twice"):
            held_by(started(), str(tmp_path / path), None)
    with pytest.raises(SchemaError, match="every worker can see them"):
        held_by(started(), str(tmp_path / "none*"), None)


@pytest.mark.spark
def test_files_of_which_a_log_says_what_counts_are_refused_on_spark(tmp_path):
    from sfumato.engines.spark import held_by, started

    (tmp_path / "months" / "_delta_log").mkdir(parents=True)
    pq.write_table(ROWS, tmp_path / "months" / "a.parquet")
    for path in ("months", "months/*.parquet", "m*"):
        with pytest.raises(SchemaError, match="Delta table"):
            held_by(started(), str(tmp_path / path), None)
    assert held_by(started(), str(tmp_path / "months" / "a.parquet"), None).count() == ROWS.num_rows
