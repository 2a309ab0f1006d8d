#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""upgrade.py OLD NEW REVISION - an upgrade from the programs in the folder OLD to those in
NEW, and back, daemon by daemon, while jobs run: two simulated ones, about which
antiphase-scheduler advises, and two real processes with the pacers of both versions, which a
stand-in for the scheduler orders to wait.  Nothing is lost: history and advice in the store,
iterations, orders.  Run by run.sh; prints PASS and FAIL lines.
"""
import http.client
import json
import os
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
OLD, NEW = (os.path.abspath(path) for path in sys.argv[1:3])
NAMES = {OLD: "old", NEW: "new"}
FABRIC = os.path.join(ROOT, "examples/two-jobs-fabric.json")
LINK = "leaf0:p2>spine0:p0"
PERIOD_MS = 60
# Orders of the stand-in: the next iteration waits so long, every 15 iterations.
ORDER_MS = 30
ORDERS = ["%d:%d" % (15 * i, ORDER_MS) for i in range(1, 64)]
N_ITERATIONS = 15 * 64
S = 10**6
FAILED = []


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " upgrade: " + what, flush=True)
    if not is_good:
        FAILED.append(what)
        print(why, file=sys.stderr, flush=True)
    return is_good


def until(seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


class Lab:
    """Processes by role; each is of one version at a time."""

    def __init__(self, folder):
        self.folder = folder
        self.port = 0
        self.running = {}
        self.kinds = {
            "topology": ["antiphase-topology", "--listen", self.at("topology.sock"), "--metrics",
                         "off", "--publish", self.ipc("changes"), "--no-lldp", "--no-links",
                         FABRIC],
            "collector": ["antiphase-collector", "run", "--runtime-dir", self.at("c.run"),
                          "--host", "n0", "--source", "netlink", "--interface", "lo", "--metrics",
                          "off", "--endpoint", self.ipc("n0"), "--pacer-orders",
                          self.ipc("orders"), "--pacer-trust-claims", "--pacer-socket",
                          self.at("pacer.sock")],
            "simulator": ["antiphase-sim", "run", "two-jobs.ini", "--duration", "600",
                          "--publish", self.ipc("sim")],
        }

    def at(self, name):
        return os.path.join(self.folder, name)

    def ipc(self, name):
        return "ipc://" + self.at(name)

    def text(self, role):
        path = self.at(role + ".log")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def spawn(self, role, words, **more):
        log = open(self.at(role + ".log"), "ab")
        self.running[role] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log,
                                              stderr=subprocess.STDOUT, **more)
        log.close()

    def start(self, role, build):
        words = self.kinds.get(role) or self.scheduler_words()
        self.spawn(role, [os.path.join(build, words[0])] + words[1:],
                   cwd=os.path.join(ROOT, "examples"))

    def scheduler_words(self, store="history.db"):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        return ["antiphase-scheduler", "--runtime-dir", self.at("s.run"), "--store",
                self.at(store), "--topology", "unix:" + self.at("topology.sock"),
                "--topology-changes", self.ipc("changes"), "--announce", self.ipc("advice"),
                "--bus", "%s,%s" % (self.ipc("sim"), self.ipc("n0")), "--http",
                "127.0.0.1:%d" % self.port, "--kill-switch", self.at("stop")]

    def end(self, role, number=signal.SIGTERM):
        process = self.running.pop(role)
        process.send_signal(number)
        try:
            return process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def replace(self, role, build):
        status = self.end(role)
        verdict(status == 0, "the %s ends for the %s one" % (role, NAMES[build]),
                "status %d: %s" % (status, self.text(role)[-2000:]))
        self.start(role, build)

    def end_all(self):
        for role in list(self.running):
            self.end(role)

    def ask(self, path):
        """A document of the scheduler's API, or text; None: no answer."""
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
        except (OSError, http.client.HTTPException):
            return None
        if answer.status != 200:
            return None
        return json.loads(text) if text.startswith("{") else text

    def metric(self, name):
        found = re.search(r"^%s(?:\{\})? (\S+)$" % name, self.ask("/metrics") or "", re.M)
        return float(found[1]) if found else None

    def advice(self):
        """The reason of each job that has an advice."""
        found = self.ask("/api/v1/advice") or {"advice": []}
        return {item["job"]: item["reason"] for item in found["advice"]
                if item["is_advised"]}

    def history(self, from_us, to_us):
        return (self.ask("/api/v1/series?link=%s&from_us=%d&to_us=%d&step_us=1000000&by=job" %
                         (LINK.replace(">", "%3E"), from_us, to_us)) or {}).get("samples")


