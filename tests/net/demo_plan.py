#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo_plan.py DIR CASE... - plans the runs of demo_live.sh; writes DIR/plan.json.

Prints a line for each run, in order: "CASE RUN MODE LINKS SECONDS JOB...".  LINKS is
shared; apart: each job has its own links; or paths: there are two uplinks of two jobs
each, between which leaves choose by a hash, and all three jobs are on one.  A JOB is
NAME:HOSTS:ARGUMENTS for arl.c, with ':' in place of blanks.

The relative phases of the jobs decide what contention costs: between nothing and a
third.  A run is one draw of these phases.  So runs come in pairs, without and with
antiphase; the order alternates (ABBA).  Both runs of a pair have the same starts and
the same compute times; other pairs have others.  The starts of N pairs are drawn from N
equal parts of the period, each part once for each job.  Between the pairs, jobs run
isolated, in turn, because the machine's speed drifts.

Environment variables: DEMO_PAIRS and DEMO_SECONDS (for all cases), DEMO_ALONE_SECONDS,
DEMO_SEED.
"""
import json
import os
import random
import sys

RATE_MBPS = 300
JITTER = 0.02  # Of compute times, in either direction.
LATENCY_MS = 4  # Approximate time of an iteration beyond its fluid time.
NAMES = "ABC"
HOSTS = {"A": "h0,h3", "B": "h1,h4", "C": "h2,h5"}
HOST_MBPS = 140  # LINKS 'paths' of live_lab.sh.
CHANGE_S = 12  # When C begins to compute longer, without contention.
CHANGE_FACTOR = 1.3
CONTROL_TIMES = 1.5  # Length relative to an isolated run.

# (MB, ms of computing) of each job.  The jobs of 'equal' send for 112 of 372 ms each;
# the three together send for 90 % of the period.  In the simulator, random starts then
# mean a slowdown of 1.20.  With 3.5 MB it is 1.16, and many starts are below 1.15.
# With 4.5 MB (95 % of the period), taking turns leaves no room for jitter.
#
# The jobs of 'paths' send for 83 % of their periods, at 140 Mb/s, which is less than half
# an uplink of 300 Mb/s.  So three on an uplink share it nearly all the time, and two
# never have to.
CASES = {
    "equal": {"title": "nearly equal periods", "pairs": 3, "seconds": 45,
              "jobs": [(4.2, 258), (4.2, 260), (4.2, 262)]},
    "ratio": {"title": "periods as 1 : 2", "pairs": 2, "seconds": 60,
              "jobs": [(4, 260), (7, 549), (7, 551)]},
    "incommensurate": {"title": "periods that have nothing in common", "pairs": 4,
                       "seconds": 16, "jobs": [(4.2, 260), (4.2, 341), (4.2, 429)]},
    # 201.5 ms plus 30 % is 262 ms.
    "change": {"title": "periods are nearly equal since C computes 30 %% longer, after %d s"
               % CHANGE_S, "pairs": 3, "seconds": 60, "changes": True,
               "jobs": [(4.2, 258), (4.2, 260), (4.2, 201.5)]},
    "part": {"title": "periods are nearly equal until C computes 30 %% longer, after %d s"
             % CHANGE_S, "pairs": 3, "seconds": 45, "changes": True,
             "jobs": [(4.2, 258), (4.2, 260), (4.2, 262)]},
    "paths": {"title": "two uplinks, and the three jobs are on one; periods have nothing in "
              "common", "pairs": 3, "seconds": 40, "links": "paths",
              "jobs": [(4.2, 45), (5.6, 62), (3.1, 34)]},
}


def alone_ms(job, rate_mbps, factor=1.0):
    mbytes, compute = job
    return compute * factor + mbytes * 8000 / rate_mbps + LATENCY_MS


def starts_of(jobs, rate_mbps, n_pairs, rng):
    """Returns for each pair the start of each job in ms: see the module's docstring."""
    parts = [rng.sample(range(n_pairs), n_pairs) for _ in jobs]
    return [[round(alone_ms(job, rate_mbps) * (parts[j][pair] + rng.random()) / n_pairs, 1)
             for j, job in enumerate(jobs)] for pair in range(n_pairs)]


