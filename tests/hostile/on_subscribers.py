# SPDX-License-Identifier: Apache-2.0
"""on_subscribers.py - subscribers that ask for too much, and peers that say nothing."""
import glob
import http.client
import os
import random
import re
import socket
import sys
import threading
import time

from common import Program, verdict, wait_for
from on_bus import keys
from on_collector import pacer_connect
from zmtp import zmq_frame, zmq_meet

# Without a limit, these subscriptions took 1.2 GB, and held the loop for as long.
N_SUBSCRIPTIONS = 300000
MAX_GROWTH_KB = 60000
N_SILENT = 400
FEW_DESCRIPTORS = 256


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def n_descriptors(daemon):
    return len(os.listdir("/proc/%d/fd" % daemon.process.pid))


class Watch(threading.Thread):
    """Samples a daemon: memory, descriptors, CPU, and how long /metrics takes."""

    def __init__(self, daemon, metrics_port):
        super().__init__(daemon=True)
        self.program, self.port, self.is_over = daemon, metrics_port, False
        self.peak_kb = self.descriptors = self.slowest_s = self.failed = self.asked = 0
        self.cpu_s, self.start = self.cpu(), time.monotonic()
        self.start_kb = daemon.rss_kb()
        super().start()

    def cpu(self):
        return sum(int(open(path, encoding="ascii").read().split()[0]) for path in
                   glob.glob("/proc/%d/task/*/schedstat" % self.program.process.pid)) / 1e9

    def run(self):
        while not self.is_over:
            self.peak_kb = max(self.peak_kb, self.program.rss_kb())
            self.descriptors = max(self.descriptors, n_descriptors(self.program))
            before = time.monotonic()
            try:
                ask(self.port)
            except (OSError, http.client.HTTPException):
                self.failed += 1
            self.asked += 1
            self.slowest_s = max(self.slowest_s, time.monotonic() - before)
            time.sleep(0.05)

    def end(self, what):
        self.is_over = True
        self.join()
        print("%s: %d kB before, %d kB at most, %d descriptors, %.2f s of CPU in %.2f s, "
              "/metrics %d times in at most %.3f s, failed %d times" %
              (what, self.start_kb, self.peak_kb, self.descriptors,
               self.cpu() - self.cpu_s, time.monotonic() - self.start, self.asked,
               self.slowest_s, self.failed), file=sys.stderr)


def ask(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def count(port, name):
    try:
        text = ask(port)
    except (OSError, http.client.HTTPException):
        return 0
    found = re.search("^antiphase_collector_%s_total (\\d+)" % name, text, re.M)
    return int(found.group(1)) if found else 0


def start(folder, *options, limit=None):
    os.mkdir(folder)
    bus, metrics = free_port(), free_port()
    daemon = Program(folder, "antiphase-collector", "--host", "h9", "--source", "netlink",
                     "--interface", "lo", "--metrics", "127.0.0.1:%d" % metrics,
                     "--endpoint", "tcp://127.0.0.1:%d" % bus, *options,
                     limit=limit)
    wait_for(lambda: not socket.socket().connect_ex(("127.0.0.1", metrics)), 10)
    return daemon, bus, metrics


def check_subscriptions(folder):
    daemon, bus, metrics = start(folder + "/subscriptions")
    draw = random.Random(1)
    flood = b"".join(zmq_frame(b"\x01" + draw.randbytes(100))
                     for _ in range(N_SUBSCRIPTIONS))
    watch = Watch(daemon, metrics)
    is_ended = False
    with socket.create_connection(("127.0.0.1", bus)) as s:
        s.settimeout(60)
        zmq_meet(s, "SUB")
        try:
            s.sendall(flood)
        except OSError:
            is_ended = True
    time.sleep(1)
    watch.end("%d subscriptions of 100 bytes" % N_SUBSCRIPTIONS)
    verdict(is_ended, "a subscriber that asks for too much is disconnected")
    verdict(watch.peak_kb - watch.start_kb < MAX_GROWTH_KB, "and costs little memory",
            "%d kB" % (watch.peak_kb - watch.start_kb))
    verdict(count(metrics, "subscribers_ended") == 1, "and is counted")
    verdict(any("subscribes to too much" in line for line in daemon.lines()),
            "and told in the log")
    verdict(daemon.end() == 0, "the collector ends when told")


def check_silent(folder):
    keys("new", "--dir", folder + "/silent-keys")
    daemon, bus, metrics = start(folder + "/silent", "--keys", folder + "/silent-keys",
                                 limit=FEW_DESCRIPTORS)
    watch = Watch(daemon, metrics)
    held, pacers = [], 0
    for i in range(N_SILENT):
        s = socket.socket()
        s.settimeout(1)
        try:
            s.connect(("127.0.0.1", bus))
        except OSError:
            pass
        held.append(s)
        if i % 40 == 39:
            try:
                pacer_connect(folder + "/silent/sockets/pacer.sock").close()
                pacers += 1
            except OSError:
                pass
    is_reserved = wait_for(lambda: n_descriptors(daemon) <= 3 * FEW_DESCRIPTORS / 4 + 5, 1)
    time.sleep(1)
    watch.end("%d silent connections, %d descriptors allowed, %d of 10 pacers connected" %
              (N_SILENT, FEW_DESCRIPTORS, pacers))
    verdict(watch.failed == 0, "silent peers leave descriptors for metrics",
            "%d of %d failed" % (watch.failed, watch.asked))
    verdict(pacers == 10, "and for pacers")
    verdict(is_reserved, "and soon hold no more than their part of them")
    verdict(wait_for(lambda: n_descriptors(daemon) < 60, 8), "a silent peer is let go after 3 s")
    for s in held:
        s.close()
    verdict(daemon.end() == 0, "the collector ends when told")


def check_subscribers(folder):
    check_subscriptions(folder)
    check_silent(folder)
