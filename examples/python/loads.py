#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""loads.py - figure: the load of each link by the collective of a job.

Makes a fabric from Python data, two racks with two hosts each under one spine.  Prints
CSV: collective, link, factor (rate on the link over the rate of an interface).
"""
import csv
import sys

import antiphase

hosts = [f"h{i}" for i in range(4)]
fabric = antiphase.Fabric.of_cables(
    switches={"leaf0": 1, "leaf1": 1, "spine0": 2}, hosts=hosts,
    cables=[(host, f"leaf{i // 2}", 100) for i, host in enumerate(hosts)]
    + [("leaf0", "spine0", 100), ("leaf1", "spine0", 100)])

out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["collective", "link", "factor"])
for collective in ("ring", "tree", "all-to-all", "hierarchical"):
    for row in fabric.links_of(hosts, collective=collective).table("links"):
        out.writerow([collective, row["link"], row["factor"]])
