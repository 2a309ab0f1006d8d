# SPDX-License-Identifier: Apache-2.0
"""killed_often.py - SIGKILL of each daemon at random instants, and a restart: how long until it
serves again, what is lost, and what is kept."""
import os
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import threading
import time

from common import (BUILD, DRAW, FORM, GROUPS, ROOT, RUNNING, Program, Scheduler, Topology,
                    ask_health, free_port, verdict, wait_for)
from figures import Jobs, add_line
from honest import Listener, event, open_socket
from on_events import Caller, Collector, build_stubs, start_watcher, why_not
from on_topology_daemon import PLAN, report

HEADS = "daemon|kills|serves again, median s|at most, s|lost with a kill|kept"
MAX_DOWN_S = 10
N_REPORTS = 20


def often_killed():
    return 20 if FORM["is_full"] else 2


def live_and_die(start, serves, after=lambda daemon: None, life_s=(0.5, 2)):
    """Starts and kills a daemon again and again, then starts it once more.  Returns it, and
    the seconds until it served after each kill."""
    down_s = []
    daemon = start()
    for _ in range(often_killed()):
        # Often within its start, too.
        time.sleep(DRAW.uniform(0, 0.2) if DRAW.random() < 0.2 else DRAW.uniform(*life_s))
        daemon.kill()
        begin_s = time.monotonic()
        after(daemon)
        daemon = start()
        wait_for(lambda daemon=daemon: serves(daemon), MAX_DOWN_S + 5)
        down_s.append(time.monotonic() - begin_s)
    return daemon, down_s


def tell(daemon, down_s, lost, kept, is_kept, why=""):
    add_line(HEADS, daemon.name.replace("antiphase-", ""), len(down_s),
             "%.1f" % statistics.median(down_s), "%.1f" % max(down_s), lost, kept)
    verdict(max(down_s) < MAX_DOWN_S and is_kept, "%s is killed %d times: kept: %s" %
            (daemon.name, len(down_s), kept), "down %r, lost %s\n%s" % (down_s, lost, why))
    verdict(daemon.end() == 0, "and it ends when told")


# ---- The scheduler daemon -----------------------------------------------------------------

