#!/usr/bin/env python3
"""demo_live.py DIR [--json] CASE... - what demo_live.sh measured, side by side.

DIR/CASE/RUN/truth.JOB has a line for each iteration (arl.c): its number, and seconds
of begin of computing, begin and end of the all-reduce.  RUN is alone.JOB, observe and
enforce.  All figures are of the time in which all jobs of the run ran, but for the first
TENTH of it.  That is before the jobs' profiles are known, and so the slowdown of the
second half is told, too; the times to settle are of all of it.

overlap: the time in which two jobs or more were in their all-reduce, an iteration.
settled: the first time from which on, until the end, of any WINDOW iterations in a row
half are within 5 % of those alone; after a change of the job, of those of the last third.
"""
import json
import os
import re
import statistics
import sys

TENTH = 0.1
WINDOW = 16
NEAR = 1.05


def read_rows(path):
    with open(path) as file:
        return [tuple(float(word) for word in line.split()) for line in file]


def quantile(values, p):
    values = sorted(values)
    at = p * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def times_of(rows, since=0.0, until=float("inf")):
    """Iteration times in ms, of iterations that begin and end between the two."""
    return [1e3 * (b[1] - a[1]) for a, b in zip(rows, rows[1:])
            if a[1] >= since and b[1] <= until]


def overlap_of(all_rows, since, until):
    """Seconds in which two or more are in their all-reduce."""
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


def settled_of(rows, alone_ms, start):
    """Seconds from 'start' to where it is settled for good; None: it is not."""
    times = times_of(rows)
    is_near = [ms <= NEAR * alone_ms for ms in times]
    good = None
    for i in range(len(times) - WINDOW + 1):
        if sum(is_near[i:i + WINDOW]) * 2 < WINDOW:
            good = None
        elif good is None:
            good = i
    return None if good is None else max(0.0, rows[good][1] - start)


def summary(times):
    return {"iterations": len(times), "mean_ms": statistics.mean(times),
            "p50_ms": quantile(times, 0.5), "p99_ms": quantile(times, 0.99)}


def read_orders(path):
    with open(path) as file:
        return [(float(a), int(b)) for a, b in (line.split() for line in file)]


def word_of(path):
    with open(path) as file:
        return file.read().split()


def waited_of(path):
    """What a job's pacer said at its end: how long it waited in all, ms."""
    with open(path) as file:
        found = re.search(r"waits of ([0-9.]+) ms in all", file.read())
    return float(found.group(1)) if found else None


def real_run(folder, alone):
    """What is measured of a run of all jobs."""
    jobs = sorted(alone)
    rows = {job: read_rows(os.path.join(folder, "truth." + job)) for job in jobs}
    start = max(r[0][1] for r in rows.values())
    until = min(r[-1][1] for r in rows.values())
    since = start + TENTH * (until - start)
    result = {"jobs": {}, "measured_s": until - since}
    for job in jobs:
        result["jobs"][job] = summary(times_of(rows[job], since, until))
        result["jobs"][job]["slowdown"] = (result["jobs"][job]["mean_ms"] /
                                           alone[job]["mean_ms"])
    every = [ms for job in jobs for ms in times_of(rows[job], since, until)]
    result["all"] = summary(every)
    result["slowdown"] = statistics.mean(j["slowdown"] for j in result["jobs"].values())
    half = statistics.mean(
        statistics.mean(times_of(rows[job], (start + until) / 2, until)) /
        alone[job]["mean_ms"] for job in jobs)
    result["slowdown_second_half"] = half
    result["overlap_ms_per_iteration"] = (
        1e3 * overlap_of(rows.values(), since, until) * len(jobs) / len(every))
    result["retransmits"] = int(word_of(os.path.join(folder, "retransmits"))[0])
    orders = read_orders(os.path.join(folder, "orders"))
    shifts = [at for at, n in orders if n > 0]
    first = min(r[0][1] for r in rows.values())
    inside = [n for at, n in orders if since <= at <= until]
    result["orders_per_job_minute"] = (
        60 * (inside[-1] - inside[0]) / (until - since) / len(jobs) if inside else 0)
    result["first_shift_s"] = max(0.0, shifts[0] - first) if shifts else None
    settled = [settled_of(rows[job], alone[job]["mean_ms"], start) for job in jobs]
    result["settled_s"] = None if None in settled else max(settled)
    waited = [waited_of(os.path.join(folder, "out." + job)) for job in jobs]
    result["waited_ms_per_iteration"] = (
        None if None in waited else sum(waited) / sum(len(r) for r in rows.values()))
    result["load"] = word_of(os.path.join(folder, "load"))[0]
    return result


def sim_run(path):
    with open(path) as file:
        doc = json.load(file)
    jobs = {j["job"]: {"mean_ms": j["iteration_mean_us"] / 1e3,
                       "p50_ms": j["iteration_p50_us"] / 1e3,
                       "p99_ms": j["iteration_p99_us"] / 1e3,
                       "alone_ms": j["alone_us"] / 1e3, "slowdown": j["slowdown"]}
            for j in doc["jobs"]}
    return {"jobs": jobs, "slowdown": statistics.mean(j["slowdown"] for j in jobs.values()),
            "orders_per_job_minute": doc["summary"]["corrections_per_minute"]}


