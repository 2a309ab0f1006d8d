# SPDX-License-Identifier: Apache-2.0
"""demo_figures.py - figures of a run of demo_live.sh, computed from its truth files.

A truth file has a line for each iteration (arl.c): its number, and in seconds the begin
of computing and the begin and end of the all-reduce.  All functions are pure, except
those that read files.

settled: the earliest time after which, until the end, the mean of any WINDOW
consecutive iterations of every job is at most NEAR times their isolated time.
settled again: the same, counted since a job began to compute longer.
first path: the time until a flow is ordered to take another path.
overlap: the time in which two or more jobs are in their all-reduce.
"""
import math
import os
import re
import statistics
import typing

WINDOW = 16
NEAR = 1.05
ALONE_SKIPS = 3  # First isolated iterations, while TCP windows grow.

# Student's t, 97.5 %, for 1, 2, ... degrees of freedom.
T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201,
         2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)


def read_rows(path):
    with open(path) as file:
        return [tuple(float(word) for word in line.split()) for line in file]


def read_words(path):
    with open(path) as file:
        return file.read().split()


def read_lines(path):
    with open(path) as file:
        return set(file)


def quantile(values, p):
    values = sorted(values)
    at = p * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def ci95(values):
    """Returns half the width of the mean's 95 % interval; None for a single value."""
    if len(values) < 2:
        return None
    t = T_975[min(len(values) - 1, len(T_975)) - 1]
    return t * statistics.stdev(values) / math.sqrt(len(values))


def iterations_of(rows, since=-math.inf, until=math.inf):
    """Returns (number, begin in s, ms) of iterations entirely in [since, until]."""
    return [(int(a[0]), a[1], 1e3 * (b[1] - a[1])) for a, b in zip(rows, rows[1:])
            if a[1] >= since and b[1] <= until]


def summary(times):
    return {"iterations": len(times), "mean_ms": statistics.mean(times),
            "p50_ms": quantile(times, 0.5), "p99_ms": quantile(times, 0.99)}


def overlap_of(all_rows, since, until):
    """Returns the seconds in which two or more jobs are in their all-reduce."""
    edges = []
    for rows in all_rows:
        for _, _, begin, end in rows:
            begin, end = max(begin, since), min(end, until)
            if begin < end:
                edges += [(begin, 1), (end, -1)]
    total, depth, last = 0.0, 0, since
    for at, step in sorted(edges):
        if depth >= 2:
            total += at - last
        depth, last = depth + step, at
    return total


def settled_of(iterations, should_ms, start):
    """Returns the seconds from 'start' until the job is settled, or None if it never
    is.  should_ms(number) is the isolated time of an iteration."""
    over = [ms - NEAR * should_ms(number) for number, _, ms in iterations]
    good = None
    for i in range(len(over) - WINDOW + 1):
        if sum(over[i:i + WINDOW]) > 0:
            good = None
        elif good is None:
            good = i
    return None if good is None else max(0.0, iterations[good][1] - start)


class Alone:
    """Iteration times of isolated jobs.  A job may compute longer from some iteration
    on; that iteration differs between runs."""

    def __init__(self):
        self.before, self.after, self.means = {}, {}, {}

    def add(self, job, rows, change_at):
        times = [(n, ms) for n, _, ms in iterations_of(rows) if n >= ALONE_SKIPS]
        usual = [ms for n, ms in times if not change_at or n < change_at]
        self.before.setdefault(job, []).extend(usual)
        self.means.setdefault(job, []).append(statistics.mean(usual))
        self.after.setdefault(job, []).extend(ms for n, ms in times
                                              if change_at and n >= change_at)

    def should_ms(self, job, change_at):
        """Returns a function that maps an iteration's number to its isolated time."""
        before = statistics.mean(self.before[job])
        after = statistics.mean(self.after[job]) if self.after[job] else before
        return lambda number: after if change_at and number >= change_at else before

    def report(self, job):
        sd = statistics.stdev(self.means[job]) if len(self.means[job]) > 1 else None
        after = self.after[job]
        return dict(summary(self.before[job]), job=job, runs=len(self.means[job]),
                    sd_ms=statistics.stdev(self.before[job]), run_sd_ms=sd,
                    changed_mean_ms=statistics.mean(after) if after else None)


