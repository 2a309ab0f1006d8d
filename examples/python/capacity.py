#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""capacity.py [PROFILE...] - figure: how well jobs fit on a link, against its capacity.

Prints CSV: capacity_gbps and the score with the best shifts, with random phases, and with
all jobs in phase.  Without arguments: vgg16.json and wideresnet.json.
"""
import csv
import os
import sys

import antiphase

HERE = os.path.dirname(os.path.abspath(__file__))
profiles = sys.argv[1:] or [os.path.join(HERE, "..", name)
                            for name in ("vgg16.json", "wideresnet.json")]

out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["capacity_gbps", "score", "score_chance", "score_unshifted"])
for capacity_gbps in range(30, 101, 10):
    result = antiphase.compat(profiles, capacity_gbps)
    out.writerow([capacity_gbps, result["score"], result["score_chance"],
                  result["score_unshifted"]])
