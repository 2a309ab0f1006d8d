#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scheduler_size.py - antiphase-scheduler itself with 10,000 jobs and 20,000 links.

Measures the unmodified daemon over HTTP.  The fabric is leaf-spine: 320 leaves of 32
hosts with 8 uplinks each (25,600 directed links).  10,000 jobs of 2 to 8 hosts run, and
the daemon reads their profiles from its store, as after a restart.  Scripts stand in
for Slurm: they list these jobs, 10,240 nodes, and gated jobs that arrive in a separate
partition in mode enforce.  Requests come at random instants, so that they meet the
daemon's once-a-second work as often as real requests do.  Times are wall-clock times
and include the effect of other load on the machine.  B is the build directory; the
argument is the number of jobs.
"""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ.get("B", "build/release"))
JOBS = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
LEAVES, PER_LEAF = 320, 32
HOSTS = LEAVES * PER_LEAF
TOKEN = "0123456789abcdef0123"
STORE_PROFILE = 2
DRAW = random.Random(1)
SQUEUE = r"""#!/bin/sh
case $* in *' -t PD,R '*) exit 0;; esac
mark=${SQUEUE_FORMAT2#*:}; mark=${mark%%,*}
sed "s/@/$mark/g" "${0%/*}/jobs" "${0%/*}/waiting"
"""
SINFO = '#!/bin/sh\ncat "${0%/*}/nodes"\n'
SCONTROL = """#!/bin/sh
case $1 in -V) echo slurm 24.11.5;;
*) echo "$(date +%s.%N) $*" >>"${0%/*}/log";;
esac
"""


def put(path, text, mode=0o644):
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path + ".new", mode)
    os.rename(path + ".new", path)


def places():
    """Yields (job, first host, number of hosts).  Hosts are consecutive, so that many
    jobs span leaves."""
    for number in range(JOBS):
        n = 2 + DRAW.randrange(7)
        yield number, DRAW.randrange(HOSTS - n), n


def hosts_of(start, n):
    return "h[%d-%d]" % (start, start + n - 1)


def make_slurm(folder, jobs):
    for name, text in (("squeue", SQUEUE), ("sinfo", SINFO), ("scontrol", SCONTROL)):
        put(folder + "/" + name, text, 0o755)
    put(folder + "/jobs", "".join(
        "%d@%d@RUNNING@%d@%s@None@1@@(null)@train@u@2026-01-01T00:00:00@N/A@0@1@(null)@(null)@@j@\n" %
        (number + 1, number + 1, n, hosts_of(start, n)) for number, start, n in jobs))
    put(folder + "/waiting", "")
    put(folder + "/nodes", "".join("h%d|idle|train|4|||\n" % i for i in range(HOSTS)))


def fill_store(folder, jobs):
    db = sqlite3.connect(folder + "/history.db")
    now_us = int(time.time() * 1e6)
    with db:
        for number, start, n in jobs:
            period_us = 100000 + 20000 * DRAW.randrange(4)
            busy_us = int(period_us * DRAW.uniform(0.1, 0.3))
            profile = {"schema": "antiphase.profiles/1", "profiles": [
                {"job": str(number + 1), "period_us": period_us, "iterations": 100,
                 "confidence": 0.9,
                 "phases": [{"start_us": 0, "duration_us": busy_us, "gbps": 25}]}]}
            db.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)",
                       (STORE_PROFILE, str(number + 1), now_us,
                        '{"hosts":"%s","document":%s}' %
                        (hosts_of(start, n), json.dumps(profile))))
    db.close()


class Daemon:
    def __init__(self, folder, *options):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(
            [BUILD + "/antiphase-scheduler", "--runtime-dir", folder, "--bus",
             "ipc://%s/bus" % folder, "--announce", "ipc://%s/announce" % folder,
             "--topology", folder + "/fabric.json", "--store", folder + "/history.db",
             "--kill-switch", folder + "/stop", "--token-file", folder + "/token",
             "--http", "127.0.0.1:%d" % self.port, "--scheduler", "slurm", "--slurm-bindir",
             folder, "--partition-modes", "new=enforce", "--max-age-s", "3600", "--poll-ms", "5000",
             *options],
            stdin=subprocess.DEVNULL)
        began = time.monotonic()
        while True:
            try:
                self.ask("GET", "/api/v1/health")
                break
            except OSError:
                if self.process.poll() is not None:
                    sys.exit("the daemon does not start")
                time.sleep(0.05)
        self.start_s = time.monotonic() - began

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, json.dumps(body) if body else None,
                           {"Authorization": "Bearer " + TOKEN})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            sys.exit("%s %s: %d %s" % (method, path, answer.status, text[:300]))
        return text

    def rss_mib(self, key="VmRSS"):
        with open("/proc/%d/status" % self.process.pid, encoding="utf-8") as status:
            return int(re.search(key + r":\s+(\d+)", status.read()).group(1)) / 1024

    def cpu_s(self):
        with open("/proc/%d/stat" % self.process.pid, encoding="utf-8") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def timed(what):
    began = time.monotonic()
    what()
    return 1e3 * (time.monotonic() - began)


def say(what, ms):
    ms = sorted(ms)
    print("  %-44s median %7.1f ms, p99 %7.1f ms, worst %7.1f ms (%d)" %
          (what, ms[len(ms) // 2], ms[min(len(ms) - 1, len(ms) * 99 // 100)], ms[-1], len(ms)))


def refusals(text):
    found = re.findall(r'^antiphase_scheduler_jobs_refused{reason="(.*)"} (\d+)$', text, re.M)
    return ", ".join("%s %s" % (n, reason) for reason, n in found if n != "0") or "none"


def settle(daemon):
    """Waits until all jobs have advice, or until their number stops growing."""
    began, last, since = time.monotonic(), -1, 0
    while since < 15 and time.monotonic() - began < 200:
        advised = json.loads(daemon.ask("GET", "/api/v1/health"))["advised_jobs"]
        since = since + 1 if advised == last else 0
        last = advised
        if advised >= JOBS:
            break
        time.sleep(1)
    return last, time.monotonic() - began


def arrive(daemon, folder, number):
    """Adds a gated job; returns the ms from the poll that shows it to the change."""
    put(folder + "/log", "")
    gate = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 30))
    put(folder + "/waiting",
        "%d@%d@PENDING@4@@BeginTime@1@@(null)@new@u@%s@N/A@0@1@(null)@antiphase:v1;gate@"
        "antiphase: iter_us=120000 comm_us=30000@j@\n" % (number, number, gate))
    began = time.time()
    daemon.ask("POST", "/api/v1/poke", {})
    while time.time() - began < 20:
        with open(folder + "/log", encoding="utf-8") as log:
            for line in log:
                if " " + str(number) in line or "=" + str(number) in line:
                    return 1e3 * (float(line.split()[0]) - began)
        time.sleep(0.005)
    return None


def measure(daemon, folder):
    advised, settled_s = settle(daemon)
    print("  start to first answer %.1f s; %d of %d jobs advised on after %.0f s; %.0f MiB" %
          (daemon.start_s, advised, JOBS, settled_s, daemon.rss_mib()))
    print("  without advice: " + refusals(daemon.ask("GET", "/metrics").decode()))
    cpu_s, began = daemon.cpu_s(), time.monotonic()
    time.sleep(10)
    print("  at rest: %.1f %% of a core" %
          (100 * (daemon.cpu_s() - cpu_s) / (time.monotonic() - began)))
    question, health = [], []
    for _ in range(200):
        time.sleep(DRAW.uniform(0, 0.1))
        body = {"job": "new", "n_nodes": 2 + DRAW.randrange(7),
                "profile": {"period_us": 100000 + 20000 * DRAW.randrange(4),
                            "comm_us": 25000, "rate_gbps": 25}}
        question.append(timed(lambda body=body: daemon.ask("POST", "/api/v1/advice", body)))
        health.append(timed(lambda: daemon.ask("GET", "/api/v1/health")))
    say("POST /api/v1/advice", question)
    say("GET /api/v1/health between those", health)
    for path in ("/api/v1/advice", "/api/v1/jobs", "/api/v1/links", "/metrics"):
        say("GET " + path, [timed(lambda: daemon.ask("GET", path)) for _ in range(5)])
    took = [arrive(daemon, folder, JOBS + 1 + i) for i in range(10)]
    if None in took:
        print("  %d of 10 arrivals were not answered" % took.count(None))
    if any(took):
        say("from a poke to the placement of an arrival", [ms for ms in took if ms])
    print("  resident %.0f MiB, at most %.0f MiB" %
          (daemon.rss_mib(), daemon.rss_mib("VmHWM")))


def prepare(folder):
    """Prepares everything except the store; returns the jobs."""
    put(folder + "/token", TOKEN + "\n", 0o600)
    subprocess.run([BUILD + "/antiphase", "topology", "generate", "leaf-spine",
                    "--leaves", str(LEAVES), "--hosts-per-leaf", str(PER_LEAF),
                    "--spines", "8", "--slots", "4", "-o", folder + "/fabric.json"],
                   check=True)
    jobs = list(places())
    make_slurm(folder, jobs)
    return jobs


def main():
    folder = tempfile.mkdtemp(prefix="ap-size-")
    try:
        jobs = prepare(folder)
        daemon = Daemon(folder)
        daemon.end()
        fill_store(folder, jobs)
        print("antiphase-scheduler: %d jobs, %d hosts, %d directed links" %
              (JOBS, HOSTS, 2 * (HOSTS + LEAVES * 8)))
        daemon = Daemon(folder)
        try:
            measure(daemon, folder)
        finally:
            daemon.end()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
