# SPDX-License-Identifier: Apache-2.0
"""harm_scenario.py - random scenarios for harm.py.

draw(number) returns one scenario: a fabric of 8 to 512 hosts and 2 to 40 jobs, some
placed and some waiting.  The same number gives the same scenario.  What varies:

    fabric       leaf-spine, fat tree, rail-optimized, three-tier; 1:1 to 4:1
    hosts        8 to 512, 1 to 4 slots each (so that jobs can share a host)
    jobs         2 to 40 of 2 to 64 hosts; placed at random, placed side by side, waiting
    collective   ring, tree, all-to-all, hierarchical; 1 to 4 connections a peer
    period       20 to 2,000 ms: equal, harmonic, of three kinds, or unrelated
    duty         5 to 70 % of the period, in one burst, in two, or beside computation
    jitter       0 to 5 % of the compute time
"""
import collections
import math
import random

GBPS = (25, 50, 100, 400)
MAX_SIZE = 64         # Hosts of a job.
JITTERS = (0, 0.5, 1, 1, 2, 5)
MAX_FLOWS = 4000      # Of one job, in one iteration.
RUN_FLOWS = 150e3     # Started in one run, about.
MOST_FLOWS = 600e3    # A scenario above this is drawn again.
LEAST_PERIODS = 12    # Of the slowest job, in one run.
MOST_PERIODS = 150

# period_us is the isolated iteration; the goodput of a job is its share of that.
Job = collections.namedtuple("Job", "name hosts weight period_us lines n_flows")
Scenario = collections.namedtuple("Scenario", "number kind n_hosts jobs text")


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


# ---- Fabrics -------------------------------------------------------------------------

