# SPDX-License-Identifier: Apache-2.0
"""fidelity_scenarios.py - the flow scenarios of fidelity.py, as text in the format 'fabscn 1'.

All links have 10 Gb/s, so that simulating packets is affordable.
"""
import random

BYTES_PER_S = 1250000000
MB = 1000000


class Fabric:
    """Links by name, numbered in the order of their first use."""

    def __init__(self, n_hosts):
        self.n_hosts = n_hosts
        self.links = {}

    def path(self, *names):
        return [self.links.setdefault(name, len(self.links)) for name in names]

    def text(self, jobs, headers=1.0):
        """The scenario with 'jobs', and capacities divided by 'headers'."""
        rate = round(BYTES_PER_S / headers)
        lines = ["fabscn 1", f"hosts {self.n_hosts}", f"links {len(self.links)}"]
        lines += [f"L {number} {rate} {name}" for name, number in self.links.items()]
        lines += [f"jobs {len(jobs)}"]
        for number, (shift_ms, compute_ms, flows) in enumerate(jobs):
            lines += [f"J {number} 1000000 {round(1e6 * shift_ms)} {round(1e6 * compute_ms)} "
                      f"{len(flows)}"]
            lines += [f"F {src} {dst} {size} {len(path)} {' '.join(map(str, path))}"
                      for src, dst, size, path in flows]
        return "\n".join(lines) + "\n"


class LeafSpine(Fabric):
    """Leaves of 4 hosts and 2 spines: 2:1.  The spine of each flow is drawn."""

    def __init__(self, n_leaves):
        super().__init__(4 * n_leaves)
        self.random = random.Random(1)

    def flow(self, src, dst, size):
        spine, leaf, to = self.random.randrange(2), src // 4, dst // 4
        between = [] if leaf == to else [f"l{leaf}.s{spine}.up", f"l{to}.s{spine}.dn"]
        return src, dst, size, self.path(f"h{src}.up", *between, f"h{dst}.dn")

    def ring(self, hosts, size):
        return [self.flow(a, b, size) for a, b in zip(hosts, hosts[1:] + hosts[:1])]


def one_link(specs):
    """A job of one flow for each (shift_ms, compute_ms, bytes), all over one link."""
    fabric, n = Fabric(2 * len(specs)), len(specs)
    return fabric, [(shift, compute,
                     [(i, n + i, size, fabric.path(f"h{i}.up", "trunk", f"h{n + i}.dn"))])
                    for i, (shift, compute, size) in enumerate(specs)]


def ring24():
    fabric = LeafSpine(6)
    hosts = random.Random(2).sample(range(24), 24)
    return fabric, [(0, 5, fabric.ring(hosts, 4 * MB))]


def rings24():
    fabric = LeafSpine(6)
    hosts = random.Random(2).sample(range(24), 24)
    return fabric, [(0, 5 + i, fabric.ring(hosts[8 * i:8 * i + 8], 4 * MB)) for i in range(3)]


def incast(n, size):
    fabric = Fabric(n + 1)
    return fabric, [(0, 5, [(i, n, size, fabric.path(f"h{i}.up", "receiver"))
                            for i in range(n)])]


def alltoall():
    fabric = LeafSpine(2)
    return fabric, [(0, 5, [fabric.flow(a, b, MB) for a in range(8) for b in range(8) if a != b])]


def scenarios():
    """(name, fabric, jobs) of each; "pair 10": 20 ms of sending and 25 ms of computing."""
    for shift in (0, 5, 10, 15, 20):
        yield f"pair {shift}", *one_link([(0, 25, 25 * MB), (shift, 25, 25 * MB)])
    for shift in (0, 3.75, 7.5, 11.25, 15):
        yield f"triple {shift:g}", *one_link([(i * shift, 30, 18750000) for i in range(3)])
    yield "ring 24", *ring24()
    yield "rings 3x8", *rings24()
    yield "incast 8", *incast(8, 2500000)
    yield "incast 23", *incast(23, MB // 2)
    yield "alltoall 8", *alltoall()
