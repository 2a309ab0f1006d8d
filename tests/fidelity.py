#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fidelity.py - tests of what 'make bench-fidelity' compares: scenarios, figures, and packets in short runs.

The runs with packets need ns3_flows, which 'make bench-fidelity' builds.  With --tcp only a run with TCP of this
kernel, as root, which needs tcp_flows (tests/net/fidelity_tcp.sh).  Prints PASS, FAIL and SKIP lines for tests/run
and tests/net/run.
"""
import glob
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
import fidelity  # noqa: E402
import fidelity_scenarios  # noqa: E402
import fidelity_tcp  # noqa: E402

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


def routes(folder, node):
    with open(os.path.join(folder, f"{node}.ip"), encoding="ascii") as file:
        return [line.split()[2] for line in file if line.startswith("route")]


def test_networks():
    """Each packet has one way at each node, and as many nodes as links and one more."""
    for name, fabric, jobs in fidelity_scenarios.scenarios():
        with tempfile.TemporaryDirectory() as folder:
            network = fidelity_tcp.Network(fabric, jobs)
            network.write(folder)
            of_nodes = {node: routes(folder, node) for node in network.names.values()}
        n_routes = sum(len(to) for to in of_nodes.values())
        if (any(len(to) != len(set(to)) for to in of_nodes.values()) or
                n_routes != 2 * sum(len(path) for _, _, _, path in network.flows)):
            verdict(False, f"the network of {name}", str(of_nodes))
            return
    verdict(True, "networks for TCP have one way for each packet")
    fabric, jobs = fidelity_scenarios.one_link([(0, 25, 25 * MB)])
    verdict(fidelity_tcp.stretch(jobs) == 18.75, "the times of a run with TCP", str(fidelity_tcp.stretch(jobs)))
    ends, host = fidelity_tcp.to_scenario(["0,0,0.450000000\n", "0,ecn,5,2\n", "host,1,3.000\n"], 10)
    verdict(ends == "0,0,0.045000000\n0,ecn,5,2\n" and host == {"realtime": True, "late_ms": 0.3},
            "its times are those of the scenario", f"{ends} {host}")
    verdict(fidelity_tcp.starved({"late_ms": 0.3, "stolen": 0}) and fidelity_tcp.starved({"late_ms": 0, "stolen": 0.06})
            and not fidelity_tcp.starved({"late_ms": 0.1, "stolen": 0.01}), "runs without processor time are marked")


def test_tcp(folder):
    if os.geteuid() != 0:
        print("SKIP fidelity: TCP of this kernel: it needs root")
        return
    if not os.path.exists(f"{fidelity.B}/tests/bench/tcp_flows"):
        print("SKIP fidelity: TCP of this kernel: tcp_flows is not built (make bench-fidelity)")
        return
    fabric, jobs = fidelity_scenarios.one_link([(0, 5, 5 * MB), (2, 5, 5 * MB)])
    lab = os.environ.setdefault("LAB", f"aft{os.getpid()}")
    for algorithm in ("cubic", "dctcp"):
        try:
            run = fidelity.tcp(folder, fabric, jobs, N, algorithm)
        except fidelity_tcp.Refused as why:
            print(f"SKIP fidelity: {algorithm}: {why}")
            continue
        # The link passes 16 KB at once after a pause, of 1 MB.
        times = run.iterations()
        verdict(len(times) == 2 * N and all(t > 9 - 0.1 for t in times),
                f"{algorithm}: iterations take computing and sending", str(times))
        verdict(0 < run.marked <= run.packets, f"{algorithm}: flows that share a link are marked",
                f"{run.marked} of {run.packets}")
    left = glob.glob(f"/run/netns/{lab}-*") + glob.glob(f"/tmp/{lab}.*")
    verdict(not left, "no namespace and no folder of them is left", str(left))


def main():
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1:] == ["--tcp"]:
            test_tcp(folder)
        else:
            test_scenarios(folder)
            test_figures(folder)
            test_networks()
            test_packets(folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