def change_of(folder, alone):
    """Of the job that computes longer amid the run: how long until all are well again."""
    rows = {job: read_rows(os.path.join(folder, "truth." + job)) for job in alone}
    compute = [row[2] - row[1] for row in rows["C"]]
    usual = statistics.median(compute[:len(compute) // 4])
    longer = [i for i in range(4, len(compute) - 8)
              if statistics.median(compute[i:i + 8]) > 1.15 * usual and
              compute[i] > 1.15 * usual]
    if not longer:
        return None
    at = rows["C"][longer[0]][1]
    settled = []
    for job in alone:
        after = [row for row in rows[job] if row[1] >= at]
        final = times_of(after[-(len(after) // 3):])
        settled.append(settled_of(after, statistics.mean(final), at))
    return {"changed_at_s": at - rows["C"][0][1],
            "settled_again_s": None if None in settled else max(settled)}


def measure(folder, case):
    here = os.path.join(folder, case)
    alone = {}
    for job in "ABC":
        rows = read_rows(os.path.join(here, "alone." + job, "truth." + job))
        alone[job] = summary(times_of(rows, rows[min(5, len(rows) - 2)][1]))
    result = {"case": case, "real": {"alone": {"jobs": alone}}, "sim": None}
    for run in ("observe", "enforce"):
        result["real"][run] = real_run(os.path.join(here, run), alone)
        if case == "change":
            result["real"][run]["change"] = change_of(os.path.join(here, run), alone)
    if os.path.exists(os.path.join(here, "sim.enforce.json")):
        result["sim"] = {run: sim_run(os.path.join(here, "sim.%s.json" % run))
                         for run in ("observe", "enforce")}
    return result


def cell(value, form="%.1f"):
    return "-" if value is None else form % value


TITLES = {"equal": "nearly equal periods", "ratio": "periods as 1 : 2",
          "incommensurate": "periods that have nothing in common",
          "change": "nearly equal periods; C computes 30 % longer from the middle on"}


def print_case(result):
    real, sim = result["real"], result["sim"]
    print("%s: %s" % (result["case"], TITLES[result["case"]]))
    print("%-24s %8s %8s %8s   %8s %8s %8s" % (
        "", "REAL", "", "", "SIMULATED", "", ""))
    print("%-24s %8s %8s %8s   %8s %8s %8s" % (
        "", "alone", "observe", "enforce", "alone", "observe", "enforce"))

    def row(name, values, form="%.1f"):
        print("%-24s %8s %8s %8s   %8s %8s %8s" % (
            (name,) + tuple(cell(v, form) for v in values)))

    for job, alone in sorted(real["alone"]["jobs"].items()):
        for key, name in (("mean_ms", "mean"), ("p50_ms", "p50"), ("p99_ms", "p99")):
            simulated = [None, None, None]
            if sim:
                simulated = [sim["observe"]["jobs"][job]["alone_ms"]
                             if key == "mean_ms" else None,
                             sim["observe"]["jobs"][job][key],
                             sim["enforce"]["jobs"][job][key]]
            row("%s iteration %s, ms" % (job, name),
                [alone[key], real["observe"]["jobs"][job][key],
                 real["enforce"]["jobs"][job][key]] + simulated)
    row("slowdown, mean", [1, real["observe"]["slowdown"], real["enforce"]["slowdown"]] +
        ([1, sim["observe"]["slowdown"], sim["enforce"]["slowdown"]] if sim
         else [None] * 3), "%.3f")
    row("  in the second half", [1] + [real[run]["slowdown_second_half"]
                                       for run in ("observe", "enforce")] + [None] * 3,
        "%.3f")
    for key, name in (("overlap_ms_per_iteration", "overlap an iteration, ms"),
                      ("retransmits", "retransmits"),
                      ("orders_per_job_minute", "orders a job a minute"),
                      ("waited_ms_per_iteration", "waited an iteration, ms"),
                      ("first_shift_s", "first shift after, s"),
                      ("settled_s", "settled after, s")):
        simulated = [None, None, None]
        if sim and key in sim["enforce"]:
            simulated = [None, sim["observe"][key], sim["enforce"][key]]
        row(name, [None, real["observe"][key], real["enforce"][key]] + simulated,
            "%d" if key == "retransmits" else "%.1f")
    if result["case"] == "change":
        row("settled again after, s", [None] +
            [(real[run]["change"] or {}).get("settled_again_s")
             for run in ("observe", "enforce")] + [None] * 3)
    print("Load of the machine: %s in observe, %s in enforce.\n" % (
        real["observe"]["load"], real["enforce"]["load"]))


def main():
    words = [word for word in sys.argv[2:] if word != "--json"]
    results = []
    for case in words:
        try:
            results.append(measure(sys.argv[1], case))
        except (OSError, ValueError, IndexError, statistics.StatisticsError) as error:
            print("demo_live: case %s was not measured: %s" % (case, error),
                  file=sys.stderr)
    if "--json" in sys.argv:
        json.dump({"schema": "antiphase.demo_live/1", "cases": results}, sys.stdout,
                  indent=2)
        print()
    else:
        for result in results:
            print_case(result)
    sys.exit(len(results) != len(words))


if __name__ == "__main__":
    main()
