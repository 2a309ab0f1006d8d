# SPDX-License-Identifier: Apache-2.0
"""stepped.py - steps of hosts' wall clocks: seconds until the scheduler daemon is healthy."""
import os
import re
import shutil
import threading
import time

from common import FORM, IS_SANITIZED, ROOT, Scheduler, verdict, wait_for
from figures import add_line
from frames import RAW, SUMMARY, Host
from zmtp import Publisher

N_HOSTS = 10
STEPS = [("1 s", 1), ("1 min", 60), ("1 h", 3600), ("1 day", 86400), ("1 year", 31536000)]
SHORT = [("1 h", 3600)]
MAX_SICK_S = 10
MAX_AGE_US = 5000000
# Watched at least so long, then until it has been healthy for CALM_S.
MIN_S, CALM_S, POLL_S = 4, 3, 0.2
AT_ONCE = 5
HEADS = "clocks stepped|step|of one host, s|of half, s|of all, s"


class Cluster(threading.Thread):
    """Ten hosts that send frames to a daemon; the clocks of the first 'n' can be stepped."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        os.mkdir(folder)
        shutil.copy(os.path.dirname(folder) + "/token", folder + "/token")
        self.publisher = Publisher(folder + "/bus")
        self.scheduler = Scheduler(
            folder, "--bus", "ipc://%s/bus" % folder, "--announce", "none", "--topology",
            os.path.join(ROOT, "examples/two-jobs-fabric.json"))
        self.publisher.meet()
        self.hosts = [Host("h%d" % i) for i in range(N_HOSTS)]
        self.step_ns, self.n_stepped, self.is_over = 0, 0, False
        self.start()

    def run(self):
        while not self.is_over:
            now_ns = time.monotonic_ns()
            offset_ns = time.time_ns() - now_ns
            end_ns = now_ns // 1000000 * 1000000
            try:
                for i, host in enumerate(self.hosts):
                    host.wall_ns = offset_ns + (self.step_ns if i < self.n_stepped else 0)
                    for kind in (SUMMARY, RAW):
                        self.publisher.send(*host.frame(kind, end_ns, 1000000000, 1000000))
            except OSError:
                return
            time.sleep(max(0, 1 - (time.monotonic_ns() - now_ns) / 1e9))

    def is_healthy(self):
        """Hosts are heard and the data is fresh.  At most the lesser part of the clocks is off."""
        health = self.scheduler.health() or {}
        n_off = min(self.n_stepped, N_HOSTS - self.n_stepped)
        age_us = health.get("data_age_us")
        return (health.get("is_ok") and health["hosts"] == N_HOSTS and
                health["silent_hosts"] == 0 and health["clock_off_hosts"] <= n_off and
                age_us is not None and 0 <= age_us <= MAX_AGE_US)

    def seconds_sick(self, n_stepped, step_s):
        """Seconds from the step to the last moment without health; None: it lasts."""
        if not wait_for(self.is_healthy, 20):
            return None
        self.n_stepped, self.step_ns = n_stepped, int(step_s * 1e9)
        begin_s = sick_s = time.monotonic()
        while True:
            now_s = time.monotonic()
            if not self.is_healthy():
                sick_s = time.monotonic()
            if now_s - begin_s >= MIN_S and now_s - sick_s >= CALM_S:
                return sick_s - begin_s
            if now_s - begin_s > MAX_SICK_S + CALM_S:
                return None
            time.sleep(POLL_S)

    def n_noticed(self):
        text = self.scheduler.ask("GET", "/metrics")[1].decode()
        found = re.search(r"^antiphase_scheduler_host_clock_steps_total (\d+)", text, re.M)
        return int(found.group(1)) if found else None

    def end(self):
        self.is_over = True
        self.join()
        return self.scheduler.end()


def check_stepped(folder):
    steps = [(sign + name, (1 if sign == "+" else -1) * s)
             for name, s in (STEPS if FORM["is_full"] else SHORT) for sign in "+-"]
    cases = [(name, step_s, n) for name, step_s in steps for n in (1, N_HOSTS // 2, N_HOSTS)]
    sick, statuses, unnoticed = {}, set(), []

    def one(i):
        name, step_s, n = cases[i]
        cluster = Cluster("%s/steps%d" % (folder, i))
        sick[name, n] = cluster.seconds_sick(n, step_s)
        if cluster.n_noticed() != n:
            unnoticed.append((name, n, cluster.n_noticed()))
        statuses.add(cluster.end())

    for first in range(0, len(cases), AT_ONCE):
        threads = [threading.Thread(target=one, args=(i,))
                   for i in range(first, min(first + AT_ONCE, len(cases)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for name, _ in steps:
        add_line(HEADS, "%d hosts" % N_HOSTS, name, *(
            "-" if sick.get((name, n)) is None else "%.1f" % sick[name, n]
            for n in (1, N_HOSTS // 2, N_HOSTS)))
    late = [case for case in cases if sick.get((case[0], case[2])) is None or
            sick[case[0], case[2]] > MAX_SICK_S]
    verdict(not late or IS_SANITIZED, "healthy within %d s after each of %d steps of clocks" %
            (MAX_SICK_S, len(cases)), repr(late))
    verdict(not unnoticed or IS_SANITIZED, "each step is noticed", repr(unnoticed))
    verdict(statuses == {0}, "and each daemon ends when told", repr(statuses))
