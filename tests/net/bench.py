#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench.py RESULTS - prints the table of bench.sh from its measurements."""
import statistics
import sys
from collections import defaultdict

BAR_LINK_NS, BAR_JOBS_NS, BAR_DRAIN, BAR_RSS_MB = 60, 200, 1.0, 64
SIZES = {"large": "large segments (GSO)", "mtu": "segments of the MTU"}
# The kernel has both ends of the cable.  So the tracepoint program for sending runs for
# packets of every interface; the other programs run only for the watched interface.
TRACED = "antiphase_tx"
OFFERED, RECEIVED = "antiphase_offer", "antiphase_rx"
# Programs at the same hooks: FLOORS do nothing, CLOCKS only read the clock.
FLOORS = {TRACED: "ap_floor_tx", OFFERED: "ap_floor_offer", RECEIVED: "ap_floor_rx"}
CLOCKS = {TRACED: "ap_clock_tx", OFFERED: "ap_clock_offer", RECEIVED: "ap_clock_rx"}


def rows(file):
    with open(file, encoding="ascii") as lines:
        return [line.split() for line in lines]


def row(what, measured, unit, bar):
    print("  %-46s %8.1f %-4s %6g %-4s %5.2f" % (what, measured, unit, bar, unit,
                                              measured / bar))


def run_ns(rounds, program):
    """Returns the ns per run of a program, as the median over the rounds."""
    each = [s[program][1] / s[program][0] for s in rounds if program in s]
    return statistics.median(each) if each else 0


def net_ns(round_, program, floors):
    runs, ns = round_.get(program, (0, 0))
    return ns - floors[program] * runs


def sent_ns(round_, floors, other):
    """ns per sent packet, without the cost of other interfaces' packets."""
    sent = round_["sent"][0]
    others = max(0, round_.get(TRACED, (0, 0))[0] - sent)
    return (net_ns(round_, TRACED, floors) - others * other +
            net_ns(round_, OFFERED, floors)) / sent


def received_ns(round_, floors, _):
    return net_ns(round_, RECEIVED, floors) / round_["received"][0]


def segments(round_):
    """Approximate number of packets on the wire, of 1448 bytes each, per packet of the
    interface."""
    packets = round_["sent"][0] + round_["received"][0]
    size = (round_["sent"][1] + round_["received"][1]) / packets
    return max(1, (size - 66) / 1448)


def packets(results):
    seen = defaultdict(dict)
    for number, size, kind, program, runs, ns in rows(results + ".packets"):
        seen[number, size, kind][program] = int(runs), int(ns)
    print("ns a packet, less the floor (median of the rounds)   measured       bar     ratio")
    for size, title in SIZES.items():
        def of(kind):
            return [s for (_, z, k), s in seen.items() if (z, k) == (size, kind)]

        floors = {program: run_ns(of("floor"), floor) for program, floor in FLOORS.items()}
        other = run_ns(of("idle"), TRACED) - floors[TRACED]
        print("  %s; floors %.1f, %.1f and %.1f ns (handed to the device, offered, "
              "received); other interfaces' packets %.1f ns" % (
                  title, floors[TRACED], floors[OFFERED], floors[RECEIVED], other))
        for program, path in ((TRACED, "sent"), (RECEIVED, "received")):
            row("  the clock read, and no more, %s" % path,
                run_ns(of("clock"), CLOCKS[program]) - floors[program], "ns", BAR_LINK_NS)
        for kind, name, bar in (("link", "link-only", BAR_LINK_NS),
                                ("jobs", "with jobs", BAR_JOBS_NS)):
            for path, cost in (("sent", sent_ns), ("received", received_ns)):
                row("  %s, %s" % (name, path),
                    statistics.median(cost(s, floors, other) for s in of(kind)), "ns", bar)
            every = [(s["sent"][0] * sent_ns(s, floors, other) +
                      s["received"][0] * received_ns(s, floors, other)) /
                     (s["sent"][0] + s["received"][0]) for s in of(kind)]
            row("  %s, mean of both" % name, statistics.median(every), "ns", bar)
            if size == "large":
                wire = [e / segments(s) for e, s in zip(every, of(kind))]
                row("  %s, a packet on the wire" % name, statistics.median(wire), "ns", bar)


def throughput(results):
    seen = defaultdict(list)
    for _, size, kind, gbps, cpu_us, seconds in rows(results + ".throughput"):
        gbps, cpu_s = float(gbps), int(cpu_us) / 1e6
        seen[size, kind].append((gbps * float(seconds) / cpu_s, gbps))
    print("iperf3, one TCP stream (medians)                    Gbit a CPU s      Gb/s  against none")
    for size, title in SIZES.items():
        base = statistics.median(x[0] for x in seen[size, "none"])
        for kind, name in (("none", "without"), ("link", "link-only"), ("jobs", "with jobs")):
            each = statistics.median(x[0] for x in seen[size, kind])
            print("  %-48s %8.2f  %8.2f  %8.3f" % (
                "%s, %s" % (title, name), each,
                statistics.median(x[1] for x in seen[size, kind]), each / base))


def drain(results):
    print("user space, 16 interfaces, no bin empty                 measured       bar     ratio")
    for line in rows(results + ".drain"):
        if line[0] == "rss":
            row("resident set", int(line[1]) / 1024, "MiB", BAR_RSS_MB)
        else:
            name = {"summaries": "CPU, summaries only",
                    "raw": "CPU, somebody asks for the 1 ms series"}[line[0]]
            row(name, 100 * int(line[1]) / int(line[2]), "%", BAR_DRAIN)


packets(sys.argv[1])
throughput(sys.argv[1])
drain(sys.argv[1])
