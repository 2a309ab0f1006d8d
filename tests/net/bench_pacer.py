#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_pacer.py DIR PAIRS ORDERS - prints the measurements of bench_pacer.sh.

DIR has truth.HOW.NUMBER and out.HOW.NUMBER of each run; HOW is with or without.  The
exit status is 1 if the job waited for an order, or had no pacer.
"""
import os
import re
import statistics
import sys

from demo_figures import ci95, iterations_of, quantile, read_rows, summary

SKIPPED = 10  # First iterations, in which TCP windows grow and the pacer learns.
SAID = re.compile(r"antiphase: (\d+) iterations .*, (\d+) orders .*, (\d+) waits")


def figures(folder, how, number):
    rows = read_rows(os.path.join(folder, "truth.%s.%d" % (how, number)))
    times = [ms for _, _, ms in iterations_of(rows)[SKIPPED:]]
    return dict(summary(times), p10_ms=quantile(times, 0.1))


def told(folder, number):
    """Returns iterations, orders and waits as the pacer reports them, or None."""
    with open(os.path.join(folder, "out.with.%d" % number)) as file:
        found = SAID.search(file.read())
    return [int(n) for n in found.groups()] if found else None


def main():
    folder, pairs, announced = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    runs = {how: [figures(folder, how, i) for i in range(pairs)] for how in ("with", "without")}
    print("pacer: %d pairs of runs of a job that is alone, %d iterations each, under "
          "antiphase-scheduler in enforce" % (pairs, runs["with"][0]["iterations"]))
    # Other load can only lengthen iterations, so the first decile varies least.
    for key, name in (("mean_ms", "mean"), ("p50_ms", "median"), ("p10_ms", "decile")):
        mine, plain = [[run[key] for run in runs[how]] for how in ("with", "without")]
        apart = [a - b for a, b in zip(mine, plain)]
        print("  an iteration, %-6s with %.3f ms, without %.3f ms: %+.3f ms +- %.3f "
              "(95 %%), %+.3f %%" % (name, statistics.mean(mine), statistics.mean(plain),
                                     statistics.mean(apart), ci95(apart) or 0,
                                     100 * statistics.mean(apart) / statistics.mean(plain)))
    said = [told(folder, i) for i in range(pairs)]
    if None in said:
        print("  a pacer said nothing: was it loaded?")
        return 1
    iterations, orders, waits = [sum(column) for column in zip(*said)]
    print("  its pacer told of %d iterations; %d orders were announced, %d came, %d were "
          "waited for" % (iterations, announced, orders, waits))
    return waits > 0 or iterations == 0


if __name__ == "__main__":
    sys.exit(main())
