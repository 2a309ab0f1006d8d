#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py JOBS_JSON JOB TRUTH - compares antiphase's figures of a job with the job's
own record, over the same span of time.

Prints "PERIOD_MS OWN_MEDIAN_MS BYTES ITERATIONS CONFIDENCE WINDOW_S", or "none" with
the reason.  The record is in seconds of CLOCK_MONOTONIC (arl.c, ddp.py): TRUTH of rank
0 and, if other ranks wrote theirs, TRUTH.1 and so on.  Ranks do not end an iteration at
the same time, so their iteration times differ; OWN_MEDIAN_MS is the median over all
ranks.
"""
import glob
import json
import statistics
import sys
import time


def begins(file):
    """Returns the begin of each iteration."""
    found = {}
    with open(file, encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if len(words) == 4:
                found.setdefault(int(words[0]), float(words[1]))
    return [found[k] for k in sorted(found)]


def main():
    file, name, truth = sys.argv[1:]
    with open(file, encoding="utf-8") as text:
        answer = json.load(text)
    job = next((j for j in answer["jobs"] if j["job"] == name), None)
    if not job or not job["period_us"]:
        print("none none none 0 0 0", job["why"] if job else
              "no job %s among %s" % (name, [j["job"] for j in answer["jobs"]]))
        return
    wall_minus_monotonic = time.time() - time.monotonic()
    end = (answer["at_us"] - job["age_us"]) / 1e6 - wall_minus_monotonic
    times = []
    for file in [truth] + sorted(glob.glob(glob.escape(truth) + ".[0-9]*")):
        at = [t for t in begins(file) if end - job["window_us"] / 1e6 <= t <= end]
        times += [b - a for a, b in zip(at, at[1:])]
    own = statistics.median(times) if len(times) > 2 else 0
    print("%.2f %.2f %.0f %d %.2f %.1f" % (
        job["period_us"] / 1e3, own * 1e3, job["bytes_per_iteration"], job["iterations"],
        job["confidence"], job["window_us"] / 1e6))


main()
