#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""policies.py [SCENARIO] - figure: bars of policies with 95 % confidence intervals.

Prints CSV: policy, a metric's mean and half width.  Without arguments: two-jobs.ini.
"""
import csv
import os
import sys

import antiphase

HERE = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "two-jobs.ini")

result = antiphase.compare(path, policies=["fair", "cassini", "antiphase"], seeds="1..5")
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["policy", "slowdown_mean", "slowdown_ci95", "goodput_mean", "goodput_ci95"])
for row in result.table("policies"):
    out.writerow([row["policy"], row["slowdown_mean.mean"], row["slowdown_mean.ci95"],
                  row["goodput.mean"], row["goodput.ci95"]])
