#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""timeline.py [SCENARIO] - figure: use of links over time.

Prints CSV: link, time_ms, used (share of the capacity), over (share of the time in which
demand exceeded it).  Without arguments: the first ten iterations of two-jobs.ini.
"""
import csv
import os
import sys

import antiphase

HERE = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "two-jobs.ini")

result = antiphase.run(path, series=True, iterations=10)
step_us = result["series"]["step_us"]
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["link", "time_ms", "used", "over"])
for row in result.table("series.links"):
    for i, (used, over) in enumerate(zip(row["permille"], row["over_permille"])):
        out.writerow([row["link"], i * step_us / 1000, used / 1000, over / 1000])
