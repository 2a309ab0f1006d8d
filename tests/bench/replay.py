#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""replay.py - the run time in seconds and peak memory of replaying published traces.

The traces are in ../shared/data; the output names those that are missing.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACES = os.path.join(ROOT, "..", "shared", "data", "traces")
SIM = os.path.join(ROOT, os.environ.get("B", "build/release"), "antiphase-sim")
MURI = "muri/muri_traces.tar.xz:simulator/trace-data/trace3.csv"
CASES = [
    ("Muri trace 3, srtf, 8x8", MURI, "-c 8x8 -p srtf --semantics muri", "0.1 s"),
    ("Philly, 2d-las, 300x8", "philly/philly_82k.csv.gz", "-c 300x8 -p 2d-las",
     "20 s, 500 MB"),
    ("Philly, 2d-las, 64x8", "philly/philly_82k.csv.gz", "-c 64x8 -p 2d-las", "-"),
    ("Philly, fifo, 48x8", "philly/philly_82k.csv.gz", "-c 48x8 -p fifo", "-"),
]


def main():
    print(f"{'REPLAY':26} {'JOBS':>6} {'EVENTS':>8} {'SECONDS':>8} {'US/EVENT':>8} "
          f"{'PEAK MB':>8}  BAR")
    for name, trace, options, bar in CASES:
        path = os.path.join(TRACES, trace)
        if not os.path.exists(path.split(":")[0]):
            print(f"{name:26} needs ../shared/data: {trace}")
            continue
        child = subprocess.Popen([SIM, "replay", path, "--json", *options.split()],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        out = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            return 1
        document = json.loads(out)
        policy = document["policies"][0]
        print(f"{name:26} {document['n_jobs']:6} {policy['n_events']:8} "
              f"{policy['wall_s']:8.3f} {1e6 * policy['wall_s'] / policy['n_events']:8.2f} "
              f"{usage.ru_maxrss / 1024:8.1f}  {bar}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
