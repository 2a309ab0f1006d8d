#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo_sim.py DIR - simulates the pairs of runs that demo_live.sh measured.

Reads DIR/plan.json and DIR/fabric.json; writes DIR/CASE/sim.json.  That file has, for
each pair, the jobs' times with pacing none ("observe") and steer ("enforce") from the
same starts, and the slowdowns of RANDOM draws of random starts.  Jobs cannot change in
the simulator: in a case where a job changes there are no pairs, and the random starts
use the jobs as they are after the change.  In the case of paths there are none either:
observe has one uplink for all jobs, and in enforce antiphase chooses paths.
"""
import json
import os
import statistics
import subprocess
import sys

import demo_plan

PACING = {"observe": ["--pacing", "none"], "enforce": ["--pacing", "steer"]}
PATHS = {"observe": ["--pacing", "none"],
         "enforce": ["--pacing", "none", "--policy", "antiphase", "--levers", "path"]}
RANDOM = 40


def scenario(jobs, fabric, is_random):
    lines = ["[sim]", "iterations = %d" % max(j["iterations"] for j in jobs.values()),
             "phases = %s" % ("random" if is_random else "aligned"),
             "[fabric]", "file = %s" % fabric]
    for name, job in jobs.items():
        lines += ["[job %s]" % name, "hosts = %s" % demo_plan.HOSTS[name],
                  "segment = compute %g ms" % (job["compute_ms"] * job["factor"]),
                  "segment = allreduce %g MB" % job["mbytes"],
                  # The standard deviation of uniform jitter.
                  "jitter = %.3f %%" % (100 * demo_plan.JITTER / 3 ** 0.5),
                  "arrival = %g ms" % (0 if is_random else job["start_ms"])]
    return "\n".join(lines) + "\n"


def simulate(path, options, seed):
    """Returns the simulated figures of each job, and corrections per job and minute."""
    done = subprocess.run(["antiphase", "sim", "run", path, *options, "--seed", str(seed),
                           "--json"], capture_output=True, text=True, check=True)
    doc = json.loads(done.stdout)
    jobs = {j["job"]: {"alone_ms": j["alone_us"] / 1e3,
                       "mean_ms": j["iteration_mean_us"] / 1e3,
                       "p50_ms": j["iteration_p50_us"] / 1e3,
                       "p99_ms": j["iteration_p99_us"] / 1e3,
                       "slowdown": j["slowdown"]} for j in doc["jobs"]}
    return {"jobs": jobs, "slowdown": statistics.mean(j["slowdown"] for j in jobs.values()),
            "orders_per_job_minute": doc["summary"]["corrections_per_minute"]}


def simulate_case(folder, case):
    here, fabric = os.path.join(folder, case["case"]), os.path.abspath(
        os.path.join(folder, "fabric.json"))
    path = os.path.join(here, "sim.ini")
    runs = {(run["pair"], run["mode"]): run for run in case["runs"]
            if len(run["jobs"]) > 1 and run["links"] == "shared"}
    pairs = []
    changes = any(job["change_at"] for job in runs[0, "observe"]["jobs"].values())
    for pair in range(0 if changes else case["n_pairs"]):
        with open(path, "w") as file:
            file.write(scenario(runs[pair, "observe"]["jobs"], fabric, False))
        pairs.append({mode: simulate(path, PACING[mode], pair + 1) for mode in PACING})
    with open(path, "w") as file:
        file.write(scenario(runs[0, "observe"]["jobs"], fabric, True))
    return {"pairs": pairs, "random_starts": random_starts(
        {mode: (path, options) for mode, options in PACING.items()})}


def random_starts(how):
    """Returns the figures of random starts; 'how' has a scenario and options by mode."""
    starts = {mode: [simulate(path, options, seed)["slowdown"]
                     for seed in range(1, RANDOM + 1)]
              for mode, (path, options) in how.items()}
    return {mode: {"runs": RANDOM, "mean": statistics.mean(found), "min": min(found),
                   "max": max(found)} for mode, found in starts.items()}


def one_spine(fabric):
    """Returns the fabric without its second spine."""
    return dict(fabric,
                switches=[s for s in fabric["switches"] if s["name"] != "spine1"],
                cables=[c for c in fabric["cables"] if "spine1" not in c["a"] + c["b"]])


def simulate_paths(folder, case):
    here = os.path.join(folder, case["case"])
    with open(os.path.join(folder, "paths.json")) as file:
        fabric = json.load(file)
    jobs = next(run["jobs"] for run in case["runs"] if len(run["jobs"]) > 1)
    how = {}
    for mode in PATHS:
        plan, path = (os.path.abspath(os.path.join(here, "%s.%s" % (mode, end)))
                      for end in ("json", "ini"))
        with open(plan, "w") as file:
            json.dump(one_spine(fabric) if mode == "observe" else fabric, file)
        with open(path, "w") as file:
            file.write(scenario(jobs, plan, True))
        how[mode] = path, PATHS[mode]
    return {"pairs": [], "random_starts": random_starts(how)}


def main():
    folder = sys.argv[1]
    with open(os.path.join(folder, "plan.json")) as file:
        plan = json.load(file)
    for case in plan["cases"]:
        with open(os.path.join(folder, case["case"], "sim.json"), "w") as file:
            json.dump((simulate_paths if case["case"] == "paths" else simulate_case)(
                folder, case), file, indent=1)


if __name__ == "__main__":
    main()
