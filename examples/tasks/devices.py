"""Telemetry without trust: each device randomizes, and only what it sends is counted."""

import pandas as pd

import sfumato as sf

shops = sf.local.collect("shop", ["north", "south", "web"], spend=1.0, people=3000)
reports = [sf.local.Client(shops).report(shop) for shop in pd.read_csv("visits.csv")["shop"]]
print(sf.local.estimate(shops, reports))
