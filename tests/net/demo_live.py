#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo_live.py DIR [--json | --check] - compares the runs that demo_live.sh measured.

DIR has plan.json (demo_plan.py).  DIR/CASE/RUN has the files of each run: truth.JOB,
out.JOB, orders, retransmits, cpu.  DIR/CASE/sim.json has the simulation (demo_sim.py).
demo_figures.py defines the figures; docs/json.md describes the JSON document.  --check
prints PASS and FAIL lines: whether everything was measured and antiphase acted on the
jobs, regardless of the gain.
"""
import json
import os
import re
import statistics
import sys

from demo_figures import Alone, ci95, measure_run, read_rows, summary
from demo_plan import CASES
from demo_print import print_case
from demo_verdicts import verdicts_of

MODES = ("observe", "enforce")
# Figures of each run; all runs of a mode are combined by mean or by worst value.
MEANS = ("slowdown", "slowdown_second_half", "slowdown_after_change",
         "overlap_ms_per_iteration", "orders_per_job_minute", "waited_ms_per_iteration",
         "retransmits", "cpus_lab", "cpus_others")
WORST = ("first_shift_s", "first_path_s", "new_connections", "settled_s",
         "settled_again_s")
# The figures that are compared in pairs.
DIFFER = ("slowdown", "slowdown_second_half", "slowdown_after_change")


def mean_of(values):
    return None if None in values else statistics.mean(values)


def read_alone(folder, case):
    alone = Alone()
    for run in case["runs"]:
        for job, planned in run["jobs"].items():
            if run["run"].startswith("alone."):
                rows = read_rows(os.path.join(folder, run["run"], "truth." + job))
                alone.add(job, rows, planned["change_at"])
    return alone


def aggregate(mode, runs):
    """Combines all runs of a mode: figures, and times and slowdowns by job."""
    figures = [run.figures for run in runs]
    result = {"mode": mode}
    for key in MEANS:
        result[key] = mean_of([f[key] for f in figures])
    for key in WORST:
        values = [f[key] for f in figures]
        result[key] = None if None in values else max(values)
    for key in DIFFER:
        result[key + "_ci95"] = (None if result[key] is None
                                 else ci95([f[key] for f in figures]))
    result["jobs"] = [dict(summary([ms for run in runs for ms in run.times[job]]), job=job,
                           slowdown=statistics.mean(run.slowdowns[job] for run in runs))
                      for job in sorted(runs[0].times)]
    return result


def differences(pairs):
    """Returns the mean of enforce - observe over the pairs, and its interval."""
    result = {}
    for key in DIFFER:
        both = [[pair[mode].figures[key] for mode in MODES] for pair in pairs]
        known = all(None not in two for two in both)
        values = [two[1] - two[0] for two in both] if known else []
        result[key] = statistics.mean(values) if known else None
        result[key + "_ci95"] = ci95(values) if known else None
    return result


def simulated_of(path):
    """Returns the means of sim.json over its pairs, and the pairs (maybe none)."""
    with open(path) as file:
        doc = json.load(file)
    modes = []
    for mode in MODES if doc["pairs"] else ():
        runs = [pair[mode] for pair in doc["pairs"]]
        jobs = [dict({key: statistics.mean(run["jobs"][job][key] for run in runs)
                      for key in runs[0]["jobs"][job]}, job=job)
                for job in sorted(runs[0]["jobs"])]
        modes.append({"mode": mode, "jobs": jobs,
                      "slowdown": statistics.mean(r["slowdown"] for r in runs),
                      "orders_per_job_minute": statistics.mean(
                          r["orders_per_job_minute"] for r in runs)})
    starts = [dict(doc["random_starts"][mode], mode=mode) for mode in MODES]
    return {"modes": modes, "random_starts": starts}, doc["pairs"]


def measure(folder, case, rate_mbps):
    here = os.path.join(folder, case["case"])
    alone = read_alone(here, case)
    measured = {run["run"]: measure_run(os.path.join(here, run["run"]), run, alone)
                for run in case["runs"] if len(run["jobs"]) > 1}
    planned = {run["run"]: run for run in case["runs"]}
    n = case["n_pairs"]
    pairs = [{mode: measured["%s.%d" % (mode, i)] for mode in MODES} for i in range(n)]
    simulated, sim_pairs = simulated_of(os.path.join(here, "sim.json"))
    order = [run["run"] for run in case["runs"]]
    jobs = planned["observe.0"]["jobs"]
    reports = [alone.report(job) for job in sorted(jobs)]
    control, killed = measured.get("control.0"), measured.get("killed.0")
    result = {
        "case": case["case"], "title": CASES[case["case"]]["title"], "seed": case["seed"],
        "load": sum(jobs[a["job"]]["mbytes"] * 8e3 / rate_mbps / a["mean_ms"]
                    for a in reports),
        "alone": reports,
        "control": control and {"slowdown": control.figures["slowdown"],
                                "retransmits": control.figures["retransmits"],
                                "cpus_lab": control.figures["cpus_lab"],
                                "cpus_others": control.figures["cpus_others"],
                                "jobs": [{"job": job, "slowdown": control.slowdowns[job]}
                                         for job in sorted(jobs)]},
        "killed": killed and {"slowdown_second_half":
                              killed.figures["slowdown_second_half"]},
        "modes": [aggregate(mode, [pair[mode] for pair in pairs]) for mode in MODES],
        "difference": differences(pairs),
        "pairs": [{"pair": i + 1,
                   "starts_ms": [jobs_i[job]["start_ms"] for job in sorted(jobs_i)],
                   "first": min(MODES, key=lambda m, i=i: order.index("%s.%d" % (m, i))),
                   "runs": [dict(pair[mode].figures, mode=mode, simulated_slowdown=
                                 sim_pairs[i][mode]["slowdown"] if sim_pairs else None)
                            for mode in MODES]}
                  for i, pair in enumerate(pairs)
                  for jobs_i in [planned["observe.%d" % i]["jobs"]]],
        "simulated": simulated}
    result["verdicts"] = verdicts_of(result)
    return result


def check(results):
    """Prints test lines: everything was measured, and what must hold in every run."""
    failed = False

    def say(name, is_so, why=""):
        nonlocal failed
        print("PASS demo_live: " + name if is_so else
              "FAIL demo_live: %s: %s" % (name, why))
        failed |= not is_so

    for result in results:
        observe, enforce = result["modes"]
        case = result["case"]
        say("%s: without antiphase nobody is given orders, or waits" % case,
            observe["orders_per_job_minute"] == 0 and observe["first_shift_s"] is None and
            not observe["waited_ms_per_iteration"], str(observe))
        if case == "paths":
            say("paths: with it flows are moved", enforce["first_path_s"] is not None and
                observe["first_path_s"] is None, str(enforce))
            say("paths: no connection is opened again", enforce["new_connections"] == 0,
                str(enforce))
            continue
        say("%s: with it the jobs are" % case,
            enforce["first_shift_s"] is not None and
            enforce["waited_ms_per_iteration"] > 0, str(enforce))
        say("%s: jobs overlap" % case, observe["overlap_ms_per_iteration"] > 0)
        say("%s: every verdict is told" % case, result["verdicts"] and all(
            v["verdict"] in ("met", "missed", "not tested") for v in result["verdicts"]))
    return failed


def in_us(value, factor=1):
    """A copy whose times, which are keys with _ms and _s here, are in microseconds."""
    if isinstance(value, dict):
        copy = {}
        for key, item in value.items():
            unit = re.search(r"_(ms|s)(?=$|_per_iteration$)", key)
            name = key if not unit else key[:unit.start()] + "_us" + key[unit.end():]
            copy[name] = in_us(item, {"ms": 1e3, "s": 1e6}[unit[1]] if unit else 1)
        return copy
    if isinstance(value, list):
        return [in_us(item, factor) for item in value]
    if factor == 1 or value is None:
        return value
    return round(value * factor, 3)


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "plan.json")) as file:
        plan = json.load(file)
    results = []
    for case in plan["cases"]:
        try:
            results.append(measure(folder, case, plan["rate_mbps"]))
        except (OSError, ValueError, IndexError, StopIteration) as error:
            print("demo_live: case %s was not measured: %s" % (case["case"], error),
                  file=sys.stderr)
    failed = len(results) != len(plan["cases"])
    if "--check" in sys.argv:
        failed |= check(results)
    elif "--json" in sys.argv:
        json.dump(in_us({"schema": "antiphase.demo_live/2",
                         "rate_bps": plan["rate_mbps"] * 1000000, "cases": results}),
                  sys.stdout, indent=2)
        print()
    else:
        for result in results:
            print_case(result)
    sys.exit(failed)


if __name__ == "__main__":
    main()
