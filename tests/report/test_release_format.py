"""The documented format of releases is the one that is written, and its example runs."""

import re
from pathlib import Path

import pyarrow as pa

import sfumato as sf

PAGE = (Path(__file__).parents[2] / "docs/formats/release.md").read_text()


def test_the_example_of_the_page_runs():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(block, "release.md", "exec"), {})


def test_every_part_is_documented(tmp_path):
    table = sf.read(pa.table({"age": [1.0, 2.0]}), schema={"age": sf.Interval(0, 9, step=1)}, dataset="d")
    session = sf.Session(table, budget=sf.Pure(3.0), ledger=tmp_path / "l")
    record = session.release(sf.mean("age"), spend=sf.Pure(1.0)).to_record()
    documented = re.findall(r"^\| `(\w+)` \| (?:text|object|list|number)", PAGE, re.MULTILINE)
    assert [part for part in documented if part != "stated"] == list(record)  # `stated` is for disputed releases alone
    for part in record["provenance"]:
        assert f"`{part}`" in PAGE
    counted = session.release(sf.count(), spend=sf.Pure(1.0)).to_record()
    for part in counted["certificate"]:
        assert f"`{part}`" in PAGE
