# SPDX-License-Identifier: Apache-2.0
"""on_collector.py - attacks on the collector's sockets for pacers, their orders, and collective
events."""
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

from common import BUILD, DRAW, IS_SANITIZED, Program, noise, under, verdict, wait_for
from zmtp import Publisher


def pacer_connect(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(2)
    s.connect(path)
    return s


def attack_pacers(collector, path):
    def serves():
        try:
            pacer_connect(path).close()
            done = subprocess.run([os.path.join(BUILD, "antiphase"), "ctl", "--runtime-dir",
                                   collector.folder, "collector", "stats"], timeout=10,
                                  capture_output=True, check=False)
            return done.returncode == 0 and len(done.stdout) > 0
        except (OSError, subprocess.SubprocessError):
            return False

    def garbage():
        for _ in range(3000):
            try:
                with pacer_connect(path) as s:
                    for _ in range(3):
                        s.send(b"appc" + noise(DRAW.randrange(200)) if DRAW.random() < 0.5
                               else noise(DRAW.randrange(1, 3000)))
            except OSError:
                pass

    def flood():
        held = []
        for _ in range(20):
            try:
                held.append(pacer_connect(path))
            except OSError:
                pass
        for i in range(60000):
            try:
                held[i % len(held)].send(b"appc" + bytes(44), socket.MSG_DONTWAIT)
            except OSError:
                if i % 100 == 0:
                    try:
                        held[i % len(held)] = pacer_connect(path)
                    except OSError:
                        pass

    def crowd():
        held = []
        for _ in range(900):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.setblocking(False)
            try:
                s.connect(path)
                held.append(s)
            except OSError:
                s.close()
        for s in held:
            s.close()

    for what, attack in (("pacers that send garbage", garbage),
                         ("pacers that flood", flood), ("900 pacers that say nothing", crowd)):
        under(collector, what, attack, serves)
    return serves


def attack_orders(collector, orders, serves):
    texts = [b"", b"{", noise(300), b"[" * 100000, b'{"schema":"antiphase.orders/2"}',
             b'{"schema":"antiphase.orders/1","orders":{}}',
             b'{"schema":"antiphase.orders/1","orders":[' + b"{}," * 10000 + b"{}]}",
             b'{"schema":"antiphase.orders/1","orders":[{"job":"1","pid":-1,"number":1e99,'
             b'"delay_us":-5,"not_before_us":0,"expires_us":0,"max_us":9e18}]}',
             b'{"schema":"antiphase.orders/1","orders":[{"job":"\\u001b[31m","pid":1,'
             b'"number":1,"delay_us":5,"not_before_us":0,"expires_us":1,"max_us":1}]}',
             bytes(4 << 20)]

    def send():
        orders.meet()
        for i in range(5000):
            try:
                orders.send(b"pace/h9/", texts[i % (len(texts) - 1)])
                if i % 1000 == 999:
                    orders.send(b"pace/h9/", texts[-1])
            except OSError:
                orders.meet()
    under(collector, "orders that are none", send, serves)


def event(n):
    return struct.pack("<4sHBBIIqqQQ", b"apmk", 1, 0, 0, 0, 0, n, n + 1, 8, 0)


def events_connect(path, uid):
    """Connected as another user, which the kernel notes."""
    os.seteuid(uid)
    try:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.setblocking(False)
        s.connect(path)
    finally:
        os.seteuid(0)
    return s


def attack_events(collector, path, serves):
    """One user floods; another sends 500 events meanwhile, of which at least 95 % must be
    read, at less than a tenth of a core."""
    if os.geteuid() != 0:
        print("SKIP hostile: a flood of events: it needs root")
        return
    n_events, seconds = 500, 4

    def cpu_s():
        with open("/proc/%d/stat" % collector.process.pid) as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    result = {}

    def flood():
        child = os.fork()
        if child == 0:
            held = [events_connect(path, 65534) for _ in range(20)]
            os.setresuid(65534, 65534, 65534)
            n = 0
            while True:
                n += 1
                try:
                    held[n % len(held)].send(event(n))
                except OSError:
                    pass
        try:
            time.sleep(0.5)
            honest, taken, began_s, cpu = events_connect(path, 65533), 0, time.monotonic(), cpu_s()
            for i in range(n_events):
                time.sleep(max(0, began_s + i * seconds / n_events - time.monotonic()))
                try:
                    taken += honest.send(event(i)) > 0
                except OSError:
                    pass
            result["cpu"] = (cpu_s() - cpu) / (time.monotonic() - began_s)
            time.sleep(0.5)
            # What is left in the queue has not been read.
            left = struct.unpack("i", fcntl.ioctl(honest, termios.TIOCOUTQ, bytes(4)))[0]
            result["share"] = taken / n_events if left == 0 else 0
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    under(collector, "a flood of events", flood, serves)
    share, cpu = result.get("share", 0), result.get("cpu", 9)
    verdict(share >= 0.95, "of another user's events %.1f %% are read meanwhile" % (100 * share))
    # The share of a sanitized build says nothing.
    verdict(cpu < 0.1 or IS_SANITIZED, "at %.1f %% of a core" % (100 * cpu))


def check_collector(folder):
    os.chmod(folder, 0o711)
    os.mkdir(folder + "/c")
    orders = Publisher(folder + "/orders")
    path = folder + "/c/sockets/pacer.sock"
    collector = Program(folder + "/c", "antiphase-collector", "--host", "h9", "--source",
                        "netlink", "--interface", "lo",
                        "--metrics", "none", "--endpoint", "ipc://%s/c/bus" % folder,
                        "--pacer-orders", "ipc://%s/orders" % folder)
    if not wait_for(lambda: os.path.exists(path), 10):
        verdict(False, "the collector listens to pacers", "\n".join(collector.lines()))
        return
    serves = attack_pacers(collector, path)
    attack_orders(collector, orders, serves)
    attack_events(collector, folder + "/c/sockets/events.sock", serves)
    rss_kb, n_lines = collector.rss_kb(), len(collector.lines())
    verdict(collector.end() == 0, "the collector ends when told")
    print("antiphase-collector after all of it: %d kB, %d lines of log" % (rss_kb, n_lines),
          file=sys.stderr)