def kill_scheduler(own):
    shutil.copy(os.path.dirname(own) + "/token", own + "/token")
    source = subprocess.Popen(
        [os.path.join(BUILD, "antiphase-sim"), "run", "two-jobs.ini", "--duration", "600",
         "--pace", "1", "--publish", "ipc://%s/bus" % own],
        cwd=os.path.join(ROOT, "examples"), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    RUNNING.append(source)
    damage = []

    def look(_):
        with sqlite3.connect(own + "/history.db") as db:
            said = db.execute("PRAGMA integrity_check").fetchone()[0]
            if said != "ok":
                damage.append(said)

    daemon, down_s = live_and_die(
        lambda: Scheduler(own, "--bus", "ipc://%s/bus" % own, "--announce", "none",
                          "--topology", os.path.join(ROOT, "examples/two-jobs-fabric.json")),
        Scheduler.serves, look, (2, 5))
    time.sleep(4)  # History of the last life.
    with sqlite3.connect(own + "/history.db") as db:
        (seconds,), = db.execute("SELECT count(DISTINCT at) FROM sample_1s")
        (span,), = db.execute("SELECT max(at) - min(at) + 1 FROM sample_1s")
    missing = (span or 0) - seconds
    tell(daemon, down_s, "%.1f s of history (%d of %d s)" %
         (missing / len(down_s), missing, span or 0), "the store is whole each time",
         not damage and seconds > 0, repr(damage) + "\n".join(daemon.lines()[-5:]))
    source.kill()
    source.wait()
    RUNNING.remove(source)


# ---- The collector -----------------------------------------------------------------------

class Sender(threading.Thread):
    """Sends 50 events a second, as the NCCL plug-in: connects again, and never waits."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.n, self.is_over = path, 0, False
        self.start()

    def run(self):
        s = None
        while not self.is_over:
            self.n += 1
            try:
                s = s or open_socket(self.path)
                s.send(event(time.monotonic_ns()))
            except OSError:
                s = None
            time.sleep(0.02)
        if s:
            s.close()


def kill_collector(own):
    metrics, lives = free_port(), []
    control = [os.path.join(BUILD, "antiphase-collector"), "job"]

    def start():
        daemon = Program(own, "antiphase-collector", "--host", "h9", "--source", "netlink",
                         "--interface", "lo", "--metrics", "127.0.0.1:%d" % metrics,
                         "--endpoint", "ipc://%s/bus" % own)
        wait_for(lambda: ask_health(metrics, "/healthz"), 10)
        lives.append(Listener(own + "/bus"))
        return daemon

    def total():
        with socket.create_connection(("127.0.0.1", metrics), 10) as s:
            s.sendall(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
            text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
        return sum(float(n) for n in re.findall(
            r'^antiphase_collector_interface_transmit_bytes_total\{[^}]*\} (\S+)', text, re.M))

    def job(*words):
        return subprocess.run([*control, *words, "--runtime-dir", own], timeout=20, check=False,
                              capture_output=True, text=True).stdout

    first, jobs = start(), Jobs.make() if os.geteuid() == 0 else None
    if jobs:
        GROUPS.append(jobs)
        job("add", "byhand", "--cgroup", "/" + jobs.name)
    else:
        print("SKIP hostile: a job added by hand, kept: needs root and control groups (v2)")
    sender = Sender(own + "/sockets/events.sock")
    time.sleep(2)
    before = total()
    first.kill()
    daemon, down_s = live_and_die(start, lambda _: ask_health(metrics, "/healthz"))
    sender.is_over = True
    sender.join()
    time.sleep(1.5)  # The last events are published.
    got = sum(len(life.of(b"m", os.getpid())) for life in lives)
    is_listed, after = not jobs or "byhand" in job("list"), total()
    lost = (sender.n - got) / (len(down_s) + 1)
    tell(daemon, down_s, "%.1f events of a sender of 50 a second" % lost,
         "totals go on, jobs added by hand stay", is_listed and after >= before > 0,
         "listed %s, %g bytes before, %g after" % (is_listed, before, after))


# ---- The others ---------------------------------------------------------------------------

def kill_topology(own):
    left = []

    def n_reporting(daemon):
        return (daemon.health() or {}).get("nodes_reporting", 0)

    def start():
        daemon = Topology(own, PLAN)
        left.append(n_reporting(daemon))
        for i in range(N_REPORTS):
            daemon.ask("POST", "/api/v1/seen", report("h%d" % i, 2, 1))
        return daemon

    daemon, down_s = live_and_die(start, Topology.serves)
    tell(daemon, down_s, "the reports of %d of %d nodes, until they report again" %
         (N_REPORTS - max(left), N_REPORTS), "the plan",
         n_reporting(daemon) == N_REPORTS and daemon.health()["links"] > 0)


def kill_events(own):
    why = why_not()
    if why:
        print("SKIP hostile: antiphase-events, killed: " + why)
        return
    build_stubs(own)
    collector, caller = Collector(own + "/events.sock"), Caller(own)

    def start():
        daemon = start_watcher(own)
        daemon.heard = collector.n_read
        return daemon

    daemon, down_s = live_and_die(start, lambda daemon: collector.n_read > daemon.heard)
    is_calling = caller.process.poll() is None
    n_calls = caller.end()
    time.sleep(0.3)
    tell(daemon, down_s, "%d events (of %d calls without a pause)" %
         ((n_calls - collector.n_read) / len(down_s), n_calls), "the job runs on",
         is_calling and 0 < collector.n_read <= n_calls + 1)


def check_killed_often(folder):
    for kill in (kill_scheduler, kill_collector, kill_topology, kill_events):
        own = "%s/%s" % (folder, kill.__name__)
        os.mkdir(own)
        kill(own)