def leaf_spine(rng, n_hosts):
    per_leaf = min(rng.choice((4, 8, 8, 16, 32)), max(2, n_hosts // 2))
    n_leaves = max(2, round(n_hosts / per_leaf))
    over = rng.choice((1, 1, 1.5, 2, 2, 3, 4))
    words = "leaf-spine --leaves %d --hosts-per-leaf %d" % (n_leaves, per_leaf)
    if rng.random() < 0.5:
        words += " --spines %d" % max(1, round(per_leaf / over))
    else:
        words += " --spines %d --oversubscription %g" % (rng.choice((2, 3, 4, 8)), over)
    return words, n_leaves * per_leaf, per_leaf, 1


def fat_tree(rng, n_hosts):
    k = min((4, 6, 8, 10, 12), key=lambda k: abs(math.log(k ** 3 / 4 / n_hosts)))
    words = "fat-tree --k %d --oversubscription %d" % (k, rng.choice((1, 1, 2, 4)))
    return words, k ** 3 // 4, k // 2, 1


def rail(rng, n_hosts):
    n_rails = rng.choice((2, 4)) if n_hosts > 64 else rng.choice((2, 4, 8))
    per_group = min(rng.choice((4, 8, 16, 32)), max(2, n_hosts // 2))
    n_groups = max(2, round(n_hosts / per_group))
    words = ("rail-optimized --rails %d --hosts-per-group %d --groups %d --spines %d "
             "--oversubscription %d" % (n_rails, per_group, n_groups,
                                        rng.choice((2, 4)), rng.choice((1, 1, 2, 3, 4))))
    return words, per_group * n_groups, per_group, n_rails


def three_tier(rng, n_hosts):
    n_pods = rng.choice((2, 2, 4)) if n_hosts >= 32 else 2
    per_access = rng.choice((4, 8, 16)) if n_hosts >= 64 else rng.choice((2, 4))
    n_access = max(1, round(n_hosts / n_pods / per_access))
    words = ("three-tier --pods %d --access-per-pod %d --hosts-per-access %d --agg-per-pod %d "
             "--cores %d --access-oversubscription %d --agg-oversubscription %d" % (
                 n_pods, n_access, per_access, rng.choice((2, 2, 4)), rng.choice((2, 2, 4)),
                 rng.choice((1, 1, 2)), rng.choice((1, 1, 2))))
    return words, n_pods * n_access * per_access, per_access, 1


KINDS = (leaf_spine, leaf_spine, fat_tree, rail, three_tier)


# ---- Jobs ----------------------------------------------------------------------------

def period_source(rng):
    """Returns a function that draws a period in microseconds."""
    base = log_uniform(rng, 20e3, 2000e3)
    regime = rng.choice(("equal", "harmonic", "three", "near", "far"))
    if regime == "equal":
        return lambda: base
    if regime == "harmonic":
        return lambda: base * rng.choice((0.5, 1, 1, 2, 4))
    if regime == "three":
        kinds = [log_uniform(rng, base / 3, base * 3) for _ in range(3)]
        return lambda: rng.choice(kinds)
    # Periods that differ by little come into step and out of it again slowly.
    spread = 10 if regime == "far" else 1.01 if round(base) % 2 else 1.5
    return lambda: log_uniform(rng, base / spread, base * spread)


def segments(rng, period_us, duty, gbps):
    """Returns lines of segments, and the period of the isolated job."""
    period_us = round(min(max(period_us, 20e3), 2000e3))
    send_us = max(100, round(duty * period_us))
    rest_us = period_us - send_us
    size = send_us * gbps * 125     # Bytes at the rate of the interface.
    shape = rng.random()
    if shape < 0.65:
        lines = ["segment = compute %d us" % rest_us, "segment = send %d B" % size]
    elif shape < 0.8:
        first = round(rest_us * rng.uniform(0.2, 0.8))
        lines = ["segment = compute %d us" % first, "segment = send %d B" % (size // 2),
                 "segment = compute %d us" % (rest_us - first),
                 "segment = send %d B" % (size - size // 2)]
    elif shape < 0.9:
        after = round(rest_us * rng.uniform(0, 0.5))
        lines = ["segment = compute %d us + send %d B after %d us" % (rest_us, size // 2,
                                                                     after),
                 "segment = send %d B" % (size - size // 2)]
        period_us = max(rest_us, after + send_us // 2) + send_us - send_us // 2
    else:
        lines = ["segment = compute %d us" % rest_us,
                 "segment = send %d B at %g Gb/s" % (size // 2, gbps / 2)]
    return lines, period_us


def n_flows_of(collective, n_hosts, n_rails, n_connections):
    if collective == "all-to-all":
        return n_hosts * (n_hosts - 1) * n_rails * n_connections
    return 2 * n_hosts * n_rails * n_connections


def take_hosts(rng, free, n, n_slots, mode, per_leaf):
    """Takes slots of 'n' hosts; returns the hosts, or None if there is no room."""
    room = [h for h in range(len(free)) if free[h] >= n_slots]
    if len(room) < n:
        return None
    if mode == "scattered":
        hosts = rng.sample(room, n)
    else:
        start = rng.randrange(len(room))
        start -= room[start] % per_leaf if rng.random() < 0.5 else 0
        hosts = [room[(start + i) % len(room)] for i in range(n)]
    for h in hosts:
        free[h] -= n_slots
    return sorted(hosts)


def draw_jobs(rng, n_hosts, n_rails, per_leaf, slots, gbps):
    free = [slots] * n_hosts
    n_jobs = min(round(log_uniform(rng, 2, 40)), max(2, n_hosts // 2 * slots))
    waiting = rng.choice((0, 0, 0.3, 0.6, 1))
    mode = rng.choice(("scattered", "scattered", "side by side"))
    fill = rng.uniform(0.4, 1) * n_hosts * slots
    mean_size = fill / slots / n_jobs
    low = rng.uniform(0.05, 0.4)
    high = rng.uniform(low, 0.7)
    jitter = rng.choice(JITTERS + (None,))
    connections = rng.choice((1, 1, 1, 2, 4, None))
    collectives = rng.choice((("ring",), ("ring",), ("all-to-all",),
                              ("ring", "tree", "all-to-all", "hierarchical")))
    period = period_source(rng)
    weighted = rng.random() < 0.25
    jobs = []
    for i in range(n_jobs):
        n = round(log_uniform(rng, 2, max(3, min(MAX_SIZE, n_hosts / 2, mean_size * 2))))
        job_slots = rng.randint(1, slots)
        is_waiting = rng.random() < waiting
        if n * job_slots > fill:
            n = 2
        hosts = take_hosts(rng, free, n, job_slots,
                           "scattered" if is_waiting else mode, per_leaf)
        if not hosts:
            continue
        fill -= n * job_slots
        collective = rng.choice(collectives)
        n_connections = connections or rng.randint(1, 4)
        while n_flows_of(collective, n, n_rails, n_connections) > MAX_FLOWS:
            collective = "ring"
            n_connections = max(1, n_connections // 2)
        lines, period_us = segments(rng, period(), rng.uniform(low, high), gbps)
        if is_waiting:
            where = ["nodes = %d" % n]     # What it has taken is room for it, somewhere.
        else:
            where = ["hosts = " + ",".join("h%d" % h for h in hosts)]
        weight = n * job_slots
        if weighted:
            weight = rng.randint(1, 10)
            where.append("weight = %d" % weight)
        if job_slots > 1:
            where.append("slots = %d" % job_slots)
        if n_connections > 1:
            where.append("connections = %d" % n_connections)
        where.append("collective = " + collective)
        where.append("jitter = %g %%" % (rng.choice(JITTERS) if jitter is None else jitter))
        jobs.append(Job("j%d" % i, None if is_waiting else hosts, weight, period_us,
                        where + lines,
                        n_flows_of(collective, n, n_rails, n_connections)))
    return jobs


# ---- The scenario --------------------------------------------------------------------

def duration_us(jobs):
    """Returns the duration of a run, and the flows that it starts."""
    longest = max(job.period_us for job in jobs)
    per_us = sum(job.n_flows / job.period_us for job in jobs)
    duration = min(max(RUN_FLOWS / per_us, LEAST_PERIODS * longest), MOST_PERIODS * longest)
    return round(duration), per_us * duration


def draw(number):
    rng = random.Random(number)
    while True:
        kind = rng.choice(KINDS)
        words, n_hosts, per_leaf, n_rails = kind(rng, round(log_uniform(rng, 8, 512)))
        slots = n_rails if kind is rail and rng.random() < 0.5 else rng.choice((1, 1, 1, 2, 4))
        gbps = rng.choice(GBPS)
        if not 8 <= n_hosts <= 512:
            continue
        jobs = draw_jobs(rng, n_hosts, n_rails, per_leaf, slots, gbps)
        if len(jobs) < 2:
            continue
        duration, n_flows = duration_us(jobs)
        if n_flows <= MOST_FLOWS:
            break
    text = ["; Scenario %d of harm_scenario.py" % number, "[sim]", "duration = %d us" % duration,
            "warmup_iterations = 3", "seed = %d" % number, "", "[fabric]",
            "generate = %s --gbps %d --slots %d" % (words, gbps, slots),
            "ecmp_seed = %d" % number]
    for job in jobs:
        text += ["", "[job %s]" % job.name] + job.lines
    return Scenario(number, kind.__name__, n_hosts, jobs, "\n".join(text) + "\n")
