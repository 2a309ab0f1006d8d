#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fidelity.py - tests of what 'make bench-fidelity' compares: scenarios, figures, and packets in short runs.

The runs with packets need ns3_flows, which 'make bench-fidelity' builds.  Prints PASS, FAIL and SKIP lines
for tests/run.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
import fidelity  # noqa: E402
import fidelity_scenarios  # noqa: E402

MB = 1000000
N = 3
failed = False


def verdict(good, what, why=""):
    global failed
    print("PASS" if good else "FAIL", "fidelity:", what)
    if not good:
        failed = True
        print(what, why, file=sys.stderr)


def fluid_run(folder, fabric, jobs):
    """As fidelity.fluid(), without the marks, whose program only the bench builds."""
    path = os.path.join(folder, "fluid.scn")
    with open(path, "w", encoding="ascii") as file:
        file.write(fabric.text(jobs))
    return fidelity.Run(jobs, N, fidelity.output(f"{fidelity.B}/antiphase-sim", "flows", "-n", N, path))


def test_scenarios(folder):
    for name, fabric, jobs in fidelity_scenarios.scenarios():
        try:
            fluid_run(folder, fabric, jobs)
        except (subprocess.CalledProcessError, ValueError) as error:
            verdict(False, f"the scenario {name} is valid", str(error))
            return
    verdict(True, "all scenarios are valid")


def test_figures(folder):
    """By hand: A sends alone for 10 ms, both for 20 ms, B alone for 10 ms."""
    fabric, jobs = fidelity_scenarios.one_link([(0, 25, 25 * MB), (10, 25, 25 * MB)])
    run = fluid_run(folder, fabric, jobs)
    times = run.iterations()
    verdict(len(times) == 2 * N and all(abs(t - 55) < 1e-6 for t in times), "iterations of a pair by 10", str(times))
    # A's third iteration ends at 165 ms, and so the window: 2.75 periods of B, which begins later.
    overlap = run.overlap()
    verdict(abs(overlap - 60 / 110) < 1e-6, "overlap of a pair by 10", str(overlap))


def test_packets(folder):
    if not os.path.exists(f"{fidelity.B}/tests/bench/ns3_flows"):
        print("SKIP fidelity: packets: ns3_flows is not built (make bench-fidelity)")
        return
    # A packet of 4042 bytes on three links, each of which delays it; a start up to 10 us late.
    fabric, jobs = fidelity_scenarios.one_link([(0, 1, MB)])
    run = fidelity.packets(folder, fabric, jobs, N, 1, [])
    best_ms = 1 + (MB * 4042 / 4000 + 2 * 4042) / 1.25e6 + 0.003
    times = run.iterations()
    verdict(all(0 <= t - best_ms < 0.011 for t in times[1:]), "a flow alone takes its bytes and headers", str(times))
    verdict(run.packets >= N * 250 and run.marked == 0, "a flow alone is not marked")
    fabric, jobs = fidelity_scenarios.one_link([(0, 1, MB), (0, 1, MB)])
    run = fidelity.packets(folder, fabric, jobs, N, 1, [])
    verdict(run.marked > 0, "flows that share a link are marked")
    again = fidelity.packets(folder, fabric, jobs, N, 1, [])
    verdict(run.ends == again.ends, "the same seed gives the same times")


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_scenarios(folder)
        test_figures(folder)
        test_packets(folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
