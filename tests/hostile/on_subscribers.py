# SPDX-License-Identifier: Apache-2.0
"""on_subscribers.py - subscribers that ask for too much, and peers that say nothing."""
import http.client
import os
import random
import re
import socket
import time

from common import Program, ask_health, free_port, verdict, wait_for
from figures import Watch, count as counted, hold
from on_bus import keys
from on_collector import pacer_connect
from zmtp import zmq_frame, zmq_meet

# Without a limit, these subscriptions took 1.2 GB, and held the loop for as long.
N_SUBSCRIPTIONS = 300000
MAX_GROWTH_KB = 60000
N_SILENT = 400
FEW_DESCRIPTORS = 256


def n_descriptors(daemon):
    return len(os.listdir("/proc/%d/fd" % daemon.process.pid))


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


def is_open(port):
    with socket.socket() as s:
        return not s.connect_ex(("127.0.0.1", port))


def start(folder, *options, limit=None):
    os.mkdir(folder)
    bus, metrics = free_port(), free_port()
    daemon = Program(folder, "antiphase-collector", "--host", "h9", "--source", "netlink",
                     "--interface", "lo", "--metrics", "127.0.0.1:%d" % metrics,
                     "--endpoint", "tcp://127.0.0.1:%d" % bus, *options,
                     limit=limit)
    for port in (metrics, bus):
        wait_for(lambda port=port: is_open(port), 10)
    return daemon, bus, metrics


def has_end(s):
    """Whether the other side has closed: the kernel may still wait for room to send."""
    try:
        while s.recv(65536):
            continue
    except ConnectionError:
        return True
    except socket.timeout:
        return False
    return True


def check_subscriptions(folder):
    daemon, bus, metrics = start(folder + "/subscriptions")
    draw = random.Random(1)
    flood = b"".join(zmq_frame(b"\x01" + draw.randbytes(100))
                     for _ in range(N_SUBSCRIPTIONS))
    before_kb = daemon.rss_kb()
    watch = Watch(daemon, lambda: ask_health(metrics, "/healthz"))
    is_ended = False
    with socket.create_connection(("127.0.0.1", bus)) as s:
        s.settimeout(10)
        zmq_meet(s, "SUB")
        counted("subscriptions", N_SUBSCRIPTIONS)
        try:
            s.sendall(flood)
        except ConnectionError:
            is_ended = True
        except socket.timeout:
            is_ended = has_end(s)
    time.sleep(1)
    watch.end("bus: subscriptions of 100 bytes")
    grown_kb = daemon.peak_kb() - before_kb
    verdict(is_ended, "a subscriber that asks for too much is disconnected")
    verdict(grown_kb < MAX_GROWTH_KB, "and costs little memory", "%d kB" % grown_kb)
    verdict(count(metrics, "subscribers_ended") == 1, "and is counted")
    verdict(any("subscribes to too much" in line for line in daemon.lines()),
            "and told in the log")
    verdict(daemon.end() == 0, "the collector ends when told")


def check_silent(folder):
    keys("new", "--dir", folder + "/silent-keys")
    daemon, bus, metrics = start(folder + "/silent", "--keys", folder + "/silent-keys",
                                 limit=FEW_DESCRIPTORS)
    watch = Watch(daemon, lambda: ask_health(metrics, "/healthz"))
    held, pacers = [], 0
    for i in range(N_SILENT):
        s = socket.socket()
        s.settimeout(1)
        try:
            s.connect(("127.0.0.1", bus))
        except OSError:
            pass
        held.append(s)
        counted("connections")
        if i % 40 == 39:
            try:
                pacer_connect(folder + "/silent/sockets/pacer.sock").close()
                pacers += 1
            except OSError:
                pass
    hold(len(held))
    is_reserved = wait_for(lambda: n_descriptors(daemon) <= 3 * FEW_DESCRIPTORS / 4 + 5, 1)
    time.sleep(1)
    row = watch.end("bus: silent connections, keys, %d descriptors" % FEW_DESCRIPTORS)
    verdict(row["health_failed"] == 0, "silent peers leave descriptors for metrics",
            "%d of %d failed" % (row["health_failed"], row["health_asked"]))
    verdict(pacers == 10, "and for pacers")
    verdict(is_reserved, "and soon hold no more than their part of them")
    verdict(wait_for(lambda: n_descriptors(daemon) < 60, 8), "a silent peer is let go after 3 s")
    for s in held:
        s.close()
    verdict(daemon.end() == 0, "the collector ends when told")


def check_subscribers(folder):
    check_subscriptions(folder)
    check_silent(folder)
