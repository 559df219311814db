"""A draft takes what is public from a codebook, and leaves the rest blank."""

from __future__ import annotations

import tomllib

import pytest

import sfumato as sf
from sfumato.plans import BLANK

CODEBOOK = """column,type,low,high,step,values,unit
age,,0,120,,,
salary,,0,200000,0.5,,
sex,,,,,F | M,
paid,,,,,False|True,
grade,,,,,1|2|3,
joined,,2020-01-01,2021-12-31,,,
stayed,,0,240,,,minutes
weight,interval,30,,,,
elsewhere,,0,1,,,
"""
HEADER = "age,salary,sex,paid,grade,joined,stayed,weight,note\n"


def test_a_codebook_fills_in_what_it_says(place, run):
    (place / "p.csv").write_text(HEADER + "17,1,F,True,2,2020-05-05,3,70,Zanzibar\n")
    (place / "bounds.csv").write_text(CODEBOOK)
    done = run("draft", "p.csv", "--header", "--codebook", "bounds.csv")
    assert done.code == 0
    columns = tomllib.loads(done.out)["columns"]
    assert columns["weight"] == {"type": "interval", "low": 30, "high": BLANK}
    assert columns["note"] == {"type": BLANK}
    assert "Zanzibar" not in done.out
    assert "elsewhere" not in columns
    known = {name: sf.spaces.space_from(part, name) for name, part in columns.items() if name not in ("weight", "note")}
    assert known == {
        "age": sf.Integers(0, 120), "salary": sf.Interval(0, 200_000, step=0.5), "sex": sf.Categories(["F", "M"]),
        "paid": sf.Categories([False, True]), "grade": sf.Categories([1, 2, 3]),
        "joined": sf.Dates("2020-01-01", "2021-12-31"), "stayed": sf.Duration(0, 240, "minutes"),
    }  # fmt: skip


def test_the_items_of_sets_are_written_as_plans_name_them(place, run):
    (place / "bounds.csv").write_text("column,items,cap\nhobbies,chess|judo,2\n")
    done = run("draft", "people.parquet", "--codebook", "bounds.csv")
    said = tomllib.loads(done.out)["columns"]["hobbies"]
    assert sf.spaces.space_from(said, "hobbies") == sf.Subsets(["chess", "judo"], cap=2)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name,low\nage,0\n", "must name column"),
        ("column,lowest\nage,0\n", "'lowest' is none of them"),
        ("column,low\nage\n", "line 2"),
        ("column,low\nage,0\nage,1\n", "line 3"),
        ("column,type\nage,number\n", "no type 'number'"),
        ("", "must name column"),
    ],
)
def test_a_codebook_that_is_none_is_refused_by_what_is_wrong(place, run, text, reason):
    (place / "bounds.csv").write_text(text)
    done = run("draft", "people.parquet", "--codebook", "bounds.csv", "--out", "new.toml")
    assert done.code != 0
    assert reason in " ".join(done.err.split())
    assert not (place / "new.toml").exists()
    assert run("draft", "people.parquet", "--codebook", "missing.csv").code != 0


def test_hostile_cells_stay_texts(place, run):
    cell = 'x"]\\nspend = 1 \x1b[2J'
    (place / "bounds.csv").write_text(f'column,values\nage,"{cell.replace(chr(34), chr(34) * 2)}|b"\n')
    done = run("draft", "people.parquet", "--codebook", "bounds.csv")
    assert tomllib.loads(done.out)["columns"]["age"]["values"] == [cell, "b"]
    assert "\x1b" not in done.out


def test_a_list_with_another_sign_between_its_members_is_doubted(place, run):
    (place / "p.csv").write_text("sex,job,note\nF,a,b\n")
    (place / "bounds.csv").write_text('column,values\nsex,F;M\njob,"a, b | c"\nnote,"x,y"\nelsewhere,p;q\n')
    done = run("draft", "p.csv", "--header", "--codebook", "bounds.csv")
    assert done.code == 0
    assert tomllib.loads(done.out)["columns"]["sex"]["values"] == ["F;M"]
    assert "values of 'sex', values of 'note' became a single member" in done.err
    assert "write | between them" in done.err
    (place / "bounds.csv").write_text("column,values\nsex,F|M\n")
    assert not run("draft", "p.csv", "--header", "--codebook", "bounds.csv").err


def test_an_empty_codebook_is_one_that_can_be_read(place, run):
    (place / "p.csv").write_text('sex,"first, name"\nF,Zanzibar\n')
    assert run("draft", "p.csv", "--template").code == 1
    done = run("draft", "p.csv", "--header", "--template", "--out", "empty.csv")
    assert done.code == 0, done.err
    assert "sfumato draft p.csv --header --codebook empty.csv" in " ".join(done.out.split())
    text = (place / "empty.csv").read_text()
    assert text.startswith("column,type,low,high,")
    assert "Zanzibar" not in text
    filled = text.replace("sex,,,,,", "sex,,,,,F | M")
    (place / "filled.csv").write_text(filled)
    said = tomllib.loads(run("draft", "p.csv", "--header", "--codebook", "filled.csv").out)["columns"]
    assert said["sex"] == {"type": "categories", "values": ["F", "M"]}
    assert set(said) == {"sex", "first, name"}
