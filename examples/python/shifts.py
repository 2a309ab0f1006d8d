#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shifts.py [SCENARIO [JOB]] - figure: iteration time against the shift of one job.

Prints CSV: shift_ms, job, iteration_mean_ms.  Without arguments: job B of two-jobs.ini.
"""
import csv
import os
import sys

import antiphase

HERE = os.path.dirname(os.path.abspath(__file__))
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "two-jobs.ini")
job = sys.argv[2] if len(sys.argv) > 2 else "B"

scenario = antiphase.Scenario.load(path)
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["shift_ms", "job", "iteration_mean_ms"])
for shift_ms in range(0, 46, 5):
    scenario.sections["job " + job]["shift"] = f"{shift_ms} ms"
    for row in antiphase.run(scenario).table("jobs"):
        out.writerow([shift_ms, row["job"], round(row["iteration_mean_us"] / 1000, 3)])
