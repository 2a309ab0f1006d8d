#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stalls.py [FILE.csv] - jitter and stalls of a scenario, fitted to recorded times.

Each line of the file has the times, in seconds, at which an iteration began and ended, in
the columns iteration_start_s and iteration_end_s; '-' is standard input.  Without
arguments: busy-iterations.csv.

The model is that of antiphase-scenario(5): a normal time, and with some probability a
stall, whose length is exponential.  A stall that exceeds a bound exceeds it by the mean
stall, however high the bound is.  So the mean stall is the mean excess over a bound that
the normal time hardly reaches, and the share follows from the number of times above it.

Prints CSV: one row for the fit, one for a normal time without stalls.  The fit uses every
second iteration; 'distance' is the largest difference between its distribution and that of
the other iterations (Kolmogorov and Smirnov's), 'chance' the value that 19 of 20 samples
of this size would have stayed below if the model were exact.
"""
import csv
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def quantile(sorted_values, frac):
    at = frac * (len(sorted_values) - 1)
    low = int(at)
    high = min(low + 1, len(sorted_values) - 1)
    return sorted_values[low] + (at - low) * (sorted_values[high] - sorted_values[low])


def normal_below(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def below(x, center, sd, share, stall):
    """The model's share of times below x."""
    z = (x - center) / sd
    if not share:
        return normal_below(z)
    # Normal and exponential together; the product is bounded, its factors are not.
    log_tail = sd * sd / (2 * stall * stall) - (x - center) / stall
    tail = normal_below(z - sd / stall)
    both = normal_below(z) - (math.exp(log_tail + math.log(tail)) if tail > 0 else 0)
    return (1 - share) * normal_below(z) + share * max(both, 0)


def normal(times):
    mean = sum(times) / len(times)
    return mean, math.sqrt(sum((t - mean) ** 2 for t in times) / (len(times) - 1)), 0.0, 0.0


def fit(times):
    """Center, standard deviation, share of stalls, mean stall; in the unit of 'times'."""
    times = sorted(times)
    share, stall = 0.0, 0.0
    for _ in range(20):
        calm = 1 - share
        center = quantile(times, 0.5 * calm)
        sd = max((center - quantile(times, 0.1587 * calm)), 1e-6 * center)
        over = [t - center - 3 * sd for t in times if t > center + 3 * sd]
        if len(over) < 3:
            return normal(times)
        stall = sum(over) / len(over)
        reaches = math.exp(min(0, sd * sd / (2 * stall * stall) - 3 * sd / stall))
        share = min(len(over) / len(times) / reaches, 0.5)
    return center, sd, share, stall


def distance(times, model):
    times, worst = sorted(times), 0
    for i, t in enumerate(times):
        share = below(t, *model)
        worst = max(worst, share - i / len(times), (i + 1) / len(times) - share)
    return worst


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "..", "busy-iterations.csv")
    with sys.stdin if path == "-" else open(path, encoding="utf-8", newline="") as file:
        ms = [1e3 * (float(row["iteration_end_s"]) - float(row["iteration_start_s"]))
              for row in csv.DictReader(file)]
    if len(ms) < 40:
        sys.exit(f"stalls.py: {path} has {len(ms)} iterations; at least 40 are needed")
    known, other = ms[::2], ms[1::2]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "compute_ms", "jitter", "stall_share", "stall_ms", "distance", "chance"])
    for name, model in (("stalls", fit(known)), ("normal", normal(known))):
        center, sd, share, stall = model
        out.writerow([name, f"{center:.2f}", f"{100 * sd / center:.2f}%", f"{100 * share:.1f}%",
                      f"{stall:.1f}", f"{distance(other, model):.3f}",
                      f"{1.36 / math.sqrt(len(other)):.3f}"])


main()