# ---- Jobs with pacers ------------------------------------------------------------------

def waits_of(lab, job, from_s):
    """Iterations of a job since a moment that waited as ordered."""
    lines = [line.split() for line in lab.text(job).splitlines() if line[:1].isdigit()]
    return sum(float(line[1]) >= from_s and float(line[2]) > ORDER_MS * 0.8 for line in lines)


def heard(lab, job):
    """Numbers of the iterations of a job that came over the bus."""
    return {int(line.split()[2]) for line in lab.text("steer").splitlines()
            if line.startswith(job + " ")}


def start_jobs(lab):
    steer = os.path.join(NEW, "tests/net/pace_steer")
    lab.spawn("steer", [steer, lab.ipc("n0"), lab.ipc("orders"), "n0"] + ORDERS)
    for build in (OLD, NEW):
        job = NAMES[build] + "-pacer"
        lab.spawn(job, [sys.executable, os.path.join(ROOT, "tests/upgrade/job.py"),
                        os.path.join(build, "libantiphase-pacer.so"), str(N_ITERATIONS),
                        str(PERIOD_MS)],
                  env=dict(os.environ, ANTIPHASE_JOB=job, ANTIPHASE_VERBOSE="1",
                           ANTIPHASE_ENDPOINT=lab.at("pacer.sock")))


def check_pacers(lab, collector):
    """Both pacers are heard, and wait for orders, with the collector that runs now."""
    since = time.monotonic()
    for job in ("old-pacer", "new-pacer"):
        n = len(heard(lab, job))
        verdict(until(30, lambda j=job, m=n: len(heard(lab, j)) >= m + 10 and
                      waits_of(lab, j, since) >= 2),
                "the %s and the %s collector: iterations and orders" %
                (job.replace("-", " "), NAMES[collector]),
                lab.text(job)[-1000:] + lab.text("collector")[-1000:])


# ---- The scheduler and its store ---------------------------------------------------------

def check_scheduler(lab, scheduler, simulator, past):
    """It hears the simulated hosts, advises, and its store has what earlier ones wrote."""
    who = "the %s scheduler" % NAMES[scheduler]
    if not verdict(until(90, lambda: set(lab.advice()) == {"A", "B"}),
                   "%s advises by the %s simulator's frames" % (who, NAMES[simulator]),
                   str(lab.advice()) + lab.text("scheduler")[-2000:]):
        return
    damaged = lab.metric("antiphase_scheduler_frames_damaged_total")
    verdict(damaged == 0, "%s understands all frames" % who, "not understood: %s" % damaged)
    for begin_us, end_us, series in past:
        verdict(lab.history(begin_us, end_us) == series and series,
                "%s has the history of %d s ago" % (who, time.time() - end_us / S),
                "%s\n%s" % (lab.history(begin_us, end_us), series))
    if not past or past[-1][1] < (time.time() - 20) * S:
        time.sleep(5)
        now_us = int(time.time() - 2) * S
        past.append((now_us - 3 * S, now_us, lab.history(now_us - 3 * S, now_us)))


def rows_of_store(lab):
    report = json.loads(subprocess.run(
        [os.path.join(NEW, "antiphase"), "store", "check", "--json", lab.at("history.db")],
        capture_output=True, text=True, check=False).stdout)
    return {table["table"]: table["rows"] for table in report["tables"]}, report["faults"]


