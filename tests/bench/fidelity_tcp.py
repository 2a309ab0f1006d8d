# SPDX-License-Identifier: Apache-2.0
"""fidelity_tcp.py - a flow scenario of fidelity_scenarios.py with TCP of this kernel, between network namespaces.

Two processors cannot carry 10 Gb/s, so a run is a model to scale: SIZE of the bytes, also of the mark threshold,
and links of at most RATE_BYTES_PER_S, slower if many of them are busy at once.  All times are longer in the same
proportion, and come back in those of the scenario.  What matters to TCP stays: the number of packets in a flow,
and the queue as a share of it.  Links are faster by the headers, so that times can be compared with those of the
fluid model, which has none.

tests/net/bench_tcp.sh makes the network and removes it; tcp_flows.c sends.
"""
import math
import os
import signal
import subprocess

from fidelity_scenarios import BYTES_PER_S

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZE = 0.375          # Packets carry 1448 bytes, not 4000: about as many packets as in ns3_flows.cpp.
RATE_BYTES_PER_S = 25000000
BUSY_LINKS = 4        # That two processors carry at this rate, with much left.
MARK_BYTES = 100000   # These two of the scenario, as in ns3_flows.cpp.
WARM_BYTES = 12500000
PAYLOAD = 1448        # Of a packet, with timestamps.
PACKET = 1514         # What tbf counts of it.
FIRST_ADDRESS = 0x0a000000
STOLEN_MAX = 0.05     # As in tests/net/run.
LATE_MAX_MS = 0.2     # Of a scenario: 0.4 % of the iteration of a pair.


class Refused(Exception):
    """This machine cannot run it: why."""


def congestion_controls():
    """Those of this kernel, and DCTCP, which tcp_flows adds if it is missing."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
        return sorted({"dctcp", *file.read().split()})


class Network:
    """Nodes follow from the paths: the head of a link is the tail of the next one."""

    def __init__(self, fabric, jobs):
        self.parent = {}
        self.flows = [flow for _, _, flows in jobs for flow in flows]
        for src, dst, _, path in self.flows:
            self.join(("host", src), ("tail", path[0]))
            self.join(("host", dst), ("head", path[-1]))
            for a, b in zip(path, path[1:]):
                self.join(("head", a), ("tail", b))
        self.names = {self.root(("host", host)): f"h{host}" for host in range(fabric.n_hosts)}
        self.links = range(len(fabric.links))
        self.first = {path[0] for _, _, _, path in self.flows}

    def root(self, end):
        while self.parent.get(end, end) != end:
            end = self.parent[end]
        return end

    def join(self, a, b):
        self.parent[self.root(a)] = self.root(b)

    def node(self, end, link):
        return self.names.setdefault(self.root((end, link)), f"s{len(self.names)}")

    def write(self, folder):
        cables, batches = [], {}
        for link in self.links:
            tail, head = self.node("tail", link), self.node("head", link)
            cables.append(f"{tail} u{link} {head} d{link} {'none' if link in self.first else 'marks'}")
            for node, iface in ((tail, f"u{link}"), (head, f"d{link}")):
                # Without ARP a packet has the address of its own interface: both ends have the same.
                batches.setdefault(node, []).append(
                    f"link set dev {iface} address 02:00:00:00:00:01 arp off gso_max_segs 1")
        for number, (src, dst, _, path) in enumerate(self.flows):
            sender, receiver = (str_address(FIRST_ADDRESS + 2 * number + end) for end in (1, 2))
            batches[f"h{src}"].append(f"addr add {sender}/32 dev lo")
            batches[f"h{dst}"].append(f"addr add {receiver}/32 dev lo")
            for link in path:
                batches[self.node("tail", link)].append(f"route add {receiver} dev u{link}")
                # An acknowledgment for each packet.
                batches[self.node("head", link)].append(f"route add {sender} dev d{link} quickack 1")
        for name in self.names.values():
            write(folder, f"{name}.ip", batches.get(name, []))
        write(folder, "nodes", self.names.values())
        write(folder, "cables", cables)


def str_address(address):
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def write(folder, name, lines):
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in lines)


def cpu_ticks():
    """Stolen by a hypervisor, and all; see proc_stat(5)."""
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return ticks[7], sum(ticks)


def stretch(jobs):
    """How much longer times are: a link's bytes against the rate that it has for them."""
    load = {}
    for _, _, flows in jobs:
        for _, _, size, path in flows:
            for link in path:
                load[link] = load.get(link, 0) + size
    busy = sum(load.values()) / max(load.values())
    return SIZE * BYTES_PER_S / RATE_BYTES_PER_S * max(1, busy / BUSY_LINKS)


