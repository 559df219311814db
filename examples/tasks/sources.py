"""Where tables lie: several Parquet files, a lazy frame of Polars, a database of SQL."""

import sqlite3

import pandas as pd
import polars as pl

import sfumato as sf

rows = pd.read_sql("select paid from visits", sqlite3.connect("visits.db"))
for source in ["months/*.parquet", pl.scan_parquet("visits.parquet"), rows]:
    table = sf.read(source, schema={"paid": sf.Interval(0, 500)}, dataset="visits", version=type(source).__name__)
    print(sf.Session(table, budget=3.0, ledger="sources.ledger").release(sf.mean("paid"), spend=1.0))
