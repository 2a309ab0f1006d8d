#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""simulator_whole.py - whole programs on the same flow scenarios, ours and SimGrid's.

CPU time, user and system, of 'antiphase sim flows' and of simgrid_flows, with reading and
with all end times written, best of RUNS (3) in turn; long enough that the start of a
program does not count.  Rows say if a ratio is below its bar.  simulator.sh compares the
runs alone.
"""
import os
import re
import resource
import subprocess
import tempfile

B = os.environ["B"]
RUNS = int(os.environ.get("RUNS", "3"))
SIMGRID = ["--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0",
           "--cfg=network/optim:Lazy", "--cfg=contexts/factory:raw", "--cfg=surf/precision:1e-9",
           "--cfg=maxmin/precision:1e-9"]
# Name, iterations, bar.
SCENARIOS = [("n16-rand", 200000, 30), ("n128-rand", 20000, 30), ("n1024-rand", 1000, 40),
             ("n48-shared", 200, 20), ("n4096-rand", 50, 60)]


def write_scenario(name, n_iterations, path):
    """The scenario of ../shared/data/sim or of make_scn, with so many iterations."""
    try:
        with open(f"../shared/data/sim/{name}.scn", encoding="ascii") as file:
            text = file.read()
    except FileNotFoundError:
        text = subprocess.run([f"{B}/tests/bench/make_scn", name], check=True, capture_output=True, text=True).stdout
    with open(path, "w", encoding="ascii") as file:
        file.write(re.sub(r"^(J \d+) \d+", rf"\1 {n_iterations}", text, flags=re.M))


def cpu_s(command, out):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out, "wb") as file:
        subprocess.run(command, check=True, stdout=file, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(folder, name, n_iterations):
    path, n = f"{folder}/{name}.scn", str(n_iterations)
    write_scenario(name, n_iterations, path)
    ours, theirs = [], []
    for _ in range(RUNS):
        ours.append(cpu_s([f"{B}/antiphase-sim", "flows", path], f"{folder}/ours"))
        theirs.append(cpu_s([f"{B}/tests/bench/simgrid_flows", path, n, f"{folder}/theirs"] + SIMGRID, os.devnull))
    return min(ours), min(theirs)


def main():
    # SimGrid walks components recursively.
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    resource.setrlimit(resource.RLIMIT_STACK, (hard, hard))
    print(f"\nWhole programs, output written: CPU time, best of {RUNS}")
    print(f"{'scenario':<12} {'iterations':>10} {'ours s':>8} {'SimGrid s':>10} {'ratio':>8} {'bar':>5}")
    with tempfile.TemporaryDirectory() as folder:
        for name, n_iterations, bar in SCENARIOS:
            ours, theirs = compare(folder, name, n_iterations)
            note = "" if theirs >= bar * ours else "  BELOW THE BAR"
            print(f"{name:<12} {n_iterations:>10} {ours:>8.3f} {theirs:>10.3f} {theirs / ours:>7.1f}x {bar:>4}x{note}",
                  flush=True)


if __name__ == "__main__":
    main()