def slowdown_of(iterations, should_ms):
    return (sum(ms for _, _, ms in iterations) /
            sum(should_ms(number) for number, _, _ in iterations))


def waited_of(path):
    """Returns the total wait in ms that a job's pacer reported at its end."""
    with open(path) as file:
        found = re.search(r"waits of ([0-9.]+) ms in all", file.read())
    return float(found.group(1)) if found else None


def orders_of(path, since, until, n_jobs):
    """Returns the s from 'since' to the first order to a pacer, and such orders per job
    and minute; and the s to the first order to a flow, which may be missing."""
    with open(path) as file:
        seen = [(float(words[0]), [int(word) for word in words[1:]])
                for words in (line.split() for line in file)]
    first = [next((max(0.0, at - since) for at, n in seen if len(n) > i and n[i] > 0), None)
             for i in range(2)]
    inside = [n[0] for at, n in seen if since <= at <= until]
    rate = 60 * (inside[-1] - inside[0]) / (until - since) / n_jobs if inside else 0.0
    return first[0], rate, first[1]


def new_connections_of(folder):
    """Returns how many of the later connections of a run were not there at its begin;
    None if they were not listed, or there are none."""
    try:
        begin, later = (read_lines(os.path.join(folder, name))
                        for name in ("connections", "connections.later"))
    except FileNotFoundError:
        return None
    return len(later - begin) if later else None


class Run(typing.NamedTuple):
    """A run of several jobs; 'times' (ms of iterations) and 'slowdowns' are by job."""
    figures: dict
    times: dict
    slowdowns: dict


def changed_at(rows, change_at):
    """Returns the begin of the first iteration with longer computing, or None."""
    return next((row[1] for job, first in change_at.items() if first
                 for row in rows[job] if row[0] >= first), None)


def measure_run(folder, planned, alone):
    jobs = sorted(planned["jobs"])
    rows = {job: read_rows(os.path.join(folder, "truth." + job)) for job in jobs}
    change_at = {job: planned["jobs"][job]["change_at"] for job in jobs}
    should = {job: alone.should_ms(job, change_at[job]) for job in jobs}
    first = min(r[0][1] for r in rows.values())
    start = max(r[0][1] for r in rows.values())
    until = min(r[-1][1] for r in rows.values())

    def slowdowns_since(since):
        return [slowdown_of(iterations_of(rows[job], since, until), should[job])
                for job in jobs]

    def settled_since(since):
        """Returns when the last job is settled, or None if a job never is."""
        found = [settled_of(iterations_of(rows[job], since, until), should[job], since)
                 for job in jobs]
        return None if None in found else max(found)

    its = {job: iterations_of(rows[job], start, until) for job in jobs}
    n_all = sum(len(found) for found in its.values())
    waited = [waited_of(os.path.join(folder, "out." + job)) for job in jobs]
    first_shift, rate, first_path = orders_of(os.path.join(folder, "orders"), first, until,
                                              len(jobs))
    took, ours, others = (float(w) for w in read_words(os.path.join(folder, "cpu")))
    change = changed_at(rows, change_at)
    by_job = slowdowns_since(start)
    figures = {
        "measured_s": until - start,
        "slowdown": statistics.mean(by_job),
        "slowdown_second_half": statistics.mean(slowdowns_since((start + until) / 2)),
        "slowdown_after_change": change and statistics.mean(slowdowns_since(change)),
        "overlap_ms_per_iteration":
            1e3 * overlap_of(rows.values(), start, until) * len(jobs) / n_all,
        "retransmits": int(read_words(os.path.join(folder, "retransmits"))[0]),
        "orders_per_job_minute": rate,
        "waited_ms_per_iteration": None if None in waited else
            sum(waited) / sum(len(r) for r in rows.values()),
        "first_shift_s": first_shift,
        "first_path_s": first_path,
        "new_connections": new_connections_of(folder),
        "settled_s": settled_since(start),
        "settled_again_s": change and settled_since(change),
        "cpus_lab": ours / took,
        "cpus_others": others / took,
    }
    return Run(figures, {job: [ms for _, _, ms in its[job]] for job in jobs},
               dict(zip(jobs, by_job)))
