#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fidelity.py - how far 'antiphase sim flows' is from packets.

Runs each scenario of fidelity_scenarios.py in our engine and with packets, and prints one table per --protocol:

    ns3          DCTCP in ns-3, packet by packet (ns3_flows.cpp); the default
    dctcp, cubic, reno, ...
                 TCP of this kernel between network namespaces, to scale (fidelity_tcp.py).  Needs root

A row is a scenario:

    ITERATION  mean, p99: of all iterations of all jobs, and all runs with packets
    OFF        the fluid mean over that of packets, minus 1
    PAYLOAD    the same with capacities less the headers of packets.  For TCP of this kernel the same as OFF: its
               links are faster by the headers
    FIRST 5    the same as PAYLOAD, of the first 5 iterations alone
    OVERLAP    time in which two or more jobs send, over time in which any sends
    MARKED     share of packets with an ECN mark

Times are in ms, shares in %.  B is the build directory.

TCP of this kernel needs processor time.  Before its table one job alone must take the time that it has by hand,
within 1 %, or there is no table; a row has a * if a run of it lost processor time (fidelity_tcp.starved()).
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import fidelity_tcp
from fidelity_scenarios import MB, one_link, scenarios

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
B = os.path.join(ROOT, os.environ.get("B", "build/release"))
MSS = 4000
HEADERS = 42  # IPv4, TCP, PPP.


class Run:
    """End times by job, seconds, and ECN marks of one run."""

    def __init__(self, jobs, n_iterations, *outputs):
        self.jobs = jobs
        self.ends = [[] for _ in jobs]
        self.packets = self.marked = 0
        self.host = None  # Of TCP of this kernel: what it had of the machine.
        for line in "".join(outputs).splitlines():
            fields = line.split(",")
            if fields[1] == "ecn":
                self.packets += int(fields[2])
                self.marked += int(fields[3])
            else:
                self.ends[int(fields[0])].append(float(fields[2]))
        if any(len(ends) != n_iterations for ends in self.ends):
            raise ValueError("a run has not all iterations")

    def iterations(self, n=None):
        """Of all jobs, ms; of each the first 'n'."""
        return [1e3 * (b - a) for (shift, _, _), ends in zip(self.jobs, self.ends)
                for a, b in list(zip([shift / 1e3] + ends, ends))[:n]]

    def overlap(self):
        """Until the first job leaves.  None for a job alone."""
        stop, edges = min(ends[-1] for ends in self.ends), []
        for (shift, compute, _), ends in zip(self.jobs, self.ends):
            for a, b in zip([shift / 1e3] + ends, ends):
                edges += [(min(a + compute / 1e3, stop), 1), (min(b, stop), -1)]
        sending, last, some, more = 0, 0, 0, 0
        for at, step in sorted(edges):
            some += (at - last) * (sending >= 1)
            more += (at - last) * (sending >= 2)
            sending, last = sending + step, at
        return more / some if len(self.jobs) > 1 else None


def output(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=True,
                          text=True).stdout


def fluid(folder, fabric, jobs, n_iterations, headers):
    path = os.path.join(folder, "fluid.scn")
    with open(path, "w", encoding="ascii") as file:
        file.write(fabric.text(jobs, headers))
    return Run(jobs, n_iterations,
               output(f"{B}/antiphase-sim", "flows", "-n", n_iterations, path),
               output(f"{B}/tests/bench/flow_marks", path, n_iterations))


def packets(folder, fabric, jobs, n_iterations, seed, options):
    path = os.path.join(folder, "packets.scn")
    with open(path, "w", encoding="ascii") as file:
        file.write(fabric.text(jobs))
    return Run(jobs, n_iterations,
               output(f"{B}/tests/bench/ns3_flows", path, n_iterations, f"--mss={MSS}",
                      f"--seed={seed}", *options))


def tcp(folder, fabric, jobs, n_iterations, algorithm):
    ends, host = fidelity_tcp.run(folder, fabric, jobs, n_iterations, algorithm)
    run = Run(jobs, n_iterations, ends)
    run.host = host
    return run


def check_machine(folder, algorithm):
    """One job alone has a known time: 25 ms of computing, and 25 MB at 10 Gb/s.  Returns its error."""
    fabric, jobs = one_link([(0, 25, 25 * MB)])
    off = max(abs(t / 45 - 1) for t in tcp(folder, fabric, jobs, 3, algorithm).iterations())
    if off > 0.01:
        raise fidelity_tcp.Refused(f"one job alone is off by {100 * off:.1f} %, so this machine is too busy: "
                                   "run it again when no other program needs the processors")
    return off


