#!/usr/bin/env python3
"""slice.py [POLICY...] - two weeks of Philly on a fabric, without and with augmentation.

48 nodes of 8 GPUs, 6 leaves of 8 nodes, 50 Gb/s, 4:1; jobs of 4 GPUs and more train models
of examples/models, drawn by the seed.  A row a policy: the mean completion time, that with
CASSINI and with antiphase over it, the share of decisions in which antiphase took another
plan than the policy's own, and the most seconds of one core that any of the runs took.
ITERATIONS (16; components of forty jobs cost by the square) and SEED (1) are those of
'antiphase sim replay'.  Progress is on standard error.
"""
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIM = os.path.join(ROOT, os.environ.get("B", "build/release"), "antiphase-sim")
TRACE = os.path.join(ROOT, "../shared/data/traces/philly/philly_2weeks.csv.gz")
FABRIC = "leaf-spine --leaves 6 --hosts-per-leaf 8 --gbps 50 --oversubscription 4"
AUGMENTS = ("none", "cassini", "antiphase")
OPTIONS = ["--cluster", "48x8/8", "--fabric", FABRIC, "--model-gpus", "4",
           "--models", os.path.join(ROOT, "examples/models"),
           "--iterations", os.environ.get("ITERATIONS", "16"),
           "--seed", os.environ.get("SEED", "1")]


def policies():
    out = subprocess.run([SIM, "policies", "--json"], check=True, capture_output=True)
    return [p["name"] for p in json.loads(out.stdout)["policies"]]


def replay(policy, augment):
    child = subprocess.Popen([SIM, "replay", TRACE, *OPTIONS, "--policy", policy,
                              "--augment", augment, "--json"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        return None
    run = json.loads(out)["policies"][0]
    run["cpu_s"] = usage.ru_utime + usage.ru_stime
    return run


def show(policy, runs):
    base, cassini, antiphase = runs
    print(f"{policy:18} {base['place'] or '-':9} {base['mean_s']:10.1f} "
          f"{cassini['mean_s'] / base['mean_s']:8.4f} "
          f"{antiphase['mean_s'] / base['mean_s']:9.4f} "
          f"{100 * antiphase['fabric']['n_others'] / antiphase['n_decisions']:6.1f} "
          f"{max(r['cpu_s'] for r in runs):7.1f}", flush=True)


def main():
    if not os.path.exists(TRACE):
        print("needs ../shared/data: philly/philly_2weeks.csv.gz")
        return 0
    names = sys.argv[1:] or policies()
    began_s = time.monotonic()
    print(f"{'POLICY':18} {'PLACE':9} {'MEAN s':>10} {'CASSINI':>8} {'ANTIPHASE':>9} "
          f"{'% OTHER':>6} {'CORE s':>7}", flush=True)
    for i, policy in enumerate(names):
        runs = []
        for augment in AUGMENTS:
            print(f"  {i + 1} of {len(names)}: {policy}, {augment}, "
                  f"{time.monotonic() - began_s:.0f} s", file=sys.stderr, flush=True)
            runs.append(replay(policy, augment))
        if all(runs):
            show(policy, runs)
        else:
            print(f"{policy:18} does not replay this trace", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
