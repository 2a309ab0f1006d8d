#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""grid.py [SCENARIO] - figure: goodput against jitter, a line for each policy.

Prints CSV with a row per run, from a sweep: policy, jitter, seed, goodput.  Without
arguments: two-jobs.ini.
"""
import csv
import os
import sys

import antiphase

HERE = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "two-jobs.ini")

result = antiphase.sweep(path, {"policy": ["fair", "antiphase"],
                                "set.jobs.jitter": ["0%", "2%", "4%"]}, seeds="1..2")
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["policy", "jitter", "seed", "goodput"])
for row in result.cells():
    out.writerow([row["policy"], row["set.jobs.jitter"], row["seed"], row["summary.goodput"]])
