#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""slice.py [POLICY...] - two weeks of Philly with and without augmentation.

48 nodes of 8 GPUs, 6 leaves of 8 nodes, 50 Gb/s, 4:1; jobs of 4 or more GPUs train
models of examples/models, drawn by the seed.  Each policy has one row: the mean
completion time; the ratios to it of the mean completion times with CASSINI and with
antiphase; the share of decisions in which antiphase chose another plan than the
policy's own; and the largest CPU time of any of the runs, in seconds of one core.

Environment variables, with defaults: AUGMENTS ("none cassini antiphase") lists values
of --augment, and ITERATIONS is the value of --iterations, both as in 'antiphase sim
replay'.  With several SEEDS ("1"), the row shows the geometric mean of the ratios with
its 95 % interval (Student's t).  A run that takes more than LIMIT_S (600) seconds of
CPU time is aborted.  Progress goes to standard error.
"""
import json
import math
import os
import resource
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(ROOT, os.environ.get("B", "build/release"), "antiphase-sim")
TRACE = os.path.join(ROOT, "../shared/data/traces/philly/philly_2weeks.csv.gz")
FABRIC = "leaf-spine --leaves 6 --hosts-per-leaf 8 --gbps 50 --oversubscription 4"
AUGMENTS = os.environ.get("AUGMENTS", "none cassini antiphase").split()
LIMIT_S = int(os.environ.get("LIMIT_S", "600"))
OPTIONS = ["--cluster", "48x8/8", "--fabric", FABRIC, "--model-gpus", "4",
           "--models", os.path.join(ROOT, "examples/models")]
SEEDS = os.environ.get("SEEDS", "1").split()
# Student's t, 97.5 %, by degrees of freedom; for more degrees of freedom, 2 is used.
T = [math.nan, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26]
if "ITERATIONS" in os.environ:
    OPTIONS += ["--iterations", os.environ["ITERATIONS"]]


def policies():
    out = subprocess.run([SIM, "policies", "--json"], check=True, capture_output=True)
    return [p["name"] for p in json.loads(out.stdout)["policies"]]


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))


def replay(policy, augment, seed):
    """Runs one replay; returns its results, or the failure as a string."""
    child = subprocess.Popen([SIM, "replay", TRACE, *OPTIONS, "--policy", policy, "--seed",
                              seed, "--augment", augment, "--json"], preexec_fn=limit,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if os.WIFSIGNALED(status):
        return "over %d s" % LIMIT_S
    if status != 0:
        return errors.decode().strip().splitlines()[-1]
    run = json.loads(out)["policies"][0]
    run["augment"] = augment
    run["cpu_s"] = usage.ru_utime + usage.ru_stime
    return run


def ratio_of(bases, runs):
    """Ratio of mean completion times: of one seed, or mean over seeds with interval."""
    logs = [math.log(run["mean_s"] / base["mean_s"]) for base, run in zip(bases, runs)
            if isinstance(base, dict) and isinstance(run, dict)]
    texts = [run for run in runs if not isinstance(run, dict)]
    if not logs:
        return texts[0][:9] if texts else "-"
    mean = sum(logs) / len(logs)
    if len(logs) < 2:
        return "%.4f" % math.exp(mean)
    error = math.sqrt(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1) / len(logs))
    error *= T[len(logs) - 1] if len(logs) <= len(T) else 2
    return "%.4f [%.4f %.4f]" % (math.exp(mean), math.exp(mean - error), math.exp(mean + error))


WIDTH = 9 if len(SEEDS) == 1 else 24


def show(policy, runs):
    """Prints a row.  'runs' has, for each of AUGMENTS, a list by seed; the mean
    completion time shown is that of the first seed."""
    done = [run for by_seed in runs for run in by_seed if isinstance(run, dict)]
    base = runs[0][0]
    other = [run for run in done if run["augment"] == "antiphase"]
    print("%-18s %-9s %10s %s %6s %7s" % (
        policy, (done[0]["place"] or "-") if done else "-",
        "%.1f" % base["mean_s"] if isinstance(base, dict) else base[:10],
        " ".join("%*s" % (WIDTH, ratio_of(runs[0], by_seed)) for by_seed in runs[1:]),
        "%.1f" % (100 * other[0]["fabric"]["n_others"] / other[0]["n_decisions"])
        if other else "-",
        "%.1f" % max(run["cpu_s"] for run in done) if done else "-"), flush=True)


def main():
    if not os.path.exists(TRACE):
        print("needs ../shared/data: philly/philly_2weeks.csv.gz")
        return 0
    names = sys.argv[1:] or policies()
    began_s = time.monotonic()
    print("%-18s %-9s %10s %s %6s %7s" % (
        "POLICY", "PLACE", "MEAN s",
        " ".join("%*s" % (WIDTH, name.upper()) for name in AUGMENTS[1:]),
        "%OTHER", "CORE s"), flush=True)
    for i, policy in enumerate(names):
        runs = []
        for augment in AUGMENTS:
            print(f"  {i + 1} of {len(names)}: {policy}, {augment}, "
                  f"{time.monotonic() - began_s:.0f} s", file=sys.stderr, flush=True)
            runs.append([replay(policy, augment, seed) for seed in SEEDS])
        show(policy, runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
