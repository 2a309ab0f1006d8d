# SPDX-License-Identifier: Apache-2.0
"""common.py - starts the daemons under attack, and checks that they still serve."""
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

ROOT = os.getcwd()
BUILD = os.path.join(ROOT, os.environ["B"])
TOKEN = "0123456789abcdef0123"
DRAW = random.Random(4)
RUNNING = []
MAX_LINES = 25
IS_SANITIZED = "address" in os.environ["B"]
# Measured: 60 to 145 MB of bodies, replies, queued frames, and malloc's reserve.
MAX_RSS_KB = 600000 if IS_SANITIZED else 250000


def verdict(is_good, what, why=""):
    print(("PASS" if is_good else "FAIL") + " hostile: " + what, flush=True)
    if not is_good:
        print(why, file=sys.stderr)


def noise(n):
    return DRAW.randbytes(n)


class Program:
    """One of antiphase's daemons, in its own folder."""

    def __init__(self, folder, name, *options, limit=None):
        """'limit': the number of descriptors that it may have."""
        words = ["prlimit", "--nofile=%d:%d" % (limit, limit)] if limit else []
        self.folder, self.name = folder, name
        self.path = os.path.join(folder, name + ".log")
        with open(self.path, "ab") as log:
            self.process = subprocess.Popen(
                [*words, os.path.join(BUILD, name), "--runtime-dir", folder, *options],
                stderr=log, stdout=log, stdin=subprocess.DEVNULL)
        RUNNING.append(self.process)

    def lines(self):
        with open(self.path, errors="replace") as log:
            return log.read().splitlines()

    def rss_kb(self):
        with open("/proc/%d/status" % self.process.pid) as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

    def is_alive(self):
        return self.process.poll() is None

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(20)
        RUNNING.remove(self.process)
        return status


class Scheduler(Program):
    def __init__(self, folder, *options):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        super().__init__(folder, "antiphase-scheduler", "--http",
                         "127.0.0.1:%d" % self.port, "--store", folder + "/history.db",
                         "--kill-switch", folder + "/stop", "--token-file",
                         folder + "/token", *options)
        wait_for(lambda: self.health() is not None, 10)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body, {"Authorization": "Bearer " + TOKEN})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text

    def health(self):
        try:
            status, text = self.ask("GET", "/api/v1/health")
            return json.loads(text) if status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def serves(self):
        return self.health() is not None


def wait_for(what, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.05)
    return False


def under(daemon, what, attack, serves):
    """Runs an attack, and checks that the daemon then serves, within its limits on log
    lines and memory."""
    before = len(daemon.lines())
    try:
        attack()
    except (BrokenPipeError, ConnectionError, socket.timeout):
        pass
    is_served = wait_for(serves, 15) if daemon.is_alive() else False
    lines = daemon.lines()[before:]
    rss_kb = daemon.rss_kb() if daemon.is_alive() else 0
    is_good = is_served and len(lines) <= MAX_LINES and 0 < rss_kb <= MAX_RSS_KB
    verdict(is_good, "%s: %s still serves" % (what, daemon.name),
            "%s: alive %s, served %s, %d lines, %d kB\n%s" %
            (what, daemon.is_alive(), is_served, len(lines), rss_kb,
             "\n".join(line[:300] for line in lines[-30:])))
    return lines