def iterations_of(job, rate_mbps, seconds, change_at, factor):
    """Returns how many isolated iterations of the job take 'seconds'."""
    before = int(seconds * 1000 / alone_ms(job, rate_mbps))
    if not change_at or before <= change_at:
        return before
    left_ms = seconds * 1000 - change_at * alone_ms(job, rate_mbps)
    return change_at + int(left_ms / alone_ms(job, rate_mbps, factor))


class Case:
    def __init__(self, name, env):
        known = CASES[name]
        self.name, self.jobs = name, known["jobs"]
        self.changes = known.get("changes", False)
        self.links = known.get("links", "shared")
        self.rate_mbps = HOST_MBPS if self.links == "paths" else RATE_MBPS
        self.n_pairs = int(env.get("DEMO_PAIRS", known["pairs"]))
        self.seconds = float(env.get("DEMO_SECONDS", known["seconds"]))
        self.alone_s = float(env.get("DEMO_ALONE_SECONDS", 8))
        self.seed = int(env.get("DEMO_SEED", 1))
        rng = random.Random("%d %s" % (self.seed, name))
        self.starts = starts_of(self.jobs, self.rate_mbps, self.n_pairs, rng)
        self.runs = []

    def change_at(self, j, is_alone):
        """Returns the iteration from which C computes longer; 0: never."""
        if not self.changes or NAMES[j] != "C":
            return 0
        until_s = self.alone_s / 2 if is_alone else min(CHANGE_S, self.seconds / 3)
        return int(until_s * 1000 / alone_ms(self.jobs[j], self.rate_mbps))

    def add(self, run, mode, links, seconds, which, pair=None):
        jobs = {}
        for j in which:
            change = self.change_at(j, len(which) == 1) if links == "shared" else 0
            mbytes, compute = self.jobs[j]
            n = iterations_of(self.jobs[j], self.rate_mbps, seconds, change, CHANGE_FACTOR)
            jobs[NAMES[j]] = {
                "iterations": n, "mbytes": mbytes, "compute_ms": compute,
                "start_ms": self.starts[pair or 0][j] if len(which) > 1 else 0,
                "change_at": change, "factor": CHANGE_FACTOR if change else 1,
                # Differs between jobs and pairs; the same in both runs of a pair.
                "seed": 100 * self.seed + 10 * (pair or 0) + j}
        self.runs.append({"run": run, "mode": mode, "links": links, "pair": pair,
                          "seconds": seconds, "jobs": jobs})

    def plan(self, has_control):
        n_alone = max(self.n_pairs, len(NAMES))
        for i in range(n_alone):
            j = i % len(NAMES)
            self.add("alone.%s.%d" % (NAMES[j], i), "observe", self.links, self.alone_s, [j],
                     min(i, self.n_pairs - 1))
            if i >= n_alone - self.n_pairs:
                pair = i - (n_alone - self.n_pairs)
                order = ("observe", "enforce") if pair % 2 == 0 else ("enforce", "observe")
                for mode in order:
                    self.add("%s.%d" % (mode, pair), mode, self.links, self.seconds,
                             range(len(NAMES)), pair)
        if self.links == "paths":
            # The last run of all: antiphase is killed in its middle.
            self.add("killed.0", "enforce", self.links, self.seconds, range(len(NAMES)), 0)
        elif has_control:
            self.add("control.0", "observe", "apart", CONTROL_TIMES * self.alone_s,
                     range(len(NAMES)), 0)
        return {"case": self.name, "n_pairs": self.n_pairs, "seed": self.seed,
                "runs": self.runs}


def words_of(name, job):
    return ":".join([name, HOSTS[name], str(job["iterations"]), str(job["mbytes"]),
                     str(job["compute_ms"]), str(JITTER), "1", str(job["start_ms"]),
                     "%g@%d" % (job["factor"], job["change_at"]), str(job["seed"]),
                     "meet"])


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    for name in names:
        if name not in CASES:
            sys.exit("demo_live: no case is called '%s'" % name)
    names.sort(key=lambda name: CASES[name].get("links", ""))
    cases = [Case(name, os.environ).plan(i == 0) for i, name in enumerate(names)]
    with open(os.path.join(folder, "plan.json"), "w") as file:
        json.dump({"rate_mbps": RATE_MBPS, "jitter": JITTER, "cases": cases}, file,
                  indent=1)
    for case in cases:
        for run in case["runs"]:
            print(case["case"], run["run"], run["mode"], run["links"],
                  int(run["seconds"]), *(words_of(*job) for job in run["jobs"].items()))


if __name__ == "__main__":
    main()
