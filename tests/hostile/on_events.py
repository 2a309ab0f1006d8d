# SPDX-License-Identifier: Apache-2.0
"""on_events.py - attacks on antiphase-events: jobs that call a watched function without a
pause, and a collector that does not read."""
import os
import socket
import subprocess
import tempfile
import threading
import time

from common import BUILD, ROOT, Program, often, under, verdict, wait_for
from figures import count, hold

STUBS = os.path.join(ROOT, "tests/net")
CALLS = 1000000
MAX_END_S = 5


def why_not():
    """Why uprobes cannot be tested here, or None."""
    if os.geteuid() != 0:
        return "it needs root"
    if not os.path.exists("/sys/bus/event_source/devices/uprobe/type"):
        return "this kernel has no uprobes"
    if not os.path.exists(os.path.join(BUILD, "antiphase-events")):
        return "it is not built"
    return None


class Collector(threading.Thread):
    """Stands for a collector that counts packets, or that does not read ('is_deaf')."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.at, self.path = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), path
        self.at.bind(path)
        self.at.listen(16)
        self.n_read, self.is_deaf = 0, False
        self.start()

    def run(self):
        while True:
            threading.Thread(target=self.read, args=(self.at.accept()[0],),
                             daemon=True).start()

    def read(self, peer):
        while True:
            if self.is_deaf:
                time.sleep(0.05)
            elif peer.recv(100):
                self.n_read += 1
            else:
                return


def build_stubs(folder):
    for words in (["-o", folder + "/call", STUBS + "/events_call.c", "-ldl"],
                  ["-shared", "-fPIC", "-o", folder + "/libstub.so", STUBS + "/events_stub.c"]):
        subprocess.run(["cc", "-O2", *words], check=True)


class Caller:
    """A process that calls the watched function without a pause, and writes each call."""

    def __init__(self, folder, n_calls=CALLS):
        self.out = tempfile.TemporaryFile(dir=folder)
        self.process = subprocess.Popen(
            ["stdbuf", "-oL", folder + "/call", folder + "/libstub.so", "ncclAllReduce",
             str(n_calls), "0", "1000"], stdout=self.out)

    def end(self):
        """Ends it; returns the number of its calls."""
        self.process.kill()
        self.process.wait()
        self.out.seek(0)
        with self.out:
            return self.out.read().count(b"\n")


def start_watcher(folder):
    daemon = Program(folder, "antiphase-events", "--nccl", folder + "/libstub.so", "--socket",
                     folder + "/events.sock", has_runtime_dir=False)
    is_ready = wait_for(lambda: any("watching" in line for line in daemon.lines()), 10)
    verdict(is_ready, "antiphase-events watches", "\n".join(daemon.lines()))
    return daemon


def check_events(folder):
    why = why_not()
    if why:
        print("SKIP hostile: antiphase-events: " + why)
        return
    own = folder + "/e"
    os.mkdir(own)
    build_stubs(own)
    collector = Collector(own + "/events.sock")
    daemon = start_watcher(own)

    def flood(seconds):
        callers = [Caller(own) for _ in range(2)]
        hold(len(callers))
        time.sleep(seconds)
        for caller in callers:
            count("calls", caller.end())

    def hears():
        """Whether a single call comes through."""
        before = collector.n_read
        Caller(own, 1).process.wait()
        return daemon.is_alive() and wait_for(lambda: collector.n_read > before, 2)

    under(daemon, "jobs that call without a pause", lambda: flood(often(2)), hears)
    collector.is_deaf = True
    under(daemon, "the same, and a collector that does not read", lambda: flood(often(2)),
          daemon.is_alive)
    # Full of records: it must be able to end.
    begin_s, caller = time.monotonic(), Caller(own)
    time.sleep(0.5)
    try:
        status = daemon.end(MAX_END_S)
    except subprocess.TimeoutExpired:
        status = None
        daemon.kill()
    seconds = time.monotonic() - begin_s - 0.5
    caller.end()
    verdict(status == 0, "it ends when told, meanwhile (%.1f s)" % seconds,
            "status %s after %.1f s\n%s" % (status, seconds, "\n".join(daemon.lines()[-5:])))
