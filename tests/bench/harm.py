#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""harm.py [NUMBER...] - is 'antiphase' ever worse than 'fair'?

Simulates random scenarios (harm_scenario.py) under fair and under antiphase: with all
levers, and with each lever alone.  Without numbers: SCENARIOS scenarios from FIRST on.

What is compared.  The goodput is the mean over jobs of (isolated period / mean iteration
time), weighted by GPUs; a job without a place has 0.  The slowdown is the mean over jobs
of the inverse.  Both take the period that the scenario states, not the isolated time of
the placed job: a place or a path that slows the job by itself counts as harm.

What is noise.  Each seed draws phases and jitter, the same for both policies, so that
differences are taken seed by seed.

    1. SEEDS seeds each.  A mean goodput below that of fair is suspicious.
    2. The suspicious ones again with 16 other seeds.  Still suspicious: the loss is above
       LEAST, and above 2.6 standard errors (1 %, one-sided; Student's t).
    3. Those again with 64 other seeds.  Harm: a loss above LEAST and above 3.2 standard
       errors (0.1 %).

Environment variables, with defaults: SCENARIOS (1000), FIRST (1), SEEDS (4), LEAST (0.001),
LEVERS ("all place path time"; "place,path" is one set), POLICY (antiphase; with another one
and LEVERS=all, for instance cassini:gate, the judge finds harm), WORKERS (processors),
RESULTS (a file of JSON lines that is added to; what is in it is not run again), KEEP (a
folder for the scenarios that are harmed).  Progress goes to standard error.  Exit status 1
if there is harm.
"""
import collections
import concurrent.futures
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

import harm_scenario

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(ROOT, os.environ.get("B", "build/release"), "antiphase-sim")
SEEDS = int(os.environ.get("SEEDS", "4"))
LEAST = float(os.environ.get("LEAST", "0.001"))
POLICY = os.environ.get("POLICY", "antiphase")
LEVERS = os.environ.get("LEVERS", "all place path time").split()
# First seed, number of seeds, and standard errors, of stages 2 and 3.
STAGES = ((1001, 16, 2.6), (2001, 64, 3.2))
N_WORST = 10

Run = collections.namedtuple("Run", "goodput slowdown worst")


# ---- Simulations ---------------------------------------------------------------------

def simulate(scenario, path, policies, levers, first, n_seeds):
    """Returns {policy: [Run of each seed]}, and the largest CPU seconds of a plan."""
    with tempfile.TemporaryDirectory() as folder:
        command = [SIM, "compare", path, "--policies", ",".join(policies), "--seeds",
                   "%d..%d" % (first, first + n_seeds - 1), "--csv", folder]
        if levers != "all":
            command += ["--levers", levers]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError("scenario %d: %s" % (scenario.number, done.stderr))
        with open(os.path.join(folder, "jobs.csv"), encoding="utf-8") as rows:
            table = list(csv.DictReader(line for line in rows if line[0] != "#"))
    jobs = {job.name: job for job in scenario.jobs}
    found = collections.defaultdict(dict)
    for row in table:
        mean_us = float(row["iteration_mean_us"] or 0)
        if mean_us > 0:
            run = found[row["policy"], int(row["seed"])]
            run[row["job"]] = jobs[row["job"]].period_us / mean_us
    weights = sum(job.weight for job in scenario.jobs)
    runs = {policy: [] for policy in policies}
    for policy in policies:
        for seed in range(first, first + n_seeds):
            shares = found[policy, seed]
            runs[policy].append(Run(
                sum(jobs[name].weight * share for name, share in shares.items()) / weights,
                statistics.mean(1 / share for share in shares.values()) if shares else 1,
                max((1 / share for share in shares.values()), default=1)))
    solve_s = max(map(float, re.findall(r"planned in ([0-9.]+) s", done.stderr)), default=0)
    return runs, solve_s


def compare(scenario, path, sets, first, n_seeds):
    """Returns {levers: figures}, each against fair on the same seeds."""
    result, fair = {}, None
    for levers in sets:
        policies = [POLICY] if fair else ["fair", POLICY]
        runs, solve_s = simulate(scenario, path, policies, levers, first, n_seeds)
        fair = fair or runs["fair"]
        ours = runs[POLICY]
        gains = [a.goodput / f.goodput - 1 for a, f in zip(ours, fair)]
        result[levers] = {
            "goodput": statistics.mean(r.goodput for r in ours),
            "fair_goodput": statistics.mean(r.goodput for r in fair),
            "gain": statistics.mean(gains),
            "error": statistics.stdev(gains) / math.sqrt(n_seeds),
            "slowdown": statistics.mean(r.slowdown for r in ours),
            "fair_slowdown": statistics.mean(r.slowdown for r in fair),
            "worst": statistics.mean(r.worst for r in ours),
            "fair_worst": statistics.mean(r.worst for r in fair),
            "n_seeds": n_seeds, "stage": 1, "solve_s": solve_s,
        }
    return result


def is_worse(figures, n_errors):
    return figures["gain"] < -LEAST and figures["gain"] < -n_errors * figures["error"]


def missing(number, known):
    """Returns the sets of levers to run: without waiting jobs there is nothing to place."""
    done = known[number]["levers"] if number in known else ()
    return [levers for levers in LEVERS if levers not in done and
            (levers != "place" or any(not j.hosts for j in harm_scenario.draw(number).jobs))]


def judge(number, sets):
    """Returns the figures of a scenario; 'harmed' lists the levers that do harm."""
    scenario = harm_scenario.draw(number)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "harm-%d.ini" % number)
        with open(path, "w", encoding="utf-8") as file:
            file.write(scenario.text)
        result = compare(scenario, path, sets, 1, SEEDS)
        suspicious = [levers for levers in sets if result[levers]["gain"] < -LEAST / 2]
        for stage, (first, n_seeds, n_errors) in enumerate(STAGES, 2):
            if not suspicious:
                break
            again = compare(scenario, path, suspicious, first, n_seeds)
            for levers in suspicious:
                result[levers] = dict(again[levers], stage=stage,
                                      solve_s=result[levers]["solve_s"])
            suspicious = [levers for levers in suspicious
                          if is_worse(again[levers], n_errors)]
    return {"number": number, "kind": scenario.kind, "hosts": scenario.n_hosts,
            "jobs": len(scenario.jobs), "waiting": sum(not j.hosts for j in scenario.jobs),
            "harmed": suspicious, "levers": result}


# ---- The report ----------------------------------------------------------------------

def quantiles(values):
    values = sorted(values)
    last = len(values) - 1
    return "".join("%9.4f" % values[round(last * q)] for q in (0, .01, .05, .25, .5, .75, .95, 1))


def report(results):
    print("%d scenarios, %d with harm" % (len(results),
                                         sum(bool(r["harmed"]) for r in results)))
    for what, key in (("GOODPUT", "goodput"), ("MEAN SLOWDOWN", "slowdown"),
                      ("WORST JOB'S SLOWDOWN", "worst")):
        print("\n%s, %s / fair%s" % (what, POLICY, "" if key == "goodput" else
                                           " (below 1 is better)"))
        print("LEVERS            N      min       1%       5%      25%      50%      75%      "
              "95%      max     mean")
        for levers in LEVERS:
            figures = [r["levers"][levers] for r in results if levers in r["levers"]]
            ratios = [f[key] / f["fair_" + key] for f in figures]
            if ratios:
                print("%-12s %6d%s%9.4f" % (levers, len(ratios), quantiles(ratios),
                                            statistics.mean(ratios)))
    rows = [(f["gain"], r, levers, f) for r in results for levers, f in r["levers"].items()
            if f["gain"] or f["error"]]
    rows.sort(key=lambda row: (row[2] not in row[1]["harmed"], row[0]))
    print("\nThe %d worst, those with harm first (gain in goodput +- standard error)" % N_WORST)
    print_rows(rows[:N_WORST])
    rows.sort(key=lambda row: row[3]["fair_slowdown"] / row[3]["slowdown"])
    print("\nThe %d whose mean slowdown, without weights, rises most" % N_WORST)
    print_rows(rows[:N_WORST])
    n_stage = collections.Counter(f["stage"] for r in results for f in r["levers"].values())
    print("\nComparisons decided in stage 1: %d, 2: %d, 3: %d" % (n_stage[1], n_stage[2],
                                                                n_stage[3]))


def print_rows(rows):
    print("NUMBER  FABRIC      HOSTS  JOBS  WAITING  LEVERS     GAIN %           SEEDS  "
          "SLOWDOWN     WORST")
    for gain, r, levers, f in rows:
        print("%6d  %-10s  %5d  %4d  %7d  %-10s %7.3f +- %-6.3f %4d  %.3f>%.3f  %.3f>%.3f%s" % (
            r["number"], r["kind"], r["hosts"], r["jobs"], r["waiting"], levers, 100 * gain,
            100 * f["error"], f["n_seeds"], f["fair_slowdown"], f["slowdown"],
            f["fair_worst"], f["worst"], "  HARM" if levers in r["harmed"] else ""))


def merge(known, new):
    """Adds the levers of a result to those known of its scenario."""
    old = known.setdefault(new["number"], new)
    old["levers"].update(new["levers"])
    old["harmed"] = sorted(set(old["harmed"] + new["harmed"]))


def known_results(path):
    if not path or not os.path.exists(path):
        return {}
    known = {}
    with open(path, encoding="utf-8") as lines:
        for result in map(json.loads, lines):
            merge(known, result)
    return known


def main():
    first = int(os.environ.get("FIRST", "1"))
    numbers = ([int(word) for word in sys.argv[1:]] or
               range(first, first + int(os.environ.get("SCENARIOS", "1000"))))
    path = os.environ.get("RESULTS")
    known = known_results(path)
    todo = [(n, missing(n, known)) for n in numbers]
    todo = [(n, sets) for n, sets in todo if sets]
    workers = int(os.environ.get("WORKERS", os.cpu_count()))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(judge, n, sets) for n, sets in todo]
        for i, done in enumerate(concurrent.futures.as_completed(waiting), 1):
            result = done.result()
            number = result["number"]
            merge(known, result)
            if path:
                with open(path, "a", encoding="utf-8") as out:
                    out.write(json.dumps(result) + "\n")
            if result["harmed"] or i % 50 == 0:
                print("%d of %d: scenario %d: %s" % (
                    i, len(waiting), number,
                    "harm by " + ", ".join(result["harmed"]) if result["harmed"] else "ok"),
                    file=sys.stderr)
    results = [known[n] for n in numbers if n in known]
    harmed = [r["number"] for r in results if r["harmed"]]
    keep = os.environ.get("KEEP")
    for number in harmed if keep else ():
        with open(os.path.join(keep, "harm-%d.ini" % number), "w", encoding="utf-8") as out:
            out.write(harm_scenario.draw(number).text)
    report(results)
    return 1 if harmed else 0


if __name__ == "__main__":
    sys.exit(main())
