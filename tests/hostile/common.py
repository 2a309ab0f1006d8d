# SPDX-License-Identifier: Apache-2.0
"""common.py - starts the daemons under attack, and checks that they still serve."""
import ctypes
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

from figures import Group, Limits, Watch, add_line

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
TOKEN = "0123456789abcdef0123"
DRAW = random.Random(4)
RUNNING = []
MAX_LINES = 25
IS_SANITIZED = "address" in os.environ["B"]
# Set by run.py --full: longer attacks, more of them.
FORM = {"is_full": False}
GROUPS = []


FAILED = []


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " hostile: " + what, flush=True)
    if not is_good:
        FAILED.append(what)
        print(why, file=sys.stderr)


def tell_identity(claim, who, where, tried, believed):
    """Adds a line to the table of identities that were claimed, and checks that none was
    believed."""
    add_line("claims to be|who tries|at|tried|believed", claim, who, where, tried, believed)
    verdict(tried > 0 and believed == 0, "%s, as %s at %s: refused %d times" %
            (who, claim, where, tried), "believed %d of %d times" % (believed, tried))


CLONE_NEWUSER = 0x10000000


def unshare(flags):
    if ctypes.CDLL(None, use_errno=True).unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")


def noise(n):
    return DRAW.randbytes(n)


def often(n):
    """'n' in the short form, five times as often in the full one."""
    return 5 * n if FORM["is_full"] else n


def make_group(limits):
    """A control group with these limits; None without the right to make one.  Sanitizers
    need more memory and time than units allow."""
    if IS_SANITIZED or os.geteuid() != 0:
        return None
    GROUPS.append(Group(limits))
    return GROUPS[-1]


def tell_limits():
    """Says by name which limits were not set."""
    missing = sorted(set(sum((group.missing for group in GROUPS), [])))
    why = "a sanitized build needs more" if IS_SANITIZED else \
        "it needs root" if os.geteuid() != 0 else \
        "no control group for " + ", ".join(missing) if missing else None
    if why:
        print("SKIP hostile: the limits of the units: " + why)


class Program:
    """One of antiphase's daemons, in its own folder, under the limits of its unit."""
    # Measured: 60 to 145 MB of bodies, replies, queued frames, and malloc's reserve.
    max_rss_kb = 600000 if IS_SANITIZED else 250000

    def __init__(self, folder, name, *options, limit=None, has_runtime_dir=True):
        """'limit': the number of descriptors that it may have, if not its unit's."""
        self.limits = Limits(name)
        self.group = make_group(self.limits)
        self.nofile = limit or self.limits.descriptors
        words = ["prlimit", "--nofile=%d:%d" % (self.nofile, self.nofile),
                 os.path.join(BUILD, name)]
        if has_runtime_dir:
            words += ["--runtime-dir", folder]
        self.folder, self.name = folder, name
        self.path = os.path.join(folder, name + ".log")
        with open(self.path, "ab") as log:
            self.process = subprocess.Popen(
                [*(self.group.words() if self.group else []), *words, *options],
                stderr=log, stdout=log, stdin=subprocess.DEVNULL)
        RUNNING.append(self.process)

    def lines(self):
        with open(self.path, errors="replace") as log:
            return log.read().splitlines()

    def status_kb(self, key):
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as status:
            return int(re.search(key + r":\s+(\d+)", status.read()).group(1))

    def rss_kb(self):
        return self.status_kb("VmRSS")

    def peak_kb(self):
        return self.status_kb("VmHWM")

    def is_alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()
        RUNNING.remove(self.process)

    def end(self, seconds=20):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(seconds)
        RUNNING.remove(self.process)
        return status


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask_health(port, path="/api/v1/health"):
    """Whether a daemon answers 200 there."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        return answer.status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class HttpDaemon(Program):
    """A daemon that answers at 'port', and about its health at 'health_path'."""
    health_path, paths = "/api/v1/health", []

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, body, {"Authorization": "Bearer " + TOKEN})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def health(self):
        try:
            status, text = self.ask("GET", self.health_path)
            return json.loads(text) if status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def probe(self):
        return ask_health(self.port, self.health_path)

    def serves(self):
        return self.probe()


class Scheduler(HttpDaemon):
    paths = ["/api/v1/health", "/api/v1/topology", "/api/v1/links", "/api/v1/links/x",
             "/api/v1/links/x/circle", "/api/v1/links/x/series", "/api/v1/jobs",
             "/api/v1/jobs/x", "/api/v1/jobs/x/iterations", "/api/v1/series",
             "/api/v1/advice", "/api/v1/advice/x", "/api/v1/changes", "/api/v1/config",
             "/api/v1/events", "/metrics", "/api/v1/modes", "/api/v1/poke",
             "/api/v1/jobs/x/unpin", "/k8s/filter", "/k8s/prioritize"]

    def __init__(self, folder, *options):
        self.port = free_port()
        super().__init__(folder, "antiphase-scheduler", "--http",
                         "127.0.0.1:%d" % self.port, "--store", folder + "/history.db",
                         "--kill-switch", folder + "/stop", "--token-file",
                         folder + "/token", *options)
        wait_for(self.serves, 10)


class Topology(HttpDaemon):
    paths = ["/api/v1/health", "/api/v1/snapshot", "/api/v1/lookup", "/api/v1/diff",
             "/api/v1/seen"]
    # Measured: 380 MB with as many reports as it takes.
    max_rss_kb = 2000000 if IS_SANITIZED else 600000

    def __init__(self, folder, plan):
        self.port, self.metrics = free_port(), free_port()
        super().__init__(folder, "antiphase-topology", "--no-lldp", "--no-links", "--listen",
                         "127.0.0.1:%d" % self.port, "--publish", "ipc://%s/changes" % folder,
                         "--metrics", "127.0.0.1:%d" % self.metrics, plan,
                         has_runtime_dir=False)
        wait_for(self.serves, 10)


def wait_for(what, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.05)
    return False


def under(daemon, what, attack, serves, probe=None):
    """Runs an attack, and checks that the daemon then serves, within its limits on log
    lines and memory.  Adds a row of figures: 'probe' asks for its health meanwhile."""
    before = len(daemon.lines())
    watch = Watch(daemon, probe or getattr(daemon, "probe", None))
    try:
        attack()
    except (BrokenPipeError, ConnectionError, socket.timeout):
        pass
    row = watch.end(what)
    is_served = wait_for(serves, 15) if daemon.is_alive() else False
    lines = daemon.lines()[before:]
    rss_kb = daemon.rss_kb() if daemon.is_alive() else 0
    is_within = not row["is_memory_limited"] or row["memory_mb"] < row["memory_max_mb"]
    is_good = is_served and is_within and len(lines) <= MAX_LINES and 0 < rss_kb <= daemon.max_rss_kb
    verdict(is_good, "%s: %s still serves" % (what, daemon.name),
            "%s: alive %s, served %s, %d lines, %d kB, %.1f of %d MB\n%s" %
            (what, daemon.is_alive(), is_served, len(lines), rss_kb, row["memory_mb"],
             row["memory_max_mb"], "\n".join(line[:300] for line in lines[-30:])))
    return lines