def check_store(lab, before, when):
    rows, faults = rows_of_store(lab)
    verdict(not faults and all(rows[name] >= n for name, n in before.items()),
            "the store is whole %s: %s" % (when, ", ".join(
                "%d %s" % (n, name) for name, n in rows.items())),
            "%s before, %s now, %s" % (before, rows, faults))
    return rows


def check_later_schema(lab):
    """The old scheduler and a store of a later schema: it says so and leaves it alone."""
    later = lab.at("later.db")
    with sqlite3.connect(lab.at("history.db")) as source, sqlite3.connect(later) as copy:
        source.backup(copy)
    with sqlite3.connect(later) as copy:
        copy.execute("PRAGMA user_version = 99")
    with sqlite3.connect(later) as copy:
        before = list(copy.iterdump())
    done = subprocess.run([os.path.join(OLD, "antiphase-scheduler")] +
                          lab.scheduler_words("later.db")[1:], capture_output=True, text=True,
                          timeout=60, check=False)
    with sqlite3.connect(later) as copy:
        verdict(done.returncode != 0 and "version 99" in done.stderr and
                done.stderr.count("\n") == 1 and list(copy.iterdump()) == before,
                "the old scheduler refuses a store of a later schema in a line, and keeps it",
                "status %d: %s" % (done.returncode, done.stderr))


def check_jobs_end(lab):
    for job in ("old-pacer", "new-pacer"):
        status = lab.running.pop(job).wait(120)
        lines = [line.split() for line in lab.text(job).splitlines() if line[:1].isdigit()]
        begins = [float(line[1]) for line in lines]
        longest = max(b - a for a, b in zip(begins, begins[1:]))
        lost = N_ITERATIONS - len(heard(lab, job))
        waits = waits_of(lab, job, 0)
        verdict(status == 0 and len(lines) == N_ITERATIONS,
                "the job of the %s ends well: %d iterations of %d ms, the longest %.0f ms; %d "
                "orders followed; %d iterations not heard" %
                (job.replace("-", " "), len(lines), PERIOD_MS, 1000 * longest, waits, lost),
                lab.text(job)[-1000:])
        # A restart takes a second, in which a pacer tries again; there are two.
        verdict(lost < N_ITERATIONS / 10, "its iterations are heard but for two restarts",
                "%d were not" % lost)


def run(lab):
    past = []
    for role in ("topology", "collector", "simulator", "scheduler"):
        lab.start(role, OLD)
    start_jobs(lab)
    check_pacers(lab, OLD)
    check_scheduler(lab, OLD, OLD, past)
    rows = check_store(lab, {}, "before the upgrade")
    # The upgrade, daemon by daemon, beside simulated hosts of the old version.
    lab.replace("collector", NEW)
    check_pacers(lab, NEW)
    check_scheduler(lab, OLD, OLD, past)
    lab.replace("scheduler", NEW)
    check_scheduler(lab, NEW, OLD, past)
    rows = check_store(lab, rows, "after the upgrade")
    lab.replace("topology", NEW)
    check_scheduler(lab, NEW, OLD, past)
    # The downgrade, beside simulated hosts of the new version.
    lab.end("simulator", signal.SIGINT)
    lab.start("simulator", NEW)
    lab.replace("scheduler", OLD)
    check_scheduler(lab, OLD, NEW, past)
    rows = check_store(lab, rows, "after the downgrade")
    lab.replace("collector", OLD)
    check_pacers(lab, OLD)
    lab.replace("topology", OLD)
    check_scheduler(lab, OLD, NEW, past)
    check_jobs_end(lab)
    check_later_schema(lab)


def main():
    folder = tempfile.mkdtemp(prefix="ap-upgrade-")
    lab = Lab(folder)
    began = time.monotonic()
    try:
        run(lab)
    finally:
        lab.end_all()
        shutil.rmtree(folder)
    print("from and to revision %s, %.0f s" % (sys.argv[3], time.monotonic() - began))
    sys.exit(bool(FAILED))


if __name__ == "__main__":
    main()