def longest_s(jobs, n_iterations):
    """More than a run takes if all flows of all jobs go one after the other."""
    flows_s = sum(size for _, _, flows in jobs for _, _, size, _ in flows) / BYTES_PER_S
    return (max(shift + n_iterations * compute for shift, compute, _ in jobs) / 1e3 +
            2 * n_iterations * flows_s)


def settings(jobs, n_iterations, algorithm):
    n_flows = sum(len(flows) for _, _, flows in jobs)
    warm_s = 2 * n_flows * WARM_BYTES / BYTES_PER_S
    slower = stretch(jobs)
    return {"RATE_BYTES_PER_S": round(SIZE * BYTES_PER_S / slower * PACKET / PAYLOAD),
            "MARK_BYTES": round(SIZE * MARK_BYTES), "WARM_BYTES": round(SIZE * WARM_BYTES),
            "ITERATIONS": n_iterations, "CONGESTION_CONTROL": algorithm,
            "LIMIT_S": 20 + math.ceil(slower * (longest_s(jobs, n_iterations) + warm_s))}


def to_scenario(lines, slower):
    """Times of the run, in those of the scenario; and what the last line says of the run."""
    ends, host = [], None
    for line in lines:
        fields = line.strip().split(",")
        if fields[0] == "host":
            host = {"realtime": fields[1] == "1", "late_ms": float(fields[2]) / slower}
        elif fields[1] == "ecn":
            ends.append(line)
        else:
            ends.append(f"{fields[0]},{fields[1]},{float(fields[2]) / slower:.9f}\n")
    return "".join(ends), host


def starved(host):
    """Whether so much of the processors went elsewhere that times are not TCP's alone."""
    return host["stolen"] >= STOLEN_MAX or host["late_ms"] >= LATE_MAX_MS


def write_scenario(folder, fabric, jobs, slower):
    scaled = [(shift * slower, compute * slower, [(src, dst, round(SIZE * size), path)
                                                  for src, dst, size, path in flows])
              for shift, compute, flows in jobs]
    with open(os.path.join(folder, "flows.scn"), "w", encoding="ascii") as file:
        file.write(fabric.text(scaled))


def bench_tcp(folder):
    """What bench_tcp.sh prints, and its status.  It removes its network even when a signal ends this program."""
    script = subprocess.Popen(["bash", os.path.join(ROOT, "tests", "net", "bench_tcp.sh"), folder],
                              stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        return script.communicate()[0], script.returncode
    except BaseException:
        os.killpg(script.pid, signal.SIGTERM)
        script.wait()
        raise


def run(folder, fabric, jobs, n_iterations, algorithm):
    """
    The output of tcp_flows in times of the scenario, and of the host: whether "realtime", the share of processor
    time "stolen", and "late_ms" of the latest timer.  Raises Refused if this machine cannot run it.
    """
    Network(fabric, jobs).write(folder)
    write_scenario(folder, fabric, jobs, stretch(jobs))
    write(folder, "settings", (f"{key}={value}" for key, value in settings(jobs, n_iterations, algorithm).items()))
    stolen, ticks = cpu_ticks()
    said, status = bench_tcp(folder)
    stolen, ticks = cpu_ticks()[0] - stolen, cpu_ticks()[1] - ticks
    if said.startswith("SKIP"):
        raise Refused(said.split(": ", 2)[2].strip())
    if status:
        raise RuntimeError(said.strip())
    with open(os.path.join(folder, "ends"), encoding="ascii") as file:
        ends, host = to_scenario(file, stretch(jobs))
    host["stolen"] = stolen / max(ticks, 1)
    return ends, host
