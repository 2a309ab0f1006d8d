#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo_watch.py FOLDER CGROUP LIMIT_S JOB... - starts and watches a demo_live.sh run.

A job is ready when its files truth.JOB and truth.JOB.1 exist (arl.c).  When all jobs
are ready, the file FOLDER/go tells them the time from which their starts are counted.
A job has ended when the file done.JOB exists.  Until all have ended, the program reads
the metrics of antiphase-scheduler twice a second, and writes the time in seconds and
the numbers of orders so far, to pacers and to flows, to FOLDER/orders.  It is a single
small process, because it runs beside what it measures.  At the end it writes FOLDER/cpu:
the duration of the run in seconds, the CPU seconds of the lab (CGROUP), and those of
everything else.
"""
import http.client
import os
import sys
import time

EVERY_S = 0.5
GO_S = 0.5  # Delay of the common start; all jobs read FOLDER/go 50 times a second.


def all_there(folder, files):
    return all(os.path.exists(os.path.join(folder, name)) for name in files)


def wait_until(until_s, is_so):
    while time.monotonic() < until_s:
        if is_so():
            return True
        time.sleep(0.05)
    return False


def write(folder, name, text):
    """Writes a file atomically."""
    path = os.path.join(folder, name)
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def cpu_seconds(cgroup):
    """Returns the CPU seconds used so far: by the lab, and by everything."""
    with open(os.path.join(cgroup, "cpu.stat")) as file:
        ours = int(file.readline().split()[1]) / 1e6
    with open("/proc/stat") as file:
        words = [int(word) for word in file.readline().split()[1:]]
    # user nice system idle iowait irq softirq steal
    return ours, (sum(words[:8]) - words[3] - words[4]) / os.sysconf("SC_CLK_TCK")


class Metrics:
    def __init__(self):
        self.http = http.client.HTTPConnection("127.0.0.1", 7470, timeout=2)

    def orders(self):
        """Returns how many orders were announced to pacers, and how many to flows to
        take a path, or None if there is no answer."""
        try:
            self.http.request("GET", "/metrics")
            lines = self.http.getresponse().read().decode().splitlines()
        except (OSError, http.client.HTTPException):
            self.http.close()
            return None
        return [sum(int(float(line.split()[-1])) for line in lines
                    if line.startswith("antiphase_scheduler_%s_total" % name))
                for name in ("orders", "path_orders")]


def main():
    folder, cgroup, limit_s, jobs = (sys.argv[1], sys.argv[2], float(sys.argv[3]),
                                     sys.argv[4:])
    truths = ["truth." + job + rank for job in jobs for rank in ("", ".1")]
    if not wait_until(time.monotonic() + 30, lambda: all_there(folder, truths)):
        sys.exit("demo_watch: the jobs are not there after 30 s")
    go = time.monotonic() + GO_S
    write(folder, "go", "%.6f\n" % go)
    metrics, ends = Metrics(), ["done." + job for job in jobs]
    before, at = cpu_seconds(cgroup), go
    with open(os.path.join(folder, "orders"), "w") as orders:
        while not all_there(folder, ends):
            if time.monotonic() > go + limit_s:
                sys.exit("demo_watch: the jobs have not ended after %.0f s" % limit_s)
            n = metrics.orders()
            if n is not None:
                orders.write("%.3f %d %d\n" % (time.monotonic(), *n))
            at += EVERY_S
            time.sleep(max(0.01, at - time.monotonic()))
    ours, total = (b - a for a, b in zip(before, cpu_seconds(cgroup)))
    write(folder, "cpu", "%.2f %.2f %.2f\n" % (time.monotonic() - go, ours,
                                               max(0.0, total - ours)))


if __name__ == "__main__":
    main()