def p99(values):
    return sorted(values)[-1 - len(values) // 100]


def summary(runs):
    """What a row says of these runs of the same scenario."""
    times = [t for run in runs for t in run.iterations()]
    overlaps = [run.overlap() for run in runs]
    n_packets = sum(run.packets for run in runs)
    return {"mean_ms": statistics.mean(times), "p99_ms": p99(times),
            "first5_ms": statistics.mean(t for run in runs for t in run.iterations(5)),
            "mean_ms_by_seed": [statistics.mean(run.iterations()) for run in runs],
            "overlap": None if overlaps[0] is None else statistics.mean(overlaps),
            "marked": sum(run.marked for run in runs) / n_packets if n_packets else 0.0}


def row(folder, name, fabric, jobs, protocol, args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    is_ns3 = protocol == "ns3"
    ours = summary([fluid(folder, fabric, jobs, args.iterations, 1)])
    payload = summary([fluid(folder, fabric, jobs, args.iterations, (MSS + HEADERS) / MSS if is_ns3 else 1)])
    runs = [packets(folder, fabric, jobs, args.iterations, seed, args.ns3) if is_ns3 else
            tcp(folder, fabric, jobs, args.iterations, protocol) for seed in range(1, args.seeds + 1)]
    theirs = summary(runs)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    hosts = [run.host for run in runs if run.host]
    return {"scenario": name, "protocol": protocol, "fluid": ours, "fluid_payload": payload, "packets": theirs,
            "off": ours["mean_ms"] / theirs["mean_ms"] - 1,
            "off_payload": payload["mean_ms"] / theirs["mean_ms"] - 1,
            "off_first5": payload["first5_ms"] / theirs["first5_ms"] - 1,
            "hosts": hosts, "starved": any(fidelity_tcp.starved(host) for host in hosts),
            "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


HEADER = ("SCENARIO", "FLUID", "PACKETS", "OFF", "PAYLOAD", "FIRST 5", "P99 FLUID", "PACKETS",
          "OVERLAP", "PACKETS", "MARKED", "PACKETS")


def cells(r):
    def share(value):
        return "-" if value is None else f"{100 * value:.1f}"

    ours, theirs = r["fluid"], r["packets"]
    return (r["scenario"] + " *" * r["starved"], f"{ours['mean_ms']:.2f}", f"{theirs['mean_ms']:.2f}",
            f"{100 * r['off']:+.1f}", f"{100 * r['off_payload']:+.1f}",
            f"{100 * r['off_first5']:+.1f}", f"{ours['p99_ms']:.2f}", f"{theirs['p99_ms']:.2f}",
            share(ours["overlap"]), share(theirs["overlap"]), share(ours["marked"]),
            share(theirs["marked"]))


def print_row(fields, markdown):
    if markdown:
        print("| " + " | ".join(fields) + " |", flush=True)
    else:
        print(f"{fields[0]:12}" + "".join(f" {field:>9}" for field in fields[1:]), flush=True)


def table(folder, protocol, chosen, args):
    """The rows of a protocol, which are also printed unless all of them are wanted as JSON."""
    rows = []
    if protocol != "ns3":
        off = check_machine(folder, protocol)
        print(f"fidelity: {protocol}: one job alone is off by {100 * off:.2f} %", file=sys.stderr)
    if not args.json:
        print("DCTCP in ns-3" if protocol == "ns3" else f"TCP {protocol} in Linux over tc", end="\n\n")
        print_row(HEADER, args.markdown)
        if args.markdown:
            print_row(["---"] * len(HEADER), True)
    for name, fabric, jobs in chosen:
        rows.append(row(folder, name, fabric, jobs, protocol, args))
        if not args.json:
            print_row(cells(rows[-1]), args.markdown)
    if not args.json:
        print()
    return rows


def arguments():
    parser = argparse.ArgumentParser(description="how far the simulator is from packets")
    parser.add_argument("--protocol", action="append", metavar="NAME",
                        help="ns3 (default), or dctcp, cubic, ... in this kernel; may be repeated")
    parser.add_argument("--iterations", type=int, default=20, help="of each job (default 20)")
    parser.add_argument("--seeds", type=int, default=3, help="runs with packets (default 3)")
    parser.add_argument("--only", default="", help="scenarios whose name begins with this word")
    parser.add_argument("--ns3", action="append", default=[], metavar="--OPTION=VALUE",
                        help="an option of ns3_flows, such as --ns3=--mark=50000")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    args = parser.parse_args()
    chosen = [s for s in scenarios() if s[0].startswith(args.only)]
    if not chosen or args.iterations < 1 or args.seeds < 1:
        parser.error("nothing to run")
    there = ["ns3"] + fidelity_tcp.congestion_controls()
    for name in args.protocol or []:
        if name not in there:
            parser.error(f"--protocol {name}: not on this machine, which has {', '.join(there)}")
    return args, chosen


def main():
    args, chosen = arguments()
    rows, status = [], 0
    for protocol in args.protocol or ["ns3"]:
        try:
            with tempfile.TemporaryDirectory() as folder:
                rows += table(folder, protocol, chosen, args)
        except fidelity_tcp.Refused as why:
            print(f"fidelity: {protocol}: {why}", file=sys.stderr)
            status = 1
    if args.json:
        json.dump({"iterations": args.iterations, "seeds": args.seeds, "ns3": args.ns3,
                   "rows": rows}, sys.stdout, indent=1)
        print()
    else:
        print(f"CPU time {sum(r['cpu_s'] for r in rows):.0f} s", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
